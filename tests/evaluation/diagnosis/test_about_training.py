"""Training that was too short: what is said, against moving averages that are computed, and against trained ones."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest

import ropeval
from ropeval.data import Dataset
from ropeval.estimators.estimator import Backups
from ropeval.estimators.world import LEAST_STEPS
from ropeval.evaluation.diagnosis import about_fit
from ropeval.evaluation.diagnosis.about_training import (
    LEFT,
    backups_for,
    shortness,
    steps_that_count,
    too_short,
    unseen,
)
from ropeval.evaluation.verdict.rule import BY_REASON
from ropeval.learning.engine import Trained
from tests.problems import Chain, LinearQuadratic
from tests.tiny import tiny_log

TAU = 0.01


def averaged(steps: int, gamma: float, states: int, lasting: bool) -> float:
    """q̄ of the first of `states` in a row, a reward of 1 in each, after so many steps whose q is exactly their target.

    The last one ends, or leads to itself for ever.
    """
    q = np.zeros(states)
    for _ in range(steps):
        q += TAU * (1.0 + gamma * np.append(q[1:], q[-1] if lasting else 0.0) - q)
    return float(q[0])


@pytest.mark.parametrize("steps", [50, 500, 2_000])
@pytest.mark.parametrize(("gamma", "states"), [(0.9, 5), (0.9, 40), (0.99, 20), (1.0, 10), (0.0, 1)])
def test_what_is_unseen_is_what_a_moving_average_lacks(steps, gamma, states):
    whole = sum(gamma**t for t in range(states))
    lacks = 1.0 - averaged(steps, gamma, states, lasting=False) / whole
    assert unseen(steps * TAU, gamma, states) == pytest.approx(lacks, abs=0.01)
    if 0.0 < gamma < 1.0:
        lacks = 1.0 - averaged(steps, gamma, 1, lasting=True) * (1.0 - gamma)
        assert unseen(steps * TAU, gamma, inf) == pytest.approx(lacks, abs=0.01)


@pytest.mark.parametrize(("gamma", "steps"), [(0.99, inf), (0.99, 30.0), (1.0, 200.0), (0.0, 1.0)])
def test_as_many_steps_as_are_advised_are_enough(gamma, steps):
    needed = backups_for(0.05, gamma, steps)
    assert unseen(needed, gamma, steps) == pytest.approx(0.05, abs=1e-3)


def test_episodes_count_as_long_as_they_last_where_they_end():
    """Most of Chain's end by themselves; those of the linear problem are cut off after ten steps, and go on."""
    ended, cut = Chain().log(200, right=0.7), LinearQuadratic().log(50)
    longest = int(np.diff(ended.starts).max())
    assert steps_that_count(ended, None) == longest
    assert steps_that_count(ended, 3) == 3
    assert steps_that_count(ended, 10 * longest) == longest
    assert steps_that_count(cut, None) == inf
    assert steps_that_count(cut, 7) == 7


def bootstrapped(calm, training, **how):
    return replace(calm, estimated=replace(calm.estimated, backups=Backups(training, 0.02, **how)))


def test_few_backups_are_severe_and_some_more_a_warning(calm):
    """γ = 0.9 looks ten steps ahead, and episodes end after thirty: 500 steps are ten backups."""
    far, short, enough = (too_short(bootstrapped(calm, steps)) for steps in (50, 800, 3_000))
    assert (far.severity, short.severity, enough) == ("severe", "warning", None)
    assert "see about 1 step ahead; about 90% of what counts (by γ = 0.9, 10 steps on average)" in far.message
    within = replace(calm.problem, log=replace(calm.problem.log, horizon=5))
    assert "of what counts (5 steps)" in too_short(replace(bootstrapped(calm, 50), problem=within)).message
    assert "at least 1,300 --steps" in far.advice
    assert far.numbers["backups"] == 1.0
    assert too_short(calm) is None  # nobody bootstraps
    assert too_short(replace(bootstrapped(calm, 50), value=None)) is None


def test_who_looks_over_several_steps_at_once_needs_fewer(calm):
    assert too_short(bootstrapped(calm, 300)).severity == "severe"
    assert too_short(bootstrapped(calm, 300, ahead=4.0)) is None


def test_importance_weights_may_mend_it(calm):
    found = too_short(bootstrapped(calm, 50, mended=True))
    assert found.severity == "warning"
    assert "weights must bring the rest" in found.message


