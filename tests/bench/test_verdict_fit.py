"""The fit of the verdicts' limits leaves alone what is judged by reason."""

import numpy as np
from benchmarks.verdict import GRID, fit
from benchmarks.verdict_cases import Case

from tests.evaluation.verdict.estimates import estimate, world


def case(one, simulator=None, error=0.0):
    return Case(
        task="t", family="f", split="dev", estimate=one, simulator=simulator, error=error, covered=True, width=0.1,
        moved=error, truth=5.0, wide=1.0, findings={},
    )  # fmt: skip


def dev(**signs):
    """Estimates that are off by what resampled logs differ by, of all kinds."""
    found = []
    for spread in np.linspace(0.0, 0.6, 30):
        simulator = world(5.0, spread=spread, **signs)
        found.append(case(simulator, error=spread))
        found.append(case(estimate("fqe", 5.0 + spread, spread=spread, **signs), simulator, spread))
        weighed = estimate("wis", 5.0, spread=spread, effective=50.0, weight=1.0, **signs)
        found.append(case(weighed, simulator, spread))
    return found


def test_what_was_trained_too_briefly_teaches_nothing():
    """All of it is far off, and calm: the limits of the other signs would have to call everything a guess."""
    brief = [one._replace(error=0.9) for one in dev(short=0.9) if one.estimate.signs["spread"] < 0.1]
    limits = fit(dev())
    assert fit(dev() + brief) == limits
    unmarked = [one._replace(error=0.9) for one in dev() if one.estimate.signs["spread"] < 0.1]
    assert fit(dev() + unmarked) != limits  # so the test can fail


def test_no_fitted_limit_takes_the_place_of_one_by_reason():
    assert all("short" not in grid for grid in GRID.values())
    assert all("short" not in limits for limits in fit(dev())["limits"].values())
