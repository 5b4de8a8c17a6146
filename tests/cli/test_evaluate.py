"""`ropeval evaluate` as a user types it: answers, files, resuming, and every kind of bad input."""

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

from ropeval.cli.main import main
from ropeval.files import locked
from tests import struck
from tests.problems import LinearQuadratic

SMALL = {
    part: ["--set", f"{part}.width=16", "--set", f"{part}.depth=1"] for part in ("fqe", "rope", "fqe-clip", "world")
}
SHORT = ["--members", "2", "--steps", "40", "--draws", "1", "--gamma", "0.9"]
FQE = [*SHORT, *SMALL["fqe"]]
FAST = [*FQE, *SMALL["rope"]]
LEARNS = ["--set", "fqe-clip.learning_rate=0.01"]  # so that members come to lie below 0, as all rewards do
DEFAULT = [*SHORT, *SMALL["fqe-clip"], *LEARNS, *SMALL["world"], "--set", "world.rollouts=16"]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A log, a policy file and a module with a policy, in the current folder."""
    log = LinearQuadratic().log(30)
    names = ("observations", "actions", "rewards", "terminations", "truncations", "next_observations")
    np.savez(tmp_path / "log.npz", **{n: getattr(log, n) for n in names})
    rng = np.random.default_rng(0)
    shapes = {"fc0": (8, 2), "mean": (1, 8), "logstd": (1, 8)}
    weights = {f"{n}_w": rng.standard_normal(s).astype(np.float32) * 0.3 for n, s in shapes.items()}
    biases = {f"{n}_b": np.zeros(s[0], np.float32) for n, s in shapes.items()}
    np.savez(tmp_path / "policy.npz", **weights, **biases)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*arguments):
    """Exit code of the program."""
    with pytest.raises(SystemExit) as caught:
        main(["evaluate", *map(str, arguments)])
    return caught.value.code or 0


@pytest.mark.training
def test_the_table_and_the_files(files, capsys):
    assert call("log.npz", "policy.npz", "policy.npz@mean", *DEFAULT, "--out", "out") == 0
    printed = capsys.readouterr().out
    for word in ("policy", "policy@mean", "stochastic", "deterministic", "mean-return", "fqe-clip", "world"):
        assert word in printed
    rows = json.loads((files / "out/result.json").read_text())
    assert [(r["policy"], r["method"]) for r in rows] == [
        (p, m) for p in ("policy", "policy@mean") for m in ("mean-return", "fqe-clip", "world")
    ]
    wanted = {
        "policy",
        "method",
        "value",
        "interval",
        "lowest",
        "highest",
        "members",
        "warnings",
        "config",
        "data_sha256",
        "version",
        "seconds",
    }
    for row in rows:
        assert wanted <= set(row)
        assert row["lowest"] <= row["highest"]
        if row["method"] != "world":  # whose members know more together than their mean
            assert row["lowest"] <= row["value"] <= row["highest"]
    assert len(rows[1]["members"]) == 2
    assert np.mean(rows[1]["members"]) == pytest.approx(rows[1]["value"])
    assert rows[1]["config"]["fqe-clip"]["width"] == 16
    assert rows[2]["config"]["world"]["steps"] == 40
    curves = polars.read_parquet(files / "out/curves.parquet")
    assert {"fqe-clip", "world"} <= set(curves["stage"])
    assert {"loss", "estimate"} <= set(curves["metric"])
    assert (files / "out/curves.png").read_bytes()[:4] == b"\x89PNG"
    assert sorted(p.name for p in (files / "out").iterdir()) == [
        "curves.parquet",
        "curves.png",
        "report.html",
        "result.json",
        "run.json",
        "trust.json",
    ]
    for row in rows:
        assert row["interval"]["low"] <= row["value"] <= row["interval"]["high"]
        assert (row["interval"]["level"], row["interval"]["episodes"]) == (0.95, 30)
        expected = [f"{d['message']}; {d['advice']}" if d["advice"] else d["message"] for d in row["diagnosis"]]
        assert row["warnings"] == expected
    assert [row["interval"]["kind"] for row in rows[:3]] == ["percentile", "t", "t"]
    trust = json.loads((files / "out/trust.json").read_text())
    assert [r["method"] for r in trust["ranking"]] == ["fqe-clip", "world"]  # a baseline tells nothing apart
    assert sorted(trust["ranking"][0]["policies"]) == ["policy", "policy@mean"]
    assert [c["policy"] for c in trust["coverage"]] == ["policy", "policy@mean"]


@pytest.mark.training
def test_an_encoder_has_settings_and_curves_of_its_own(files):
    assert call("log.npz", "policy.npz", "--method", "rope+fqe", *FAST, "--out", "out") == 0
    (row,) = json.loads((files / "out/result.json").read_text())
    assert row["config"]["fqe"]["width"] == 16
    assert row["config"]["rope"]["steps"] == 40
    curves = polars.read_parquet(files / "out/curves.parquet")
    assert set(curves["stage"]) == {"fqe", "rope"}
    assert {"loss", "estimate", "feature_std"} <= set(curves["metric"])


def test_true_values_bring_scores_and_a_finished_run_can_be_scored_later(files, capsys):
    command = ["log.npz", "policy.npz", "policy.npz@mean", "--method", "lspe", "--gamma", "0.9", "--out", "out"]
    assert call(*command) == 0
    assert "probability of being the best" in capsys.readouterr().out
    Path("truth.json").write_text('{"policy": -20.0, "policy@mean": -10.0, "someone else": 3}')
    assert call(*command, "--resume", "--truth", "truth.json") == 0
    printed = capsys.readouterr().out
    for word in ("spearman", "regret@1", "absolute_error", "true"):
        assert word in printed


@pytest.mark.training
def test_what_a_finished_run_is_told_later_is_kept(files):
    command = ["log.npz", "policy.npz", "--method", "fqe", *FQE, "--out", "out"]
    Path("truth.json").write_text('{"policy": -20.0}')
    assert call(*command) == 0
    first = {path.name: path.read_bytes() for path in Path("out").iterdir() if path.is_file()}
    assert call(*command, "--resume") == 0
    assert {path.name: path.read_bytes() for path in Path("out").iterdir() if path.is_file()} == first
    assert call(*command, "--resume", "--truth", "truth.json") == 0
    told = {path.name: path.read_bytes() for path in Path("out").iterdir() if path.is_file()}
    assert {name for name in told if told[name] != first[name]} == {"trust.json", "report.html", "curves.png"}
    assert json.loads(told["trust.json"])["truth"] == {"policy": -20.0}
    assert call(*command, "--overwrite", "--truth", "truth.json") == 0
    assert json.loads(Path("out/trust.json").read_text()) == json.loads(told["trust.json"])
    assert Path("out/curves.png").read_bytes() == told["curves.png"]


@pytest.mark.training
def test_truth_for_a_finished_run_that_is_not_whole(files, capsys):
    command = ["log.npz", "policy.npz", "--method", "fqe", *FQE, "--out", "out"]
    Path("truth.json").write_text('{"policy": -20.0}')
    assert call(*command) == 0
    trust, curves = Path("out/trust.json"), Path("out/curves.parquet")
    before = trust.read_bytes()
    curves.write_bytes(b"nonsense")
    assert call(*command, "--resume", "--truth", "truth.json") == 2
    assert "cannot be read as training curves" in capsys.readouterr().err
    assert trust.read_bytes() == before
    curves.unlink()
    trust.unlink()
    assert call(*command, "--resume", "--truth", "truth.json") == 0
    assert json.loads(trust.read_text())["truth"] == {"policy": -20.0}


@pytest.mark.training
def test_without_resampling_there_is_no_interval(files, capsys):
    command = ["log.npz", "policy.npz", "--method", "fqe", *FQE, "--no-resample", "--json"]
    assert call(*command) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["interval"] is None
    assert row["config"]["resample"] is False


@pytest.mark.training
def test_json_prints_the_list_and_nothing_else(files, capsys):
    assert call("log.npz", "policy.npz", "--method", "mean-reward", "--method", "fqe", *FQE, "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert [r["method"] for r in rows] == ["mean-reward", "fqe"]
    saved = list(files.glob("ropeval-results/log-*/result.json"))
    assert len(saved) == 1
    assert json.loads(saved[0].read_text()) == rows


@pytest.mark.training
def test_settings_from_a_file_and_over_it(files, capsys):
    Path("my.toml").write_text('gamma = 0.5\nmembers = 3\nmethod = ["fqe"]\nsteps = 30\n[fqe]\nwidth = 16\ndepth = 3\n')
    assert call("log.npz", "policy.npz", "--config", "my.toml", "--gamma", "0.9", "--set", "fqe.depth=1", "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["config"]["gamma"], row["config"]["members"]) == (0.9, 3)
    assert {k: row["config"]["fqe"][k] for k in ("width", "depth", "steps")} == {"width": 16, "depth": 1, "steps": 30}


@pytest.mark.training
def test_the_paper_preset(files, capsys):
    from ropeval.evaluation.methods import make_method

    paper = make_method("rope+fqe", preset="paper").describe()
    assert (paper["fqe"]["steps"], paper["fqe"]["learning_rate"], paper["fqe"]["batch"]) == (300_000, 1e-5, 512)
    assert (paper["rope"]["steps"], paper["rope"]["tau"]) == (300_000, 0.005)
    assert call("log.npz", "policy.npz", "--preset", "paper", "--method", "rope+fqe", *FAST, "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)
    small = {"steps": 40, "width": 16, "depth": 1}
    assert {part: row["config"][part] for part in paper} == {part: paper[part] | small for part in paper}


@pytest.mark.training
def test_resuming_a_finished_run_shows_it_again(files, capsys):
    command = ["log.npz", "policy.npz", "--method", "fqe", *FQE, "--out", "out"]
    assert call(*command) == 0
    before = (files / "out/result.json").read_bytes()
    assert call(*command) == 2
    assert "--resume" in capsys.readouterr().err
    assert call(*command, "--resume") == 0
    assert "fqe" in capsys.readouterr().out
    assert (files / "out/result.json").read_bytes() == before
    assert call(*command, "--overwrite") == 0
    assert "computing on" in capsys.readouterr().err  # where it takes time, that is said


def without_seconds(path):
    rows = json.loads(path.read_text())
    for row in rows:
        del row["seconds"]
    return rows


@pytest.mark.process
@pytest.mark.training
def test_killed_interrupted_and_resumed_gives_the_same_bits(files):
    options = [*FAST, "--steps", "500", "--method", "fqe", "--method", "rope+fqe"]
    question = ["log.npz", "policy.npz", *options]
    assert call(*question, "--out", "whole") == 0
    broken, saved = [*question, "--out", "broken", "--resume"], "ropeval.learning.checkpoint:Checkpoint.save"
    for how, part, code in ((signal.SIGKILL, "fqe", -9), (signal.SIGINT, "rope", 130)):
        with struck.start(how, saved, "evaluate", *broken, given=part, stderr=subprocess.PIPE) as process:
            _, stderr = process.communicate()
        assert process.returncode == code, stderr
        assert Path(f"broken/.work/{'01'[part == 'rope']}/{part}.npz").exists()
    assert "--resume" in stderr  # who is interrupted can say so
    assert not Path("broken/result.json").exists()
    assert call(*question, "--out", "broken", "--resume") == 0
    assert without_seconds(Path("broken/result.json")) == without_seconds(Path("whole/result.json"))
    assert polars.read_parquet("broken/curves.parquet").equals(polars.read_parquet("whole/curves.parquet"))
    assert Path("broken/trust.json").read_bytes() == Path("whole/trust.json").read_bytes()


@pytest.mark.parametrize("missing", [["report.html"], ["curves.png", "report.html"], []])
@pytest.mark.training
def test_killed_after_the_answers_were_written(files, capsys, monkeypatch, missing):
    """Whatever was drawn before that, resuming draws the rest, and nothing is left behind."""
    command = ["log.npz", "policy.npz", "--method", "fqe", *FQE, "--out", "out"]
    assert call(*command) == 0
    whole = {path.name: path.read_bytes() for path in Path("out").iterdir()}
    for name in missing:
        Path("out", name).unlink()
    Path("out/.work").mkdir()
    Path("out/.work/0.json").write_text("{}")
    Path("out/.report.html.abcd1234.html").touch()
    capsys.readouterr()
    assert call(*command, "--resume") == 0
    printed = capsys.readouterr().out.replace("\n", "")
    assert "written to out: report.html, result.json, trust.json, curves.parquet, curves.png" in printed
    assert {path.name: path.read_bytes() for path in Path("out").iterdir()} == whole


def test_only_what_is_there_is_named(files, capsys):
    assert call("log.npz", "policy.npz", "--method", "mean-reward", "--out", "out") == 0
    named = capsys.readouterr().out.rpartition("written to out: ")[2].strip().split(", ")
    assert sorted([*named, "run.json"]) == sorted(path.name for path in Path("out").iterdir())
    assert "curves.png" not in named  # nothing was trained


def test_one_run_at_a_time_writes_to_a_folder(files, capsys):
    """The second is told so while the first works, and the first's results are its own."""
    command = ["log.npz", "policy.npz", "--method", "mean-reward", "--out", "out"]
    with locked(Path("out/.lock")):
        assert call(*command, "--seed", "1", "--overwrite") == 2
        assert "out: another process is writing results there" in capsys.readouterr().err
        assert [path.name for path in Path("out").iterdir()] == [".lock"]
    assert call(*command) == 0


