"""Quantiles and tails of weighted returns, against sums by hand and against many equal rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeval.estimators.return_distribution import distribution, doubly_robust_atoms

RETURNS = np.array([3.0, 1.0, 2.0, 4.0])


def test_weights_by_hand():
    found = distribution(RETURNS, np.array([1.0, 1.0, 6.0, 2.0]), level=0.2, below=3.0)
    assert found["quantile"] == 2.0  # F: 1 up to 0.1, 2 up to 0.7
    assert found["cvar"] == pytest.approx((0.1 * 1.0 + 0.1 * 2.0) / 0.2)
    assert found["mean"] == pytest.approx(2.4)
    assert found["below"] == {"threshold": 3.0, "probability": pytest.approx(0.7)}  # 3 itself is not below 3
    assert found["quantiles"] == {"0.05": 1.0, "0.25": 2.0, "0.5": 2.0, "0.75": 3.0, "0.95": 4.0}
    assert distribution(RETURNS, np.ones(4))["below"] is None


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 4)), min_size=1).filter(lambda p: any(c for _, c in p)))
def test_a_weight_is_a_count(pairs):
    returns, counts = (np.array(column, float) for column in zip(*pairs, strict=True))
    repeated = np.repeat(returns, counts.astype(int))
    weighed, counted = distribution(returns, counts, 0.3, 1.0), distribution(repeated, np.ones(len(repeated)), 0.3, 1.0)
    assert weighed["quantiles"] == counted["quantiles"]
    for name in ("cvar", "mean"):
        assert weighed[name] == pytest.approx(counted[name], abs=1e-9)
    assert weighed["below"]["probability"] == pytest.approx(np.mean(repeated < 1.0), abs=1e-9)
    assert weighed["cvar"] <= weighed["mean"] + 1e-9


def test_nothing_weighed_is_no_distribution():
    with pytest.raises(ValueError, match="nothing is weighed"):
        distribution(RETURNS, np.zeros(4))


def test_signed_weights_never_make_a_falling_distribution():
    found = distribution(RETURNS, np.array([0.5, 0.8, -0.6, 0.3]))  # F after 1, 2, 3, 4: 0.8, 0.2, 0.7, 1
    assert found["quantiles"] == {"0.05": 1.0, "0.25": 1.0, "0.5": 1.0, "0.75": 1.0, "0.95": 4.0}


def test_doubly_robust_is_right_if_either_half_is():
    rng = np.random.default_rng(0)
    values = rng.normal(size=2_000) * 3.0  # V(s₀)
    returns = values + rng.normal(size=2_000)
    uneven = np.exp(values / 3.0)  # wrong weights: they prefer good starts
    truth = distribution(returns, np.ones(2_000), below=0.0)

    def furthest(found):
        return max(abs(found["quantiles"][p] - truth["quantiles"][p]) for p in truth["quantiles"])

    weighted_wrong = distribution(returns, uneven)
    model_right = distribution(*doubly_robust_atoms(returns, uneven, values))
    weights_right = distribution(*doubly_robust_atoms(returns, np.ones(2_000), values * 0.0 + 7.0))
    assert furthest(weighted_wrong) > 2.0
    assert furthest(model_right) < 0.5
    assert furthest(weights_right) < 1e-9
