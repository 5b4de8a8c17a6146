"""Layers out of named arrays."""

import numpy as np
import pytest

from ropeval.errors import UserError
from ropeval.policies.readers.layers import action_range, chain, check_finite, weights


def test_a_chain_is_in_order_of_its_numbers():
    arrays = {f"pi.{i}.{part}": np.full((1, 1), float(i)) for i in (10, 2, 0) for part in ("weight", "bias")}
    arrays["pi.x.weight"] = arrays["pix.4.weight"] = np.zeros((1, 1))
    found = chain(arrays, "pi", "file")
    assert [float(weight[0, 0]) for weight, _ in found] == [0.0, 2.0, 10.0]
    with pytest.raises(UserError, match=r"file: missing pi\.2\.bias"):
        chain({k: v for k, v in arrays.items() if k != "pi.2.bias"}, "pi", "file")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.arange(3), "holds int64, not floating-point weights"),
        (np.array([1e300]), "holds values too large for float32"),
    ],
)
def test_what_is_no_weight(array, message):
    with pytest.raises(UserError, match=f"file: w {message}"):
        weights({"w": array}, "w", "file")


def test_weights_are_finite():
    check_finite({"w": np.ones(2), "n": np.array([1])}, "file")
    with pytest.raises(UserError, match="file: w holds values that are not finite"):
        check_finite({"w": np.array([1.0, np.nan])}, "file")


def test_a_range_fits_the_network_and_has_an_inside():
    low, high = action_range(np.array([-1.0, 0.0]), np.array([1.0, 2.0]), 2, "file")
    assert low.dtype == np.float32
    assert high.tolist() == [1.0, 2.0]
    with pytest.raises(UserError, match="its bounds are of 2 numbers, but its network gives 3"):
        action_range(np.zeros(2), np.ones(2), 3, "file")
    with pytest.raises(UserError, match="is not below its highest"):
        action_range(np.array([0.0, 1.0]), np.array([1.0, 1.0]), 2, "file")
