"""deep_ope pickles: of every protocol, and what is wrong with others."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from ropeval.policies import load_policy
from tests.policies.hostile import told
from tests.policies.samples import deep_ope

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize(("nonlinearity", "output"), [("relu", "tanh_gaussian"), ("tanh", "gaussian")])
def test_deep_ope_pickles_of_every_protocol(tmp_path, protocol, nonlinearity, output):
    content, data = deep_ope(nonlinearity, output, protocol)
    path = tmp_path / "policy.pkl"
    path.write_bytes(data)
    act = np.tanh if nonlinearity == "tanh" else lambda x: np.maximum(x, 0)
    observations = RNG.standard_normal((30, 3)).astype(np.float32)
    h = observations
    for name in ("fc0", "fc1"):
        h = act(h @ content[f"{name}/weight"].T + content[f"{name}/bias"])
    mean = h @ content["last_fc/weight"].T + content["last_fc/bias"]
    squash = np.tanh if output == "tanh_gaussian" else lambda x: x
    np.testing.assert_allclose(
        load_policy(f"{path}@mean").sample(observations, RNG), squash(mean), rtol=1e-5, atol=1e-6
    )
    if output == "gaussian":
        policy = load_policy(path)
        std = np.exp(h @ content["last_fc_log_std/weight"].T + content["last_fc_log_std/bias"])
        actions = RNG.standard_normal((30, 2))
        np.testing.assert_allclose(
            policy.log_prob(observations, actions), stats.norm.logpdf(actions, mean, std).sum(axis=1), rtol=1e-4
        )
        assert policy.box is None


def _pickled(tmp_path, value, name="policy.pkl"):
    path = tmp_path / name
    path.write_bytes(value if isinstance(value, bytes) else pickle.dumps(value))
    return path


DEEP_OPE = {
    "a weight is missing": ({"fc1/bias": None}, "missing fc1/bias"),
    "no output layer": ({"last_fc/weight": None}, "missing last_fc/weight"),
    "weights the other way round": ({"fc0/weight": np.ones((3, 8), np.float32)}, "layer 0 has weight"),
    "integer weights": ({"fc0/weight": np.ones((8, 3), np.int64)}, "not floating-point"),
    "text instead of weights": ({"fc0/weight": "abc"}, "missing fc0/weight"),
    "weights that are not finite": ({"fc0/bias": np.full(8, np.nan, np.float32)}, "training diverged"),
    "an unknown activation": ({"nonlinearity": "swish"}, "nonlinearity is text 'swish'; known are relu, tanh"),
    "an unknown output": ({"output_distribution": "beta"}, "known are tanh_gaussian, gaussian"),
    "lists instead of arrays": ({"fc0/weight": [[1.0, 2.0]]}, "missing fc0/weight"),
    "an object array": ({"fc0/weight": np.array([None, 1])}, "type 'O8'"),
}


@pytest.mark.parametrize("mistake", DEEP_OPE)
def test_deep_ope(mistake, tmp_path):
    changes, match = DEEP_OPE[mistake]
    assert match in told(_pickled(tmp_path, deep_ope(**changes)[1]))


def test_pickles_of_something_else(tmp_path, logs):
    assert "expected a dict of weights" in told(_pickled(tmp_path, [1, 2]))
    assert "unknown layout; expected fc0/weight" in told(_pickled(tmp_path, {"weights": 1}))
    assert "asks for fractions.Fraction" in told(_pickled(tmp_path, {"x": Fraction(1, 2)}))
    assert "size 3, but the log's have size 6" in told(_pickled(tmp_path, deep_ope()[1]), logs["wide"])
    assert "its actions are continuous" in told(_pickled(tmp_path, deep_ope()[1]), logs["discrete"])
