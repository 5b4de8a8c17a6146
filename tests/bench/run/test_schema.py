"""Rows and curves of a study can be put together."""

from ropeval.bench.run.schema import CURVES, ROWS, RUN, TRUTHS


def test_a_curve_finds_its_row():
    shared = [*RUN, "unit"]
    assert {name: ROWS[name] for name in shared} == {name: CURVES[name] for name in shared}


def test_every_truth_has_its_columns():
    wanted = {f"{whose}_{truth}{error}" for whose in ("truth", "random") for truth in TRUTHS for error in ("", "_se")}
    assert wanted == {name for name in ROWS if name.startswith(("truth_", "random_"))}
