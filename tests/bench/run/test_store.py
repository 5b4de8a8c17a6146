"""What may stand in one folder."""

import pytest

from ropeval.bench.run.store import Store
from ropeval.bench.run.study import Group, read_study
from ropeval.errors import UserError
from tests.bench.run.toy_study import SMALL, STUDY


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"protocol": "paper"}, "protocol 'standard'"),
        ({"gamma": 0.9}, "never mixed"),
        ({"settings": {"fqe": SMALL | {"width": 9}}}, "settings of fqe"),
    ],
)
@pytest.mark.training
def test_results_of_two_kinds_are_never_mixed(finished, change, words):
    with pytest.raises(UserError, match=words):
        Store(finished).create(STUDY.model_copy(update=change), resume=True)


@pytest.mark.training
def test_a_study_is_not_overwritten_by_accident(finished, tmp_path):
    with pytest.raises(UserError, match="--resume"):
        Store(finished).create(STUDY, resume=False)
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(UserError, match="something else"):
        Store(tmp_path).create(STUDY, resume=False)


def test_a_row_of_so_many_resamples_is_not_mixed_with_one_of_more(tmp_path):
    study = STUDY.model_copy(update={"resample": True})
    Store(tmp_path / "s").create(study, resume=False)
    Store(tmp_path / "s").create(study, resume=True)
    with pytest.raises(UserError, match="2 times for each row, the study file 3 times"):
        Store(tmp_path / "s").create(study.model_copy(update={"seeds": 3}), resume=True)
    with pytest.raises(UserError, match="resample True"):
        Store(tmp_path / "s").create(STUDY, resume=True)


def test_a_study_is_read_back_as_it_was_written(tmp_path):
    Store(tmp_path / "s").create(STUDY, resume=False)
    assert Store(tmp_path / "s").study() == read_study(tmp_path / "s") == STUDY


def test_what_a_killed_process_half_wrote_goes_with_the_next_claim(tmp_path):
    """Found by the torture: such files stayed for ever."""
    ours, theirs = (Group("toy/a", method, (), {}) for method in ("fqe", "rope+fqe"))
    units = tmp_path / "units"
    units.mkdir()
    for group in (ours, theirs):
        (units / f".{group.name}.0fcdbc77.curves.parquet.3zfcfh27.parquet").touch()
        (units / f"{group.name}.0fcdbc77.rows.parquet").touch()
    with Store(tmp_path).claim(ours) as claimed:
        assert claimed
    left = {path.name for path in units.iterdir()}
    assert left == {path for group in (ours, theirs) for path in [f"{group.name}.0fcdbc77.rows.parquet"]} | {
        f".{theirs.name}.0fcdbc77.curves.parquet.3zfcfh27.parquet"
    }


def test_a_second_process_may_come_while_the_first_writes_what_was_asked_for(tmp_path):
    """Seen once: it took the other's unfinished file for something else that lies in the folder."""
    (tmp_path / ".study.json.3zfcfh27.json").touch()
    Store(tmp_path).create(STUDY, resume=False)
    assert Store(tmp_path).study() == STUDY
    assert [path.name for path in tmp_path.iterdir()] == ["study.json"], "what a killed one half wrote goes"


def test_work_of_a_unit_that_was_written_but_not_forgotten_goes_with_the_next_claim(tmp_path):
    """Seen once: killed between the two, it left its progress for ever. What is not written yet is kept, to go on."""
    group, units, work = Group("toy/a", "fqe", (), {}), tmp_path / "units", tmp_path / "work"
    units.mkdir()
    (units / f"{group.name}.0fcdbc77.rows.parquet").touch()
    for unit in ("0fcdbc77", "11111111"):
        (work / f"{group.name}.{unit}").mkdir(parents=True)
        (work / f"{group.name}.{unit}.json").touch()
    with Store(tmp_path).claim(group):
        assert {path.name for path in work.glob("*.1*")} == {f"{group.name}.11111111", f"{group.name}.11111111.json"}
        assert not list(work.glob("*.0*"))
