"""`.npz` policies: what is read, and what is refused by name."""

from typing import Any

import numpy as np
import pytest

from ropeval.errors import UserError
from ropeval.policies import load_policy
from tests.policies.hostile import told
from tests.policies.samples import arrays, deep_ope, save


def test_published_policies_load(shared_policies):
    hopper = load_policy(shared_policies / "hopper_online_10.npz")
    cheetah = load_policy(f"{shared_policies / 'cheetah_model_sac_420000_steps.npz'}@mean")
    assert (hopper.observation_size, hopper.action_size, hopper.kind) == (11, 3, "stochastic")
    assert (cheetah.observation_size, cheetah.action_size, cheetah.kind) == (17, 6, "deterministic")
    assert "deterministic" in repr(cheetah)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.pop("fc1_b"), "missing fc1_b"),
        (lambda c: c.pop("fc0_w"), "unknown layout"),
        (lambda c: c.update(fc1_w=np.zeros((8, 9), np.float32)), "layer 1 has weight"),
        (lambda c: c.update(logstd_w=np.zeros((3, 8), np.float32)), "differ in shape"),
        (lambda c: c["mean_w"].__setitem__((0, 0), np.nan), "not finite"),
        (lambda c: c.update(mean_w=np.float32(3.0)), r"mean_w has shape \(\)"),  # found by the fuzzer
        (lambda c: c.update(mean_w=c["mean_w"].astype(int)), "not floating-point"),
        (lambda c: c.update(action_low=np.zeros(5, np.float32)), "action_low and action_high"),
        (lambda c: c.update(mode=np.array("wild")), "mode is 'wild'"),
    ],
)
def test_bad_policy_files_are_refused_by_name(tmp_path, change, message):
    content = arrays()
    change(content)
    path = save(tmp_path, content)
    with pytest.raises(UserError, match=message) as caught:
        load_policy(path)
    assert "policy" in str(caught.value)


NPZ: dict[str, tuple[dict[str, Any], str]] = {
    "a bias is missing": ({"fc1_b": None}, "missing fc1_b"),
    "no output layer": ({"mean_w": None}, "missing mean_w"),
    "no standard deviation": ({"logstd_w": None}, "missing logstd_w"),
    "weights the other way round": ({"fc0_w": np.ones((3, 8), np.float32)}, "layer 0 has weight (3, 8)"),
    "integer weights": ({"fc0_w": np.ones((8, 3), np.int64)}, "fc0_w holds int64, not floating-point weights"),
    "weights that are not finite": ({"fc0_b": np.full(8, np.inf, np.float32)}, "the training diverged?"),
    "one bound of two": ({"action_low": -np.ones(2, np.float32)}, "action_low and action_high must both be floats"),
    "bounds the other way round": (
        {"action_low": np.ones(2, np.float32), "action_high": -np.ones(2, np.float32)},
        "its lowest action [1. 1.] is not below its highest [-1. -1.] everywhere",
    ),
    "names of one's own": ({"fc0_w": None, "weights": np.ones(3)}, "unknown layout; expected fc0_w… (deep_ope)"),
    "the log": ({"fc0_w": None, "observations": np.ones((9, 3)), "rewards": np.ones(9)}, "this is a log"),
    "an object array": ({"fc0_w": np.array([None, 1])}, "expected plain numbers (nothing is unpickled)"),
    "a mode that is none": ({"mode": np.array("greedy")}, "its field mode is 'greedy'"),
}


@pytest.mark.parametrize("mistake", NPZ)
def test_npz(mistake, tmp_path):
    changes, match = NPZ[mistake]
    names = {"weight": "w", "bias": "b", "last_fc": "mean", "last_fc_log_std": "logstd"}
    content, _ = deep_ope()
    arrays = {
        "_".join(names.get(part, part) for part in name.split("/")): value
        for name, value in content.items()
        if isinstance(value, np.ndarray)
    }
    np.savez(tmp_path / "policy.npz", **{k: v for k, v in {**arrays, **changes}.items() if v is not None})
    assert match in told(tmp_path / "policy.npz")


@pytest.fixture
def chooser(tmp_path):
    layers = {"fc0_w": [[1.0, 0.0], [0.0, -1.0]], "fc0_b": [0.0, 0.0], "logits_w": [[1.0, 0.0], [0.0, 2.0]]}
    arrays = {name: np.array(value, np.float32) for name, value in layers.items()}
    np.savez(tmp_path / "p.npz", logits_b=np.array([0.0, 0.5], np.float32), **arrays)
    return tmp_path / "p.npz"


def test_logits_after_a_relu(chooser):
    """At (2, 3) the hidden layer is (2, 0), so the logits are 2 and 0.5."""
    policy, seen = load_policy(chooser), np.array([[2.0, 3.0]], np.float32)
    chances = np.exp([policy.log_prob(seen, np.array([action]))[0] for action in (0, 1)])
    np.testing.assert_allclose(chances, np.exp([2.0, 0.5]) / np.exp([2.0, 0.5]).sum(), rtol=1e-6)
    assert load_policy(chooser, "mean").sample(seen, np.random.default_rng(0)).tolist() == [0]


def test_an_offset_has_no_meaning_there(chooser):
    with pytest.raises(UserError, match=r"p.npz: it chooses among actions, so that @offset means nothing"):
        load_policy(chooser, "offset")
