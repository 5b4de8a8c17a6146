"""Reading a study back: what is whole is read, what is damaged or contradictory is refused by name."""

import json

import polars as pl
import pytest

from ropeval.bench.results.rows import CURVES, ROWS, load_curves, load_failures, load_rows, warnings_of
from ropeval.bench.run.study import read_study
from ropeval.errors import UserError
from tests.bench.studies import curve, row, runs, small_study, write_study


def test_rows_come_back_as_written_and_in_order(tmp_path):
    written = runs("t", "fqe", [3.0, None, 1.0]) + runs("t", "mean-reward", [2.0])
    rows = load_rows(write_study(tmp_path, list(reversed(written))))
    assert dict(rows.schema) == dict(pl.Schema(ROWS))
    assert rows["estimate"].to_list() == [3.0, None, 1.0, 2.0]
    assert rows["method"].to_list() == ["fqe"] * 3 + ["mean-reward"]


def test_narrower_numbers_are_taken(tmp_path):
    folder = write_study(tmp_path, runs("t", "fqe", [3.0]))
    path = folder / "units" / "unit0.rows.parquet"
    pl.read_parquet(path).with_columns(pl.col("seed").cast(pl.Int32), pl.col("gamma").cast(pl.Float32)).write_parquet(
        path
    )
    assert load_rows(folder)["seed"].to_list() == [0]


def test_a_log_without_a_random_policy_can_be_read(tmp_path):
    folder = write_study(tmp_path, runs("t", "fqe", [3.0]))
    path = folder / "units" / "unit0.rows.parquet"
    pl.read_parquet(path).drop(pl.col("^random_.*$")).write_parquet(path)
    assert load_rows(folder)["random_discounted"].to_list() == [None]


@pytest.mark.parametrize("kind", ["rows", "curves"])
@pytest.mark.parametrize("content", [b"", b"PAR1", b"not a parquet file at all", None])
def test_a_damaged_file_is_refused_by_name(tmp_path, kind, content):
    folder = small_study(tmp_path)
    path = folder / "units" / f"unit0.{kind}.parquet"
    path.write_bytes(path.read_bytes()[:-40] if content is None else content)
    with pytest.raises(UserError, match=rf"unit0\.{kind}\.parquet: cannot be read as Parquet.*--resume"):
        (load_rows if kind == "rows" else load_curves)(folder)


def test_a_missing_column_is_named(tmp_path):
    folder = write_study(tmp_path, runs("t", "fqe", [3.0]))
    path = folder / "units" / "unit0.rows.parquet"
    pl.read_parquet(path).drop("truth_discounted", "commit").write_parquet(path)
    with pytest.raises(UserError, match=r"unit0\.rows\.parquet: no column truth_discounted, commit"):
        load_rows(folder)


def test_a_column_of_the_wrong_type_is_named(tmp_path):
    folder = write_study(tmp_path, runs("t", "fqe", [3.0]))
    path = folder / "units" / "unit0.rows.parquet"
    pl.read_parquet(path).with_columns(pl.lit("high").alias("estimate")).write_parquet(path)
    with pytest.raises(UserError, match=r"unit0\.rows\.parquet: a column has the wrong type .*estimate"):
        load_rows(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hyper": "beta=1"}, "hyper is 'beta=1'; it must be a JSON object"),
        ({"hyper": "[1]"}, "it must be a JSON object"),
        ({"protocol": "mine"}, "protocol is 'mine'; expected standard or paper"),
        ({"task": None}, "task is missing in 1 rows"),
        ({"seed": None}, "seed is missing in 1 rows"),
    ],
)
def test_nonsense_in_a_row_is_refused(tmp_path, changes, message):
    folder = write_study(tmp_path, [row("t", "fqe", 1.0)])
    path = folder / "units" / "unit0.rows.parquet"
    pl.DataFrame([row("t", "fqe", 1.0) | changes], schema=ROWS).write_parquet(path)
    with pytest.raises(UserError, match="unit0") as refused:
        load_rows(folder)
    assert message in str(refused.value)


def test_a_run_that_stands_there_twice_is_refused(tmp_path):
    folder = write_study(tmp_path, runs("t", "fqe", [1.0, 2.0]))
    pl.DataFrame([row("t", "fqe", 1.0, seed=1, unit="again")], schema=ROWS).write_parquet(
        folder / "units" / "again.rows.parquet"
    )
    with pytest.raises(
        UserError, match=r"twice \(.*task t, policy evaluated, method fqe, .*seed 1; in units again, t-fqe\)"
    ):
        load_rows(folder)


@pytest.mark.parametrize(
    ("column", "other"),
    [
        ("truth_discounted", 7.0),
        ("random_mean_reward", 8.0),
        ("gamma", 0.9),
        ("data_sha256", "another log"),
        ("policy_sha256", "another"),
    ],
)
def test_rows_of_one_task_from_different_logs_are_refused(tmp_path, column, other):
    folder = write_study(tmp_path, [row("t", "fqe", 1.0), row("t", "fqe-clip", 1.0, **{column: other})])
    with pytest.raises(UserError, match=rf"rows of task t disagree about {column}"):
        load_rows(folder)


