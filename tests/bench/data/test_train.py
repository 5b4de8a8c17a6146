"""Training keeps what it reached: checkpoints that load, a curve, a state to go on from."""

import json
import sys

import numpy as np
import pytest

from ropeval.bench.data.train import read_curve, train
from ropeval.errors import UserError
from ropeval.policies import load_policy


def test_a_curve_cut_short_keeps_its_whole_lines(tmp_path):
    path = tmp_path / "curve.jsonl"
    assert read_curve(path) == []
    path.write_text('{"steps": 1}\n{"steps": 2}\n{"ste')
    assert read_curve(path) == [{"steps": 1}, {"steps": 2}]


def test_without_the_extra_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(UserError, match=r"stable_baselines3 is missing.*pip install 'ropeval\[train\]'"):
        train("Pendulum-v1", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_training_is_kept_and_continued(tmp_path):
    pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed (the `train` extra)")
    out = tmp_path / "trained"
    train("Pendulum-v1", out, steps=160, every=80, episodes=1, threads=1)
    assert [line["steps"] for line in read_curve(out / "curve.jsonl")] == [80, 160]
    before = (out / "Pendulum-v1_sac_160.npz").read_bytes()
    train("Pendulum-v1", out, steps=200, every=80, episodes=1, threads=1)
    curve = read_curve(out / "curve.jsonl")
    assert [line["steps"] for line in curve] == [80, 160, 200]
    assert curve[0]["length"] == 200
    assert -2000 < curve[0]["discounted"] < 0
    assert (out / "Pendulum-v1_sac_160.npz").read_bytes() == before
    runs = json.loads((out / "training.json").read_text())["runs"]
    assert [run["from_steps"] for run in runs] == [0, 160]  # the second one knew what the first had done
    with np.load(out / "state" / "memory.npz") as memory:
        assert int(memory["pos"]) == 200


def test_checkpoints_act_as_the_model_they_came_from(tmp_path):
    """float16 and this project's own network code against the trainer's float32 torch."""
    pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed (the `train` extra)")
    from stable_baselines3 import SAC

    out = train("Pendulum-v1", tmp_path / "trained", steps=150, every=150, episodes=1, threads=1)
    policy = load_policy(out / "Pendulum-v1_sac_150.npz", "mean")
    model = SAC.load(out / "state" / "model.zip", device="cpu")
    observations = np.random.default_rng(0).standard_normal((50, 3)).astype(np.float32)
    expected, _ = model.predict(observations, deterministic=True)
    np.testing.assert_allclose(policy.sample(observations, np.random.default_rng(0)), expected, atol=5e-3)
    assert policy.has_features
    assert policy.features(observations, expected).shape == (50, 256)
