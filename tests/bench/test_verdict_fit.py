"""The fit of the verdicts' limits leaves alone what is judged by reason."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.verdict import GRID, fit
from benchmarks.verdict_cases import Case, looks, words

from tests.evaluation.verdict.estimates import estimate, world


def case(one, simulator=None, error=0.0, differ=2.0, alone=4.0):
    return Case(
        task="t", family="f", split="dev", estimate=one, simulator=simulator, error=error, covered=True, width=0.1,
        differ=differ, alone=alone, truth=5.0, wide=1.0, findings={},
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


def test_limits_do_not_depend_on_the_scale_that_luck_stretches():
    """The same numbers in rewards, on a log whose returns differ by fifty times as much."""

    def stretched(one):
        if one is None:
            return None
        signs = one.signs | {"scale": 50.0 * one.signs["scale"], "spread": one.signs["spread"] / 50.0}
        return replace(one, signs=signs)

    plain = fit(dev())["limits"]
    wild = [one._replace(estimate=stretched(one.estimate), simulator=stretched(one.simulator)) for one in dev()]
    moved = fit(wild)["limits"]
    assert [moved[kind] for kind in ("simulator", "beside")] == [plain[kind] for kind in ("simulator", "beside")]
    assert moved["alone"] != plain["alone"]  # without a simulator there is but the scale


def test_a_case_is_looked_at_as_judged_as_the_only_policy_and_without_a_simulator():
    one = case(estimate("fqe", 5.0), world(5.0), error=0.1)
    assert [kind for kind, _ in words(one)] == ["beside", "beside", "alone"]
    assert [off for *_, off in looks(one)] == pytest.approx([0.05, 0.025, 0.01])  # of 2, of 4 and of 10
    assert [kind for kind, _ in words(one._replace(estimate=world(5.0), simulator=None))] == ["simulator"] * 2
