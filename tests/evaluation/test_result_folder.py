"""A folder of results: who may write it, what is kept on the way, and what is read back."""

import json
from dataclasses import replace

import pytest

from ropeval.errors import UserError
from ropeval.evaluation.result import Coverage, Ranking
from ropeval.evaluation.result_folder import ResultFolder, Trust, fingerprint
from tests.report.outcomes import estimates, trust

ABOUT = {"version": "0", "log": "log.npz", "gamma": 0.9}


def rankings() -> list[Ranking]:
    return [Ranking(**row) for row in trust()["ranking"]]


def coverages() -> list[Coverage]:
    return [Coverage(**row) for row in trust()["coverage"]]


def write(folder: ResultFolder, truth: dict[str, float] | None = None) -> None:
    with folder.writing(ABOUT):
        for place, covered in enumerate(coverages()):
            folder.keep_coverage(place, covered)
        folder.write(estimates(), rankings(), truth)
        folder.finish()


def test_what_is_written_is_read(tmp_path):
    folder = ResultFolder(tmp_path / "run[1]")  # a name that a library might take for a pattern
    write(folder, {"left": 3.0})
    assert folder.about() == {"fingerprint": fingerprint(ABOUT), **ABOUT}
    assert folder.trust() == Trust(rankings(), coverages(), {"left": 3.0})
    bare = [replace(e, curves=[], replicates=[]) for e in estimates()]
    assert [e.to_json() for e in folder.results()] == [e.to_json() for e in bare]
    rows = [{"policy": e.policy, "method": e.method, **row} for e in estimates() for row in e.curves]
    assert [{**row, "value": pytest.approx(row["value"])} for row in rows] == folder.curves().to_dicts()
    assert folder.written == ["result.json", "trust.json", "curves.parquet"]
    assert sorted(p.name for p in folder.path.iterdir()) == ["curves.parquet", "result.json", "run.json", "trust.json"]


def test_a_log_by_another_name_is_the_same_question():
    assert fingerprint(ABOUT) == fingerprint({**ABOUT, "log": "copy.npz"}) != fingerprint({**ABOUT, "gamma": 0.8})


@pytest.mark.parametrize(("resume", "overwrite"), [(False, False), (True, False), (False, True)])
def test_another_question_does_not_mix_in(tmp_path, resume, overwrite):
    folder = ResultFolder(tmp_path)
    write(folder)
    (tmp_path / "notes.txt").touch()
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    if overwrite:
        with folder.writing({**ABOUT, "gamma": 0.8}, resume, overwrite):
            assert sorted(p.name for p in tmp_path.iterdir()) == [".lock", "notes.txt", "run.json"]
        assert folder.about()["gamma"] == 0.8
        return
    with pytest.raises(UserError, match="another run's results"), folder.writing({**ABOUT, "gamma": 0.8}, resume):
        pass
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_the_same_question_is_gone_on_with_only_when_told_to(tmp_path):
    folder = ResultFolder(tmp_path)
    with folder.writing(ABOUT):
        folder.keep_estimate(0, estimates()[1])
    with pytest.raises(UserError, match="--resume"), folder.writing(ABOUT):
        pass
    with folder.writing(ABOUT, resume=True):
        assert folder.kept_estimate(0).to_json(everything=True) == estimates()[1].to_json(everything=True)
        assert folder.kept_estimate(1) is None


def test_one_writer_at_a_time(tmp_path):
    folder = ResultFolder(tmp_path)
    with folder.writing(ABOUT):
        for overwrite in (False, True):
            second = folder.writing({**ABOUT, "seed": 1}, overwrite=overwrite)
            with pytest.raises(UserError, match="another process is writing results there; wait for it"), second:
                pass
        assert "seed" not in folder.about()


def test_what_a_killed_process_left_is_removed(tmp_path):
    folder = ResultFolder(tmp_path)
    write(folder)
    (tmp_path / ".report.html.abcd1234.html").touch()
    (tmp_path / ".work").mkdir()
    with folder.writing(ABOUT, resume=True):
        folder.finish()
    assert not [p.name for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_what_was_drawn_without_the_true_values_goes_when_they_are_told(tmp_path):
    """Killed before it is drawn again, a page without them would pass for finished."""
    folder = ResultFolder(tmp_path)
    write(folder)
    with folder.writing(ABOUT, resume=True):
        for kept in (False, True):  # told again, they change nothing
            for name in ("report.html", "curves.png"):
                (tmp_path / name).touch()
            folder.add_truth(rankings(), {"left": 9.0})
            assert folder.has("report.html") is folder.has("curves.png") is kept
    assert folder.trust() == Trust(rankings(), coverages(), {"left": 9.0})


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "out").touch()
    with pytest.raises(UserError, match="this is a file"), ResultFolder(tmp_path / "out").writing(ABOUT):
        pass


@pytest.mark.parametrize("content", ["[" * 100_000, "{", '{"a": ' + "9" * 10_000 + "}", "[]"])
def test_a_damaged_question_is_another_question(tmp_path, content):
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(UserError, match="another run's results"), ResultFolder(tmp_path).writing(ABOUT, resume=True):
        pass
    (tmp_path / "result.json").write_text(content + "}")
    with pytest.raises(UserError, match=r"result\.json: cannot be read as results"):
        ResultFolder(tmp_path).results()


def test_a_damaged_estimate_on_the_way_says_what_to_do(tmp_path):
    folder = ResultFolder(tmp_path)
    folder.work.mkdir()
    for content in ("nonsense", json.dumps({"metod": 1})):
        (folder.work / "0.json").write_text(content)
        with pytest.raises(UserError, match=r"0\.json: cannot be read .* start anew with --overwrite"):
            folder.kept_estimate(0)
