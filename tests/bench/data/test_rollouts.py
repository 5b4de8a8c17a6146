"""Episodes of one policy: the same as a task's collection plays, and nothing left behind."""

import tempfile
from pathlib import Path

import numpy as np
import pytest

from ropeval.bench.data.policy_files import LocatedPolicy
from ropeval.bench.data.rollouts import play_log, play_value

pytestmark = pytest.mark.process

ENVIRONMENT = "toy_tasks:toy/Countdown-v0"
QUARTER = LocatedPolicy("toy_tasks:quarter", None)


@pytest.fixture(autouse=True)
def toys(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    assert not list(tmp_path.iterdir())


def test_the_value_of_a_policy():
    """From `first` steps remaining: Σ γ^t (first − t + 0.25) over min(first, 8) steps, first uniform on 1 … 12."""
    truth = play_value(ENVIRONMENT, QUARTER, 0.5, 200, processes=2)
    rewards = [first - np.arange(min(first, 8)) + 0.25 for first in range(1, 13)]
    expected = np.mean([r @ 0.5 ** np.arange(len(r)) for r in rewards])
    assert truth.episodes == 200
    assert abs(truth.discounted.value - expected) < 4 * truth.discounted.standard_error
    assert play_value(ENVIRONMENT, QUARTER, 0.5, 200, processes=1) == truth
    assert play_value(ENVIRONMENT, QUARTER, 0.5, 200, seed=1) != truth


def test_a_log_holds_the_whole_episodes_that_fit():
    log = play_log(ENVIRONMENT, QUARTER, 100)
    ends = log["terminations"] | log["truncations"]
    assert 92 < len(log["rewards"]) <= 100
    assert ends[-1]
    np.testing.assert_array_equal(log["actions"], 0.25)
    np.testing.assert_allclose(log["rewards"], log["observations"][:, 0] + 0.25)
