"""ONNX files answer as their makers do, and what is wrong with others.

`files/` was made by scripts/make_onnx_fixtures.py, which also asked d3rlpy and torch for the answers.
"""

import sys

import numpy as np
import pytest

from ropeval.data import Dataset, make_problem
from ropeval.errors import UserError
from ropeval.policies import load_policy
from tests.policies.hostile import FILES, told, written

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def expected_onnx():
    pytest.importorskip("onnxruntime", reason="the onnx extra is not installed")
    with np.load(FILES / "expected_onnx.npz") as file:
        return dict(file)


@pytest.mark.parametrize(
    ("file", "answer"), [("d3rlpy_td3", "td3"), ("d3rlpy_dqn", "dqn"), ("free_batch", "free_batch")]
)
def test_onnx_answers_as_its_maker(file, answer, expected_onnx):
    policy = load_policy(FILES / f"{file}.onnx")
    assert policy.kind == "deterministic"
    actions = policy.sample(expected_onnx["observations"], RNG)
    np.testing.assert_allclose(actions, expected_onnx[answer], rtol=1e-5, atol=1e-6)
    assert np.unique(actions, axis=0).shape[0] > 1
    assert policy.sha256 == load_policy(FILES / f"{file}.onnx").sha256


def test_onnx_as_stable_baselines_documents_it(expected_onnx):
    """Its graph also computes values and probabilities, which nobody asks for."""
    exported, zipped = load_policy(FILES / "ppo_documented.onnx"), load_policy(FILES / "ppo_discrete.zip@mean")
    observations = np.random.default_rng(0).standard_normal((50, zipped.observation_size)).astype(np.float32)
    actions = exported.sample(observations, RNG)
    assert len(set(actions.tolist())) > 1
    np.testing.assert_array_equal(actions, zipped.sample(observations, RNG))


def test_onnx_policies_become_problems(columns, expected_onnx):
    discrete = Dataset.from_columns(columns | {"actions": np.arange(12) % 4})
    problem = make_problem(discrete, load_policy(FILES / "d3rlpy_dqn.onnx"), 0.9)
    assert problem.transitions.rows.next_x.shape == (12, 1, 3 + 4)
    make_problem(Dataset.from_columns(columns), load_policy(FILES / "free_batch.onnx"), 0.9)


def test_onnx_without_onnxruntime_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(UserError, match=r"pip install 'ropeval\[onnx\]'"):
        load_policy(FILES / "free_batch.onnx")


def test_onnx(tmp_path, logs):
    pytest.importorskip("onnxruntime", reason="the onnx extra is not installed")
    assert "export the graph with an ArgMax" in told(FILES / "free_batch.onnx", logs["discrete"])
    assert "its actions are discrete" in told(FILES / "d3rlpy_dqn.onnx", logs["continuous"])
    assert "size 3, but the log's have size 6" in told(FILES / "free_batch.onnx", logs["wide"])
    assert "2 numbers per action, but the log has 1" in told(FILES / "free_batch.onnx", logs["one_action"])
    assert "no ONNX model" in told(written(tmp_path, (FILES / "sac.zip").read_bytes()[10:], "policy.onnx"))
    whole = (FILES / "free_batch.onnx").read_bytes()
    assert "cut short or damaged" in told(written(tmp_path, whole[:300], "policy.onnx"))
    noisy = whole.replace(b"Sigmoid", b"Dropper")
    assert "uses the operator Dropper" in told(written(tmp_path, noisy, "policy.onnx"))
