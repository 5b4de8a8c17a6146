"""Doubts about the fit: a case where each fires, and one where it does not."""

from dataclasses import replace

import numpy as np
import pytest

from ropeval.data import Dataset, make_problem
from ropeval.estimators.estimator import EffectiveSize
from ropeval.evaluation.diagnosis import about_fit
from ropeval.evaluation.earned import earned_by
from ropeval.learning.engine import Run, Trained, member_keys
from ropeval.learning.resample import Resamples
from tests.evaluation.diagnosis.evidences import GAMMA, MEMBERS, Residuals, with_members
from tests.problems import Chain

HAZARD = 0.1


def test_divergence(calm):
    found = about_fit.divergence(replace(calm, diverged=np.array([True, False])))
    assert "1 of 2 members" in found.message
    assert found.severity == "severe"
    whole = about_fit.divergence(replace(calm, diverged=np.array([True, True]), value=None))
    assert "there is no estimate" in whole.message
    some = replace(calm.estimated, replicates=np.array([1.0, np.nan, 1.0, 1.0] * 10))
    assert "10 of 40 resampled logs" in about_fit.divergence(replace(calm, estimated=some)).message
    fine = replace(calm.estimated, replicates=np.ones(40))
    assert about_fit.divergence(replace(calm, estimated=fine)) is None
    assert about_fit.divergence(calm) is None
    weightless = replace(calm.estimated, effective=EffectiveSize(0.0, False))  # said by effective_sample_size
    assert about_fit.divergence(replace(calm, diverged=np.array([True, True]), estimated=weightless)) is None


def test_out_of_bounds(calm):
    """Rewards from −0.1 to 1, a horizon of 10, and episodes that end."""
    assert about_fit.out_of_bounds(with_members(calm, 9.9, -0.9)) is None
    some = about_fit.out_of_bounds(with_members(calm, 0.2, 0.5, 17.1))
    assert some.numbers == pytest.approx({"low": -1.0, "high": 10.0, "outside": 1, "members": 3}, rel=1e-5)
    assert some.message.startswith("1 of 3 members (17.1) lie outside [-1, 10]")
    assert some.severity == "warning"
    most = about_fit.out_of_bounds(with_members(calm, 0.2, -30.0, 17.1))
    assert most.severity == "severe"
    every = about_fit.out_of_bounds(with_members(calm, 14.0, 16.0))
    assert every.message.startswith("the estimate, 15, lies outside")
    np.testing.assert_array_equal(with_members(calm, 0.2, 17.1, np.nan).used, [True, False, True])
    np.testing.assert_array_equal(with_members(calm, 14.0, 16.0).used, [True, True])


def trained(curve):
    curve = np.repeat(np.asarray(curve, np.float32)[:, None], MEMBERS, axis=1)
    return {"fqe": Trained("fqe", None, np.arange(len(curve)), {"estimate": curve}, np.full(MEMBERS, -1))}


def test_not_converged(calm):
    rising, settled = np.linspace(0, 1, 40), np.concatenate([np.linspace(0, 1, 20), np.ones(20)])
    found = about_fit.not_converged(replace(calm, trained=trained(rising)))
    assert found.numbers["before"] < found.numbers["after"]
    assert about_fit.not_converged(replace(calm, trained=trained(settled))) is None


def test_bellman_residual(calm):
    def ask(**how):
        q = Residuals(calm, **how)
        return about_fit.bellman_residual(replace(calm, estimated=replace(calm.estimated, q=q)))

    assert ask(noise=(0.1, 0.1)) is None
    off = ask(unseen=0.05, noise=(0.1, 0.1))
    _, weight = about_fit.discounted_rows(calm.problem.dataset.starts, GAMMA)
    here = weight * (1 - np.asarray(calm.problem.log.discount))
    assert off.numbers["worth"] == pytest.approx(0.05 * weight.sum() / here.sum(), abs=0.1)  # over an episode
    assert "q is too low by" in off.message
    by_heart = ask(noise=(0.01, 0.03))
    assert "by heart" in by_heart.message
    q = Residuals(calm, unseen=1.0)
    everything = replace(calm, run=Run(member_keys(0, MEMBERS)), estimated=replace(calm.estimated, q=q))
    assert about_fit.bellman_residual(everything) is None  # nothing was held out


def hazard_log(episodes, longest=1000, seed=0):
    """Every step may be the last, with a probability of a tenth, and then earns 1: q is h/(1 − γ(1−h)) everywhere.

    Episodes of very different lengths; those that last too long are cut off.
    """
    rng = np.random.default_rng(seed)
    lengths = rng.geometric(HAZARD, episodes)
    ended = lengths <= longest
    ends = np.cumsum(np.minimum(lengths, longest)) - 1
    size = int(ends[-1]) + 1
    done, cut = np.zeros(size, bool), np.zeros(size, bool)
    done[ends], cut[ends] = ended, ~ended
    states = rng.standard_normal((size + 1, 1))
    return Dataset.from_columns(
        {
            "observations": states[:-1], "next_observations": states[1:], "actions": rng.integers(2, size=size),
            "rewards": done.astype(float), "terminations": done, "truncations": cut,
        }
    )  # fmt: skip


