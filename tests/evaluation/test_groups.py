"""Values by group of the initial state, against the same question asked of each group's log alone."""

import numpy as np
import pytest

import ropeval
from ropeval.data import Dataset
from ropeval.evaluation.groups import make_groups
from ropeval.evaluation.result import Estimate

EPISODES = 400
RIGHT = np.array([0, 1])


@pytest.fixture(scope="module")
def log():
    """A bandit: in ward 1 action 1 earns 2, in ward 0 it earns 0, action 0 earns 1 in both."""
    rng = np.random.default_rng(0)
    ward, age, action = rng.integers(2, size=EPISODES), rng.uniform(20, 80, EPISODES), rng.integers(2, size=EPISODES)
    reward = np.where(action == 1, 2.0 * ward, 1.0)
    rows = [
        {"obs": [float(w), float(a)], "action": int(c), "pscore": 0.5, "reward": float(r)}
        for w, a, c, r in zip(ward, age, action, reward, strict=True)
    ]
    return ropeval.load_dataset(rows, {"terminations": "always"}).named(["ward", "age"])


def treat(observations):
    return np.ones(len(observations), int)


@pytest.mark.parametrize("method", ["wis", "pdis", "is", "lspe"])
def test_every_ward_has_its_own_value(log, method):
    found = ropeval.evaluate(log, treat, method, gamma=0, by="ward")
    nothing, twice = found.groups
    assert (nothing.name, twice.name) == ("ward = 0", "ward = 1")
    assert nothing.episodes + twice.episodes == EPISODES
    noise = 0.25 if method in ("is", "pdis") else 1e-6  # weights that do not add up to one
    assert nothing.value == pytest.approx(0.0, abs=1e-6)
    assert twice.value == pytest.approx(2.0, abs=noise)
    assert twice.interval.low <= twice.value <= twice.interval.high
    assert nothing.versus_log.better < 0.01
    assert twice.versus_log.better > 0.99
    assert Estimate.from_json(found.to_json()).groups == found.groups


def test_a_group_is_answered_as_its_own_log_would_be(log):
    (_, held), *_ = make_groups(log, "age")
    rows = np.flatnonzero(held)  # single steps: rows are episodes
    columns = {
        name: getattr(log, name)[rows] for name in ("actions", "rewards", "terminations", "truncations", "log_probs")
    }
    columns["observations"] = columns["next_observations"] = log.observations[rows]
    alone = ropeval.evaluate(Dataset.from_columns(columns), treat, "wis", gamma=0)
    assert ropeval.evaluate(log, treat, "wis", gamma=0, by="age").groups[0].value == pytest.approx(alone.value)


def test_quartiles_hold_every_episode_once(log):
    groups = make_groups(log, "age")
    assert len(groups) == 4
    assert (np.sum([g.held for g in groups], axis=0) == 1).all()
    assert all(90 <= g.held.sum() <= 110 for g in groups)
    assert groups[0].name.startswith("age < ")
    assert " ≤ age < " in groups[1].name


def test_what_cannot_be_grouped_is_refused(log):
    with pytest.raises(ropeval.UserError, match="unknown column of the observations 'weight'; choose from: age, ward"):
        ropeval.evaluate(log, treat, "wis", gamma=0, by="weight")
    with pytest.raises(ropeval.UserError, match="mean-reward cannot tell groups apart"):
        ropeval.evaluate(log, treat, "mean-reward", gamma=0, by="ward")
    same = log.observations.copy()
    same[:, 0] = 3.0
    columns = {"observations": same, "next_observations": same, "actions": log.actions, "rewards": log.rewards,
               "terminations": log.terminations, "truncations": log.truncations}  # fmt: skip
    with pytest.raises(ropeval.UserError, match=r"it is 3 in the initial state of every episode"):
        make_groups(Dataset.from_columns(columns), "observations[0]")
