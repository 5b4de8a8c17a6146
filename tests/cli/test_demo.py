"""The embedded demo: what is in the package, and the verb itself in a small form."""

import json
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from ropeval.cli import demo
from ropeval.cli.main import main
from ropeval.data import load_dataset
from ropeval.policies import load_policy

FOLDER = Path(str(resources.files("ropeval.demo")))


def test_the_demo_fits_into_three_megabytes():
    size = sum(p.stat().st_size for p in FOLDER.rglob("*") if p.is_file() and "__pycache__" not in str(p))
    assert size < 3e6


def test_log_policies_and_truth_fit_together():
    truth = json.loads((FOLDER / "truth.json").read_text())
    log = load_dataset(FOLDER / "log.npz")
    assert len(truth["policies"]) >= 3
    assert not log.terminations.any()
    for name, about in truth["policies"].items():
        load_policy(FOLDER / "policies" / f"{name}.npz").check(log.space)
        assert about["standard_error"] < 0.01 * abs(about["value"])


def test_the_true_values_follow_from_the_simulator():
    """A second opinion: a plain loop over Gymnasium's own environment."""
    gymnasium = pytest.importorskip("gymnasium")
    truth = json.loads((FOLDER / "truth.json").read_text())["policies"]
    for name in ("swingup", "lazy"):
        policy, rng = load_policy(FOLDER / "policies" / f"{name}.npz"), np.random.default_rng(0)
        returns = []
        for seed in range(12):
            environment = gymnasium.make("Pendulum-v1", max_episode_steps=600)
            state, _ = environment.reset(seed=seed)
            total, discount, done = 0.0, 1.0, False
            while not done:
                action = policy.sample(state[None].astype(np.float32), rng)[0]
                state, reward, _, done, _ = environment.step(action)
                total, discount = total + discount * float(reward), discount * 0.99
            returns.append(total)
        error = np.std(returns, ddof=1) / np.sqrt(len(returns))
        assert abs(np.mean(returns) - truth[name]["value"]) < 4 * error


@pytest.mark.training
def test_the_demo_runs(tmp_path, monkeypatch, capsys):
    small = {part: {"width": 8, "depth": 1, "steps": 40} for part in demo.SETTINGS}
    small["world"] |= {"rollouts": 16, "max_horizon": 50}
    monkeypatch.setattr(demo, "SETTINGS", small)
    arguments = ["demo", "--out", str(tmp_path / "out"), "--members", "2"]
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert not caught.value.code
    printed = capsys.readouterr().out
    for word in ("true", "value", "error", "interval", "best", "warnings", "swingup", "rope+fqe"):
        assert word in printed
    names = sorted(p.name for p in (tmp_path / "out").iterdir())
    assert names == ["curves.parquet", "curves.png", "report.html", "result.json", "run.json", "trust.json"]
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