class ConstantQ:
    """Of every member the same number everywhere."""

    def __init__(self, problem, value):
        self.problem, self.value = problem, value

    def backup(self, rows):
        held = self.problem.transitions.block(rows)
        reward, discount = held.reward.astype(np.float64), held.discount.astype(np.float64)
        return np.full((MEMBERS, len(rows)), self.value), np.tile(reward + discount * self.value, (MEMBERS, 1))


def residual_of(calm, log, off):
    """The finding for an exact q and a known error of it, and its numbers where it is silent, too."""
    problem = make_problem(log, Chain.policy(0.5), GAMMA, draws=1)
    value = HAZARD / (1 - GAMMA * (1 - HAZARD)) + off
    run = Run(member_keys(0, MEMBERS), resamples=Resamples(0, log.num_episodes))
    estimated = replace(calm.estimated, q=ConstantQ(problem, value))
    return about_fit.bellman_residual(replace(calm, problem=problem, value=value, run=run, estimated=estimated))


@pytest.mark.parametrize(("episodes", "longest"), [(30, 1000), (300, 1000), (3000, 1000), (300, 8)])
def test_an_exact_q_has_no_residual_however_long_the_episodes_are(calm, episodes, longest):
    assert residual_of(calm, hazard_log(episodes, longest), 0.0) is None


@pytest.mark.parametrize("longest", [1000, 8])
@pytest.mark.parametrize("off", [-0.25, 0.25])
def test_the_residual_is_what_q_is_off_by(calm, off, longest):
    found = residual_of(calm, hazard_log(3000, longest), off)
    assert found.numbers["worth"] == pytest.approx(-off, abs=4 * found.numbers["error"])
    assert found.numbers["error"] < 0.02
    assert f"too {'high' if off > 0 else 'low'} by" in found.message


def test_steps_of_a_long_log_are_taken_as_they_weigh(monkeypatch):
    starts = np.array([0, 100, 400, 1000])
    everything, weight = about_fit.discounted_rows(starts, 0.99)
    monkeypatch.setattr(about_fit, "RESIDUAL_ROWS", 500)
    some, alike = about_fit.discounted_rows(starts, 0.99)
    values = np.random.default_rng(0).uniform(size=1000)
    assert len(some) == 500
    assert np.average(values[some], weights=alike) == pytest.approx(np.average(values, weights=weight), abs=0.02)
    assert len(everything) == 1000


@pytest.mark.parametrize("gamma", [0.0, 0.5, 0.97, 1.0])
def test_steps_of_a_long_log_are_found_without_all_weights(gamma, monkeypatch):
    """Those that the sum of all weights gives; episodes may have lost their steps."""
    lengths = np.random.default_rng(1).integers(0, 60, 40)
    lengths[[0, 7, 8, 39]] = 0
    starts = np.append(0, np.cumsum(lengths))
    _, weight = about_fit.discounted_rows(starts, gamma)
    monkeypatch.setattr(about_fit, "RESIDUAL_ROWS", 101)
    upto = np.cumsum(weight)
    by_sum = np.searchsorted(upto, (np.arange(101) + 0.5) / 101 * upto[-1])
    found, _ = about_fit.discounted_rows(starts, gamma)
    np.testing.assert_allclose(upto[found], upto[by_sum], rtol=1e-9)  # the same, or of a weight that is nothing
    assert (weight[found] > 0.0).all()


def test_replays_that_are_far_off(calm):
    """At 10 or 50 steps, by a quarter of what they earned and of how much they differ; single steps tell little."""
    told = {"steps": 10, "predicted": 70.0, "logged": 100.0, "logged_std": 20.0, "error": 31.0, "held_out": True}

    def found(**other):
        return about_fit.replay(replace(calm, estimated=replace(calm.estimated, extras={"replays": [told | other]})))

    assert "that its members had not seen, replayed in it, earn 70 in their first 10 steps" in found().message
    assert found().numbers["error"] == 31.0
    assert "had not seen" not in found(held_out=False).message
    assert found(predicted=80.0) is None
    assert found(steps=1) is None
    assert found(logged_std=200.0) is None
    assert found(steady=True) is not None
    assert found(steady=False) is None
    assert about_fit.replay(calm) is None
    scale = earned_by(calm.problem.log).scale  # nothing was earned yet, and next to nothing is predicted
    assert found(logged=0.0, logged_std=0.0, predicted=0.01 * scale) is None
    assert found(logged=0.0, logged_std=0.0, predicted=0.02 * scale) is not None
