"""The report as a whole: complete, honest about what is missing, safe whatever the names are."""

import json
import re
import shutil
import subprocess

import polars as pl
import pytest

from ropeval.bench.results.report import write_report
from ropeval.bench.results.rows import load_rows
from ropeval.errors import UserError
from tests.bench.results.report.conftest import WORDS, words
from tests.bench.studies import curve, hyper, row, runs, small_study, write_study

HOSTILE = [
    "<script>alert(1)</script>", "a|b\nc", "$x_1^2$ \\input{/etc/passwd} 100%", "../../up & {down}", "**bold** [l](u)",
    "[3em] *", "\u202egnp.exe", "名前 ü", '"quoted" \'single\'', "x" * 300,
]  # fmt: skip


def test_all_the_paper_s_tables_and_figures_are_there(small):
    tables = {p.stem for p in small.glob("tables/*.tex")}
    assert tables >= {"overall", "overview-discounted", "overview-mean-reward", "scores-discounted", "both-truths"}
    figures = {p.stem for p in small.glob("figures/*.csv")}
    expected = {"two-truths", "estimates", "loss-phi", "loss-q"}
    expected |= {f"feature-{name}" for name in ("mean", "std", "size", "codes")}
    for truth in ("discounted", "mean-reward"):
        expected |= {f"profiles-{truth}", f"sensitivity-beta-{truth}", f"sensitivity-dim-{truth}"}
        expected |= {f"errors-{truth}-default", f"errors-{truth}-best"}
    assert figures == expected


def test_every_table_and_figure_carries_command_hardware_and_commit(small):
    for path in small.glob("tables/*.tex"):
        assert all(word in path.read_text(encoding="utf-8") for word in ("bench report", "made up", "abc1234"))
    text = (small / "report.md").read_text(encoding="utf-8")
    assert text.count("commit abc1234") == len(re.findall(r"^## (?!Figures)", text, flags=re.MULTILINE))
    page = (small / "report.html").read_text(encoding="utf-8")
    assert all("abc1234" in words for words in re.findall(r"<figcaption>(.*?)</figcaption>", page))


def test_protocols_are_reported_apart(tmp_path):
    rows = runs("t", "fqe", [110.0, 111.0]) + runs("t", "fqe", [150.0, 151.0], protocol="paper")
    folder = write_study(tmp_path / "study", rows)
    write_report(folder, tmp_path / "out", ["md", "csv"])
    found = {p: pl.read_csv(tmp_path / "out" / p / "tables" / "runs.csv") for p in ("standard", "paper")}
    assert found["standard"]["estimate"].to_list() == [110.0, 111.0]
    assert found["paper"]["estimate"].to_list() == [150.0, 151.0]
    assert "protocol paper, 2 runs" in (tmp_path / "out" / "paper" / "report.md").read_text(encoding="utf-8")
    assert not (tmp_path / "out" / "report.md").exists()


def hostile_study(folder):
    rows, curves = [], []
    for name in HOSTILE:
        rows += runs(name, "fqe", [110.0, 120.0]) + runs(name, f"m {name}", [105.0], hyper=hyper(**{name: name}))
        rows += runs(name, f"m {name}", [106.0], hyper=hyper(**{name: 3}), default=False)
    for one in rows:
        curves += curve(one, one["method"].rpartition("+")[2], "estimate", {1: 0.0, 2: one["estimate"]})
    failure = dict.fromkeys(("task", "method", "error"), HOSTILE[0]) | {"hyper": {HOSTILE[2]: HOSTILE[0]}}
    return write_study(folder, rows, curves, failures={"x": failure}, tasks=HOSTILE, methods=HOSTILE)


def test_a_study_of_a_hostile_name_is_refused(tmp_path):
    folder = write_study(tmp_path / "study", [row("t", "fqe", 1.0)], name=HOSTILE[0])
    with pytest.raises(UserError, match=r"study\.json: name is .* String should match pattern"):
        write_report(folder, tmp_path / "out", WORDS)
    assert not (tmp_path / "out").exists()