def test_the_protocols_may_differ_in_gamma_but_not_within_one(tmp_path):
    folder = write_study(tmp_path, [row("t", "fqe", 1.0), row("t", "fqe", 1.0, protocol="paper", gamma=0.9)])
    assert len(load_rows(folder)) == 2


def test_two_defaults_are_refused(tmp_path):
    rows = [row("t", "rope+fqe", 1.0, hyper=h) for h in ('{"rope.beta": 1.0}', '{"rope.beta": 2.0}')]
    with pytest.raises(UserError, match="t, rope\\+fqe: two settings call themselves the default"):
        load_rows(write_study(tmp_path, rows))


def test_curves_are_thinned_evenly_and_keep_the_end(tmp_path):
    one = row("t", "fqe", 1.0)
    points = {step: float(step) for step in range(10, 1010, 10)}
    folder = write_study(tmp_path, [one], curve(one, "fqe", "estimate", points))
    assert len(load_curves(folder)) == 100
    assert load_curves(folder, points=4)["step"].sort().to_list() == [250, 500, 750, 1000]
    assert len(load_curves(folder, points=100)) == 100
    assert len(load_curves(folder, points=1_000)) == 100
    seen: list[float] = []
    load_curves(folder, progress=seen.append)
    assert seen == [1.0]


def test_no_curves_are_no_error(tmp_path):
    curves = load_curves(write_study(tmp_path, [row("t", "fqe", 1.0)]))
    assert len(curves) == 0
    assert curves.columns == [name for name in CURVES if name != "unit"]


def test_failures_are_listed_unless_a_later_attempt_succeeded(tmp_path):
    failure = {"task": "t", "method": "critic+fqe", "hyper": {"a": 1}, "error": "no critic"}
    folder = write_study(tmp_path, [row("t", "fqe", 1.0)], failures={"bad": failure, "unit0": failure})
    (found,) = load_failures(folder)
    assert (found.unit, found.hyper, found.error) == ("bad", '{"a": 1}', "no critic")


def test_what_is_no_study_is_said_to_be_none(tmp_path):
    with pytest.raises(UserError, match="no such folder"):
        read_study(tmp_path / "absent")
    with pytest.raises(UserError, match=r"no study\.json"):
        read_study(tmp_path)
    (tmp_path / "study.json").write_text("{", encoding="utf-8")
    with pytest.raises(UserError, match=r"study\.json: cannot be read as JSON"):
        read_study(tmp_path)
    (tmp_path / "study.json").write_text(json.dumps([]), encoding="utf-8")
    with pytest.raises(UserError, match=r"study\.json: holds list"):
        read_study(tmp_path)
    with pytest.raises(UserError, match="no unit has finished yet"):
        load_rows(tmp_path)


OLDER = ("policy", "split", "low", "high", "seconds_prepare", "extras")


def test_rows_of_an_earlier_version_are_read_as_they_were_meant(tmp_path):
    one = row("t", "fqe", 3.0)
    folder = write_study(tmp_path, [one], curve(one, "fqe", "loss", {1: 0.5}))
    for path in folder.glob("units/*.parquet"):
        pl.read_parquet(path).drop(OLDER, strict=False).write_parquet(path)
    (read,) = load_rows(folder).iter_rows(named=True)
    assert [read[name] for name in OLDER] == ["evaluated", "", None, None, 0.0, "{}"]
    assert load_curves(folder)["policy"].to_list() == ["evaluated"]


def test_policies_of_a_task_differ_in_their_truth_but_not_in_their_log(tmp_path):
    rows = [row("t", "fqe", 1.0, policy="a"), row("t", "fqe", 1.0, policy="b", truth_discounted=7.0)]
    assert len(load_rows(write_study(tmp_path / "fine", rows))) == 2
    with pytest.raises(UserError, match=r"rows of task t disagree about data_sha256"):
        load_rows(write_study(tmp_path / "logs", [rows[0], rows[1] | {"data_sha256": "another"}]))
    with pytest.raises(UserError, match=r"rows of task t · b disagree about truth_discounted"):
        load_rows(write_study(tmp_path / "truths", [*rows, row("t", "lspe", 1.0, policy="b", truth_discounted=8.0)]))


def test_a_failure_of_one_policy_is_listed_beside_the_rows_of_the_others(tmp_path):
    failure = {"unit": "unit0", "task": "t", "method": "fqe", "policy": "b", "error": "no"}
    folder = write_study(tmp_path, [row("t", "fqe", 1.0, policy="a")], failures={"unit0.b": failure})
    (found,) = load_failures(folder)
    assert (found.unit, found.policy) == ("unit0", "b")
    assert found.concerns("t · b")
    assert not found.concerns("t · a")
    assert not found.concerns("t")


def test_warnings_carry_their_severity_and_older_ones_say_that_it_is_unknown():
    new = {"code": "collapse", "severity": "severe", "message": "m"}
    assert warnings_of(json.dumps([new])) == [new]
    assert warnings_of(json.dumps(["m"])) == [{"code": "unknown", "severity": "unknown", "message": "m"}]