def test_it_is_said_once(calm):
    """A curve that still rises is the same news; and nobody is told to train longer and shorter at once."""
    rising = np.repeat(np.linspace(0, 1, 40, dtype=np.float32)[:, None], 2, axis=1)
    curve = {"fqe": Trained("fqe", None, np.arange(40), {"estimate": rising}, np.full(2, -1))}
    assert about_fit.not_converged(replace(bootstrapped(calm, 3_000), trained=curve)) is not None
    assert about_fit.not_converged(replace(bootstrapped(calm, 50), trained=curve)) is None


def simulating(calm, unexplained, steps):
    told = {"unexplained": unexplained, "steps": steps}
    return replace(calm, estimated=replace(calm.estimated, extras=told))


def test_a_simulator_may_take_for_chance_only_what_it_had_time_to_learn(calm):
    assert too_short(simulating(calm, 0.9, 10)).severity == "severe"
    assert too_short(simulating(calm, 0.2, 10)).severity == "warning"
    assert too_short(simulating(calm, 0.02, 10)) is None  # whatever it did, it has learned the task
    assert too_short(simulating(calm, 0.9, 500)).severity == "warning"
    assert too_short(simulating(calm, 1.0, LEAST_STEPS)) is None  # what it takes by itself: all may be chance
    assert BY_REASON["short"].harmless >= LEFT / LEAST_STEPS


@pytest.mark.training
def test_a_trained_q_lacks_what_is_said():
    """A reward of 2 for ever is worth 20. 250 steps with τ = 0.02 are 5 backups of 10, and q learns its targets fast.

    The members are asked: their mean is cut to what the rewards allow, which here is the truth itself.
    """
    log = tiny_log("continuous")
    log = Dataset(**(log.__dict__ | {"rewards": np.full(len(log), 2.0, np.float32)}))
    chosen = {"width": 32, "learning_rate": 3e-3, "batch": 64, "tau": 0.02}

    def ask(steps):
        settings = {"fqe": chosen | {"steps": steps}}
        return ropeval.evaluate(log, LinearQuadratic().policy(0.5), "fqe", gamma=0.9, members=2, settings=settings)

    brief, long = ask(250), ask(2_000)
    assert 1.0 - np.mean(brief.members) / 20.0 == pytest.approx(brief.signs["short"], abs=0.08)
    assert brief.signs["short"] == pytest.approx(np.exp(-0.5))
    assert [f.severity for f in brief.diagnosis if f.code == "too-short"] == ["severe"]
    assert brief.verdict.word == "guess"
    assert "training was too short" in brief.verdict.reason
    assert np.mean(long.members) == pytest.approx(20.0, rel=0.05)
    assert "too-short" not in {f.code for f in long.diagnosis}


def walk(noise: float) -> Dataset:
    """s' = 0.9·s + a/2 + noise: with much noise next to nothing of a change can be foreseen, nor of a reward."""
    rng = np.random.default_rng(0)
    episodes, length = 60, 20
    state, steps = rng.standard_normal((episodes, 1)), []
    for _ in range(length):
        action = rng.uniform(-1, 1, (episodes, 1))
        following = (0.9 * state + 0.5 * action) if not noise else state + noise * rng.standard_normal((episodes, 1))
        reward = state[:, 0] if not noise else rng.standard_normal(episodes)
        steps.append((state, action, following, reward))
        state = following
    names = ("observations", "actions", "next_observations", "rewards")
    columns = {
        name: np.concatenate(list(np.stack(each, 1)))
        for name, each in zip(names, zip(*steps, strict=True), strict=True)
    }
    last = np.tile(np.arange(length) == length - 1, episodes)
    return Dataset.from_columns({**columns, "truncations": last, "terminations": np.zeros_like(last)})


@pytest.mark.parametrize(("noise", "steps", "fires"), [(0.0, 8, True), (0.0, 1_000, False), (1.0, 1_000, False)])
@pytest.mark.training
def test_a_simulator_that_was_hardly_trained_says_so_and_a_random_walk_does_not(noise, steps, fires):
    small = {"steps": steps, "width": 32, "depth": 1, "batch": 64, "rollouts": 16}
    policy = ropeval.CallablePolicy(lambda s: -0.5 * np.tanh(s), deterministic=True)
    found = ropeval.evaluate(walk(noise), policy, "world", gamma=0.9, members=2, settings={"world": small})
    assert ("too-short" in {f.code for f in found.diagnosis}) is fires
    assert (found.extras["unexplained"] > 0.9) is (noise > 0.0 or fires)
    assert not fires or found.verdict.word == "guess"


def test_what_has_no_training_has_nothing_short(calm):
    assert shortness(calm) is None
