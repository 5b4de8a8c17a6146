"""What a study asks for and does not have, in one folder and in several."""

import pytest

from ropeval.bench.results.missing import find_gaps, find_gaps_of_all
from ropeval.bench.results.rows import Failure, load_rows
from ropeval.bench.results.together import load_results
from ropeval.bench.run.study import read_study
from tests.bench.studies import curve, hyper, row, runs, small_study, write_study


@pytest.fixture
def published(tmp_path):
    rows = runs("t", "mean-reward", [90.0]) + runs("t", "mean-return", [60.0]) + runs("t", "fqe", [110.0, 111.0])
    curves = [point for one in rows[2:] for point in curve(one, "fqe", "estimate", {1: 0.0, 2: one["estimate"]})]
    return write_study(tmp_path / "published", rows, curves)


def test_a_whole_study_has_none(tmp_path):
    folder = small_study(tmp_path)
    assert find_gaps(read_study(folder), load_rows(folder), []) == []


def test_missing_tasks_methods_settings_and_seeds(tmp_path):
    rows = runs("a", "fqe", [1.0, 2.0, 3.0]) + runs("b", "fqe", [1.0])
    rows += runs("a", "rope+fqe", [1.0] * 3, hyper=hyper(b=1))
    folder = write_study(
        tmp_path, rows, tasks=["a", "b"], methods=["fqe", "rope+fqe"], seeds=3, grid={"rope+fqe": {"b": [1, 2]}}
    )
    failed = [Failure("u", "b", "rope+fqe", "{}", "out of memory")]
    gaps = {(g.task, g.method, g.hyper): g[3:6] for g in find_gaps(read_study(folder), load_rows(folder), failed)}
    assert gaps == {
        ("a", "mean-reward", ""): (0, 1, ""),
        ("a", "mean-return", ""): (0, 1, ""),
        ("a", "rope+fqe", hyper(b=2)): (0, 3, ""),
        ("b", "mean-reward", ""): (0, 1, ""),
        ("b", "mean-return", ""): (0, 1, ""),
        ("b", "fqe", "{}"): (1, 3, ""),
        ("b", "rope+fqe", ""): (0, 6, "out of memory"),
    }


def test_a_failed_unit_explains_the_settings_that_it_held(tmp_path):
    rows = runs("a", "rope+fqe", [1.0, 2.0], hyper='{"b":1,"d":"X"}') + runs("a", "mean-reward", [1.0])
    rows += runs("a", "mean-return", [1.0])
    folder = write_study(tmp_path, rows, grid={"rope+fqe": {"d": ["X", "X/2"], "b": [1]}})
    failed = [Failure("u", "a", "rope+fqe", '{"d": "X/2"}', "no memory"), Failure("v", "a", "fqe", "{}", "other")]
    (gap,) = find_gaps(read_study(folder), load_rows(folder), failed)
    assert (gap.hyper, gap.present, gap.expected, gap.reason) == (hyper(b=1, d="X/2"), 0, 2, "no memory")


def test_a_refusal_is_told_from_a_failure(tmp_path):
    rows = [row("a", method, 1.0) for method in ("mean-reward", "mean-return")]
    folder = write_study(tmp_path, rows, methods=["wis", "fqe"])
    failed = [Failure("u", "a", "wis", "{}", "no probabilities", refused=True), Failure("v", "a", "fqe", "{}", "broke")]
    gaps = find_gaps(read_study(folder), load_rows(folder), failed)
    assert {gap.method: gap.refused for gap in gaps} == {"wis": True, "fqe": False}


def test_patterns_stand_for_the_tasks_that_are_known(tmp_path):
    rows = [row("d4rl/hopper-medium", m, 1.0) for m in ("mean-reward", "mean-return")]
    folder = write_study(tmp_path, rows, tasks=["d4rl/hopper-*", "my.py:TASK"])
    gaps = find_gaps(read_study(folder), load_rows(folder), [])
    assert {gap.task for gap in gaps} == {"d4rl/hopper-random", "d4rl/hopper-medium-expert"}


def test_nobody_asks_for_the_methods_of_one_study_on_the_tasks_of_another(published, tmp_path):
    rows = runs("u", "new", [1.0, 2.0, 3.0]) + [row("u", b, 1.0) for b in ("mean-reward", "mean-return")]
    results = load_results([published, write_study(tmp_path / "mine", rows)])
    assert find_gaps_of_all(results.parts, results.rows) == []


def test_what_one_study_lacks_another_folder_may_hold(published, tmp_path):
    rows = runs("t", "new", [1.0, 2.0])
    folder = write_study(tmp_path / "mine", rows, methods=["new", "fqe", "lspe"], seeds=3)
    results = load_results([folder, published])
    gaps = {(g.method, g.hyper): (g.present, g.expected) for g in find_gaps_of_all(results.parts, results.rows)}
    assert gaps == {("new", "{}"): (2, 3), ("fqe", "{}"): (2, 3), ("lspe", ""): (0, 3)}


def test_a_study_of_another_protocol_lacks_nothing_here(published, tmp_path):
    folder = write_study(tmp_path / "mine", runs("u", "new", [1.0], protocol="paper"), tasks=["u", "v"])
    results = load_results([published, folder])
    assert find_gaps_of_all(results.parts, results.rows.filter(protocol="standard")) == []