def test_hostile_names_are_only_words(tmp_path):
    folder = hostile_study(tmp_path / "study")
    out = tmp_path / "out" / "deep"
    written = write_report(folder, out, WORDS)
    assert {path for path in tmp_path.rglob("*") if path.is_file() and "study" not in path.parts} == {
        *written, out / "report.json",
    }  # fmt: skip
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "\u202e" not in page
    text = (out / "report.md").read_text(encoding="utf-8")
    assert "<script>" not in text.replace("\\<script\\>", "")
    for line in text.splitlines():
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) in (5, 6, 7, 8, 10, 4 + 2 * len(HOSTILE), 3 + len(HOSTILE))


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.parametrize("hostile", [False, True])
def test_the_latex_document_compiles(tmp_path, hostile):
    folder = (hostile_study if hostile else small_study)(tmp_path / "study")
    out = tmp_path / "out"
    write_report(folder, out, ["tex"])
    command = ["pdflatex", "-no-shell-escape", "-halt-on-error", "-interaction=nonstopmode", "report.tex"]
    done = subprocess.run(command, cwd=out, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-2000:].decode(errors="replace")


def test_a_report_replaces_the_one_before_it_and_nothing_else(tmp_path):
    folder = small_study(tmp_path / "study")
    out = tmp_path / "out"
    write_report(folder, out, ["md", "csv"])
    assert (out / "figures" / "loss-phi.csv").exists()
    (out / "mine.txt").write_text("keep", encoding="utf-8")
    manifest = json.loads((out / "report.json").read_text(encoding="utf-8"))
    manifest["files"] += ["../study/study.json", "figures"]
    (out / "report.json").write_text(json.dumps(manifest), encoding="utf-8")
    write_report(folder, out, ["md"])
    assert not (out / "figures" / "loss-phi.csv").exists()
    assert (out / "mine.txt").exists()
    assert (folder / "study.json").exists()


def test_a_folder_of_something_else_is_refused(tmp_path):
    folder = small_study(tmp_path / "study")
    out = tmp_path / "out"
    out.mkdir()
    (out / "report.md").write_text("my diary", encoding="utf-8")
    with pytest.raises(UserError, match="holds something else than a report; choose another --out, or add --overwrite"):
        write_report(folder, out, ["md"])
    assert (out / "report.md").read_text(encoding="utf-8") == "my diary"
    write_report(folder, out, ["md"], overwrite=True)
    with pytest.raises(UserError, match="this is a file"):
        write_report(folder, folder / "study.json", ["md"])
    with pytest.raises(UserError, match="unknown format 'docx'"):
        write_report(folder, tmp_path / "other", ["docx"])
    assert not (tmp_path / "other").exists()


def test_the_same_rows_give_the_same_report(tmp_path):
    folder = small_study(tmp_path / "study")
    assert len(load_rows(folder)) == 44
    pages = []
    for name in ("a", "b"):
        write_report(folder, tmp_path / name, WORDS)
        pages.append({p.name: p.read_bytes() for p in (tmp_path / name).rglob("*") if p.is_file()})
    assert pages[0] == pages[1]


@pytest.mark.process
def test_several_processes_draw_what_one_would(tmp_path, monkeypatch):
    folder = write_study(tmp_path / "study", runs("t", "fqe", [101.0, 102.0]) + runs("t", "mean-reward", [90.0]))
    monkeypatch.setattr("ropeval.bench.results.report.write.MANY_PANELS", 0)
    drawn = {}
    for processes in (1, 2):
        out = tmp_path / str(processes)
        drawn[processes] = {
            p.relative_to(out): p.read_bytes() for p in write_report(folder, out, ["png"], processes=processes)
        }
    assert drawn[1] == drawn[2]
    assert len(drawn[1]) == 4  # both truths: estimates, errors, profiles twice


def test_progress_goes_forward_to_the_end(tmp_path):
    folder = write_study(tmp_path / "study", [row("t", "fqe", 1.0), row("t", "fqe", 1.0, protocol="paper")])
    seen: list[float] = []
    write_report(folder, tmp_path / "out", ["md"], lambda words, fraction: seen.append(fraction))
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1.0)


def test_facts_that_speak_against_the_tables_are_warnings_on_the_page(tmp_path):
    folder = write_study(tmp_path / "study", runs("t", "fqe", [110.0]), seeds=3, methods=["fqe", "lspe"])
    words(folder)
    page = (folder / "report" / "report.html").read_text(encoding="utf-8")
    kinds = re.findall(r'<div class="note (\w+)">.*?<strong>(\w+)</strong> ([^<]*)', page)
    found = {sentence.split(" ")[0]: (kind, word) for kind, word, sentence in kinds}
    assert found["1"] == ("note", "info")
    assert found["5"] == ("warning", "warning")
    assert found["mean-reward"] == ("warning", "warning")