@pytest.mark.parametrize("words", [[], ["--json"]])
@pytest.mark.process
def test_a_reader_who_goes_away_does_not_stop_the_work(files, words):
    command = [sys.executable, "-m", "ropeval", "evaluate", "log.npz", "policy.npz", "--method", "mean-reward"]
    process = subprocess.Popen([*command, "--out", "out", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    stderr = process.stderr.read().decode()
    assert process.wait(300) == 0, stderr
    assert "Traceback" not in stderr
    assert "BrokenPipe" not in stderr
    assert {path.name for path in Path("out").iterdir()} >= {"result.json", "report.html", "trust.json"}
    assert not Path("out/.work").exists()


def damage(change):
    """A copy of the log with something wrong in it."""
    with np.load("log.npz") as file:
        columns = dict(file)
    change(columns)
    np.savez("bad.npz", **columns)
    return "bad.npz"


def nan_reward(columns):
    columns["rewards"][17] = np.nan


def test_a_bandit(files, capsys):
    """Single steps are no surprise where nothing beyond them counts, and words are actions."""
    rows = [f"{i % 7},{('low', 'none', 'high')[i % 3]},{float(i % 3 == 2)},0.333,1" for i in range(60)]
    Path("visits.csv").write_text("\n".join(["age,drug,cured,pscore,terminal", *rows]))
    Path("mine.py").write_text("def treat(observations):\n    return ['high'] * len(observations)\n")
    columns = ["--columns", "observations=age", "--columns", "actions=drug", "--columns", "rewards=cured"]
    never = ["--columns", "truncations=never", "--method", "wis", "--json"]
    assert call("visits.csv", "best=mine:treat", *columns, *never, "--gamma", "0", "--out", "out") == 0
    out, err = capsys.readouterr()
    (found,) = json.loads(out)
    assert (found["policy"], found["value"]) == ("best", 1.0)
    assert "single step" not in err
    assert call("visits.csv", "best=mine:treat", *columns, *never, "--gamma", "0.5", "--out", "other") == 0
    assert "single step" in capsys.readouterr().err


BAD: dict[str, tuple[Callable[[], list[Any]], str]] = {
    "missing log": (lambda: ["absent.npz", "policy.npz"], "absent.npz: no such log"),
    "missing policy": (lambda: ["log.npz", "absent.npz"], "absent.npz: no such file"),
    "truncated log": (
        lambda: [Path("bad.npz").write_bytes(Path("log.npz").read_bytes()[:1000]) and "bad.npz", "policy.npz"],
        "damaged or cut short",
    ),
    "nan reward": (lambda: [damage(nan_reward), "policy.npz"], "rewards is nan at row 17"),
    "lengths": (
        lambda: [damage(lambda c: c.update(actions=c["actions"][:9])), "policy.npz"],
        "actions has 9 rows but rewards has 300",
    ),
    "empty": (lambda: [damage(lambda c: c.update({k: v[:0] for k, v in c.items()})), "policy.npz"], "the log is empty"),
    "observation size": (
        lambda: [
            damage(lambda c: [c.pop("next_observations"), c.update(observations=np.zeros((300, 5)))]),
            "policy.npz",
        ],
        "observations of size 2, but the log's have size 5",
    ),
    "action shape": (
        lambda: [damage(lambda c: c.update(actions=np.zeros((300, 2, 2)))), "policy.npz"],
        "actions has shape (300, 2, 2)",
    ),
    "action size": (
        lambda: [damage(lambda c: c.update(actions=np.zeros((300, 3)))), "policy.npz"],
        "1 numbers per action, but the log has 3",
    ),
    "gamma": (lambda: ["log.npz", "policy.npz", "--gamma", "1.0"], "gamma is 1, but 30 of 30 episodes"),
    "gamma below": (lambda: ["log.npz", "policy.npz", "--gamma", "-0.5"], "gamma is -0.5"),
    "gamma not a number": (lambda: ["log.npz", "policy.npz", "--gamma", "often"], "Invalid value for '--gamma'"),
    "method": (lambda: ["log.npz", "policy.npz", "--method", "wizardry"], "unknown method 'wizardry'; choose from"),
    "composition": (lambda: ["log.npz", "policy.npz", "--method", "rope+mean-reward"], "takes no features"),
    "setting": (lambda: ["log.npz", "policy.npz", "--set", "fqe.wdith=3"], "unknown setting 'fqe.wdith'"),
    "setting's value": (lambda: ["log.npz", "policy.npz", "--set", "fqe.width=-3"], "setting fqe.width is -3"),
    "setting's form": (lambda: ["log.npz", "policy.npz", "--set", "width"], "expected PART.FIELD=VALUE"),
    "setting of another part": (
        lambda: ["log.npz", "policy.npz", "--method", "lspe", "--set", "rope.beta=1"],
        "setting rope.beta: rope takes no part in lspe",
    ),
    "name too long": (lambda: ["log.npz", "policy.npz", "--method", "lspe", "--out", "x" * 300], "cannot be written"),
    "part": (lambda: ["log.npz", "policy.npz", "--set", "fqee.width=3"], "unknown part 'fqee'"),
    "preset": (lambda: ["log.npz", "policy.npz", "--preset", "wild"], "unknown preset 'wild'"),
    "members": (lambda: ["log.npz", "policy.npz", "--members", "0"], "members"),
    "a billion members": (lambda: ["log.npz", "policy.npz", "--members", "1000000000"], "at most 100000"),
    "huge setting": (lambda: ["log.npz", "policy.npz", "--set", "fqe.width=99999999999"], "more than 2,147,483,647"),
    "deep setting": (lambda: ["log.npz", "policy.npz", "--set", "fqe.width=" + "[" * 9999], "--set fqe.width: cannot"),
    "not text": (lambda: ["log.npz", "policy.npz", "--method", "mean-return", "--out", "\udcff"], "not UTF-8"),
    "policy not text": (lambda: ["log.npz", "\udcff.npz"], "not UTF-8"),
    "log not text": (lambda: ["\udcff.npz", "policy.npz"], "not UTF-8"),
    "huge actions": (lambda: ["log.npz", "uniform:-1e38,1e38"], "policy uniform:-1e38,1e38: it gave"),
    "huge log": (lambda: [damage(lambda c: c.update(rewards=c["rewards"] + 1e30)), "policy.npz"], "at most 1e+15"),
    "steps": (lambda: ["log.npz", "policy.npz", "--steps", "0"], "steps"),
    "seed": (lambda: ["log.npz", "policy.npz", "--seed", "-1"], "seed"),
    "draws": (lambda: ["log.npz", "policy.npz", "--draws", "0"], "--draws is 0; it must be a whole number, at least 1"),
    "level": (
        lambda: ["log.npz", "policy.npz", "--level", "95"],
        "--level is 95.0; it must be a number, more than 0 and less than 1",
    ),
    "interval": (lambda: ["log.npz", "policy.npz", "--interval", "wide"], "unknown interval 'wide'"),
    "no truth": (lambda: ["log.npz", "policy.npz", "--truth", "absent.json"], "absent.json: no such file of true"),
    "truth of others": (
        lambda: [Path("t.json").write_text('{"x": 1}') and "log.npz", "policy.npz", "--truth", "t.json"],
        "no value for 'policy'",
    ),
    "truth that is none": (
        lambda: [Path("t.json").write_text('{"policy": "good"}') and "log.npz", "policy.npz", "--truth", "t.json"],
        "the true value of 'policy' is 'good'",
    ),
    "huge truth": (
        lambda: [
            Path("t.json").write_text('{"policy": 1%s}' % ("0" * 400)) and "log.npz",
            "policy.npz",
            "--truth",
            "t.json",
        ],
        "must be a finite number",
    ),
    "deep truth": (
        lambda: [Path("t.json").write_text("[" * 99999) and "log.npz", "policy.npz", "--truth", "t.json"],
        "t.json: cannot be read as JSON (maximum recursion",
    ),
    "endless truth": (lambda: ["log.npz", "policy.npz", "--truth", "/dev/zero"], "/dev/zero: cannot be read as JSON"),
    "no config": (lambda: ["log.npz", "policy.npz", "--config", "absent.toml"], "absent.toml: no such configuration"),
    "config": (
        lambda: [Path("x.toml").write_text("gamma = ") and "log.npz", "policy.npz", "--config", "x.toml"],
        "as TOML",
    ),
    "config option": (
        lambda: [Path("x.toml").write_text("gama = 0.5") and "log.npz", "policy.npz", "--config", "x.toml"],
        "unknown option 'gama'",
    ),
    "config type": (
        lambda: [Path("x.toml").write_text('gamma = "a"') and "log.npz", "policy.npz", "--config", "x.toml"],
        "gamma is 'a'",
    ),
    "same name twice": (lambda: ["log.npz", "policy.npz", "policy.npz"], "two policies are named 'policy'"),
    "no policy": (lambda: ["log.npz"], "POLICY"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_exit_code_2_and_nothing_written(files, capsys, case):
    arguments, message = BAD[case]
    words = arguments()
    before = sorted(p.name for p in files.iterdir())
    assert call(*(words if "--out" in words else [*words, "--out", "out"])) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert "Traceback" not in printed.err
    assert printed.out == ""
    assert sorted(p.name for p in files.iterdir()) == before


def test_another_runs_folder_is_left_alone(files, capsys):
    assert call("log.npz", "policy.npz", "--method", "mean-reward", "--out", "out") == 0
    before = {p.name: p.read_bytes() for p in (files / "out").iterdir()}
    assert call("log.npz", "policy.npz", "--method", "mean-return", "--out", "out") == 2
    assert "another run's results" in capsys.readouterr().err
    assert {p.name: p.read_bytes() for p in (files / "out").iterdir()} == before
    assert call("log.npz", "policy.npz", "--method", "mean-return", "--out", "out", "--resume") == 2
    assert call("log.npz", "policy.npz", "--out", "log.npz", "--method", "mean-reward") == 2


def test_a_full_disk_keeps_the_answer_on_the_screen(files, capsys, monkeypatch):
    def full(self, target):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    real = Path.replace
    monkeypatch.setattr(Path, "replace", lambda s, t: full(s, t) if "parquet" in str(t) else real(s, t))
    assert call("log.npz", "policy.npz", "--method", "mean-reward", "--out", "out") == 2
    printed = capsys.readouterr()
    assert "the disk is full" in printed.err
    assert "mean-reward" in printed.out
    assert not list((files / "out").glob("*.parquet"))
    assert not (files / "out/result.json").exists()
    monkeypatch.undo()
    monkeypatch.chdir(files)
    assert call("log.npz", "policy.npz", "--method", "mean-reward", "--out", "out", "--resume") == 0


@pytest.mark.training
def test_hostile_names_are_shown_as_they_are(files, capsys):
    Path("policy.npz").rename("[red]$x^2$.npz")
    assert call("log.npz", "[red]$x^2$.npz", "--method", "fqe", *FQE, "--out", "out") == 0
    assert "[red]" in capsys.readouterr().out.replace("\n", "").replace(" ", "")


def test_a_changed_function_is_another_run(files, monkeypatch, capsys):
    """Resuming with a function of the same name that acts differently must not show the old answer."""
    monkeypatch.syspath_prepend(str(files))
    Path("acting.py").write_text("def act(observations): return observations[:, :1] * 0.1\n")
    command = ["log.npz", "acting:act", "--method", "mean-reward", "--out", "out"]
    assert call(*command) == 0
    monkeypatch.setattr(sys.modules["acting"], "act", lambda observations: observations[:, :1] * 0.2)
    assert call(*command, "--resume") == 2
    assert "another run's results" in capsys.readouterr().err
