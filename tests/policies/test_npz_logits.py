"""`.npz` policies that choose among actions."""

import numpy as np
import pytest

from ropeval.errors import UserError
from ropeval.policies import load_policy


@pytest.fixture
def path(tmp_path):
    layers = {"fc0_w": [[1.0, 0.0], [0.0, -1.0]], "fc0_b": [0.0, 0.0], "logits_w": [[1.0, 0.0], [0.0, 2.0]]}
    arrays = {name: np.array(value, np.float32) for name, value in layers.items()}
    np.savez(tmp_path / "p.npz", logits_b=np.array([0.0, 0.5], np.float32), **arrays)
    return tmp_path / "p.npz"


def test_logits_after_a_relu(path):
    """At (2, 3) the hidden layer is (2, 0), so the logits are 2 and 0.5."""
    policy, seen = load_policy(path), np.array([[2.0, 3.0]], np.float32)
    chances = np.exp([policy.log_prob(seen, np.array([action]))[0] for action in (0, 1)])
    np.testing.assert_allclose(chances, np.exp([2.0, 0.5]) / np.exp([2.0, 0.5]).sum(), rtol=1e-6)
    assert load_policy(path, "mean").sample(seen, np.random.default_rng(0)).tolist() == [0]


def test_an_offset_has_no_meaning_there(path):
    with pytest.raises(UserError, match=r"p.npz: it chooses among actions; its modes are stochastic and mean"):
        load_policy(path, "offset")
