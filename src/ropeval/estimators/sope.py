"""SOPE: the spectrum between weights of whole trajectories and weights of states.

    ρ̂ = Σ_{t<n} γ^t E_e[ ρ_{0:t} r_t ]  +  γ^n/(1−γ) · E_D[ w(s_k)·ρ_{k:k+n} r_{k+n} ],     ρ_{k:t} = Π_{k≤i≤t} π_e/π_b

w(s) = d_πe(s)/d_D(s) says how much more of its discounted time π_e spends in a state than the log does. It stands for
all that came before; only the last n+1 steps are weighed one by one. With n = 0 states alone are weighed; with n as
long as the episodes this is `pdis`. Both expectations are normalised by their weights, as `wpdis` is.

w is learned backwards in time, as q is forwards: a state is entered as often as the ones before it lead there,

    minimise  E_D[ ( y_t − w(s_t) )² ],     y_0 = (1−γ)·T̄,     y_{t+1} = γ·π_e(a_t|s_t)/π_b(a_t|s_t)·w̄(s_t)

with T̄ the mean length of an episode. This is FQE of another reward on the log turned round, and takes its network.
Where an episode is cut off, what π_e would have gone on to see is not in the log, nor in w.
"""

from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int
from pydantic import NonNegativeInt, PositiveFloat

from ropeval.arrays import Booleans, Floats, Integers
from ropeval.data import Problem, Rows, Transitions
from ropeval.estimators.behaviour import Behaviour
from ropeval.estimators.doubly_robust import DoublyRobustConfig
from ropeval.estimators.estimator import EffectiveSize, Estimated, Estimator
from ropeval.estimators.fqe import backups_of, td_learner
from ropeval.estimators.importance import WPDIS, cut_off_note, weighted_per_decision
from ropeval.estimators.importance_weights import Counts, Episodes, Weights, make_weights, prepare
from ropeval.estimators.log_value import STATES_HELD
from ropeval.learning.engine import Hyper, Learner, Run, Trained, train
from ropeval.learning.learner import made_once
from ropeval.learning.networks import MLP
from ropeval.learning.optimise import huber

LARGEST_LOG = 80.0  # of a ratio that float32 can hold


class SOPEConfig(DoublyRobustConfig):
    """Settings of w, as those of q."""

    trajectory: NonNegativeInt = 5  # n
    largest: PositiveFloat = 100.0  # w that is learned: one wild ratio must not rule all states after it


# --- the ratio of states --------------------------------------------------------------------------------------


def score(w: MLP, x: Float[Array, "*batch S"]) -> Float[Array, "*batch"]:
    return w(x)[..., 0]


def visited(w: MLP, x: Float[Array, "*batch S"]) -> Float[Array, "*batch"]:
    """w(s) = log(1 + exp(score)), which is never negative."""
    return jax.nn.softplus(score(w, x))


@made_once
def make_learner(config: SOPEConfig, states: int) -> Learner:
    """`reward`: 1 where an episode begins; `own`: the ratio of the step before, times γ, and 0 there."""

    def loss(w: MLP, w_bar: MLP, batch: Rows, hyper: Hyper, key: Array) -> Array:
        before = visited(w_bar, batch.next_x)[:, 0]
        target = hyper["start"] * batch.reward + batch.own * before
        target = jnp.minimum(target, config.largest)
        return huber(target - visited(w, batch.x), config.huber_delta).mean()

    return td_learner(config, states, visited, loss)


def arrivals(problem: Problem, ratios: Float[Floats, "M N"]) -> Transitions:
    """Every logged state, with the one before it: the log turned round."""
    data, (mean, std) = problem.dataset, problem.log.normaliser
    states = jnp.asarray((data.observations - mean) / std)  # [N, S]
    first = Episodes(data.starts, problem.gamma).time == 0  # [N]
    before = np.where(first, np.arange(len(first)), np.arange(len(first)) - 1)
    rows = Rows(states, states[before][:, None], jnp.asarray(first, jnp.float32), jnp.zeros(len(first)))
    turned = Transitions(rows, states[:1][None], starts=jnp.asarray(data.starts))
    return turned.with_own(problem.gamma * np.where(first[None], 0.0, ratios[:, before]))


def fit_states(
    problem: Problem, config: SOPEConfig, run: Run, ratios: Float[Floats, "M N"]
) -> tuple[Float[Floats, "M N"], Trained]:
    """w of every logged state, as each member sees it."""
    data = arrivals(problem, np.broadcast_to(ratios, (run.members, ratios.shape[1])))
    episodes = Episodes(problem.dataset.starts, problem.gamma)
    start = (1.0 - problem.gamma) * run.mean_over_episodes(
        np.broadcast_to(episodes.lengths, (run.members, episodes.count)).astype(np.float64)
    )
    hyper = {
        "learning_rate": run.spread("learning_rate", config.learning_rate),
        "start": jnp.asarray(start, jnp.float32),
    }
    learner = make_learner(config, int(data.rows.x.shape[1]))
    trained = train(learner, data, hyper, config.steps_for(data.size, problem.gamma), run)
    curves = {name: points for name, points in trained.curves.items() if name != "estimate"}  # w is no value
    scores = np.asarray(data.values(score, trained.state.target, "x"), np.float64)
    return np.logaddexp(0.0, scores), replace(trained, curves=curves)


# --- the estimate ---------------------------------------------------------------------------------------------


def after(episodes: Episodes, steps: int) -> tuple[Int[Integers, " N"], Booleans]:
    """For every row the one so many steps later in its episode, and whether there is one; else its last row."""
    last = np.repeat(episodes.starts[1:] - 1, episodes.lengths)
    later = np.arange(len(last)) + steps
    return np.minimum(later, last), later <= last


class Weighed(NamedTuple):
    value: float
    size: float  # effective number of episodes behind its second term
    mean: float  # of ρ_{k:k+n} there: 1, if the probabilities are right


def spectrum(
    log: Floats, states: Floats, rewards: Floats, ends: Booleans, episodes: Episodes, n: int, counts: Counts
) -> Weighed:
    """`log` [N]: log ρ_{0:t}; `states` [N]: w; `ends` [N]: whether the episode terminates with this step."""
    time = episodes.time
    early = weighted_per_decision(log, np.where(time < n, rewards, 0.0), episodes)(counts)
    later, there = after(episodes, n)
    earned = np.where(there, rewards[later], 0.0)  # an episode that has ended earns nothing more
    before = np.where(time > 0, log[np.maximum(0, np.arange(len(log)) - 1)], 0.0)  # log ρ_{0:k−1}
    held = np.repeat(counts, episodes.lengths) * (there | ends[later])  # a cut says nothing of what comes after it
    visits = held * states  # [N]
    weight = visits * np.exp(log[later] - before)
    mass = visits.sum() / max(held.sum(), 1) if ends.any() else 1.0  # all of π_e's time, where nothing ends
    total = weight.sum()
    if total == 0.0:  # no episode goes on so long, or the policy never does what was logged
        return Weighed(early, 0.0, 1.0)
    late = mass * float(weight @ earned) / total
    by_episode = episodes.summed(weight)
    size = float(total**2 / (by_episode**2).sum())
    return Weighed(early + episodes.gamma**n / (1.0 - episodes.gamma) * late, size, float(total / visits.sum()))


def estimate(problem: Problem, config: SOPEConfig, run: Run, behaviour: Behaviour | None) -> Estimated:
    weights = make_weights(problem, behaviour)
    data, episodes = problem.dataset, weights.episodes
    states, trained = fit_states(problem, config, run, step_ratios(weights))
    own = zip(np.broadcast_to(weights.log, states.shape), states, run.held(episodes.count), strict=True)
    rewards = data.rewards.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # a weight beyond 1e308 ends as "no estimate"
        found = [
            spectrum(log, w, rewards, data.terminations, episodes, config.trajectory, held) for log, w, held in own
        ]
    values, sizes, means = (np.array(each) for each in zip(*found, strict=True))  # [M] each
    effective = EffectiveSize(float(np.median(sizes)), per_decision=False, mean=float(np.median(means)))
    notes = (*weights.warnings, *beyond_note(problem))
    extras = {"mean_state_weight": float(np.median(states.mean(axis=1)))}
    told = (*weights.trained, trained), notes
    return Estimated(values, *told, effective=effective, extras=extras, backups=backups_of(trained, config))


def beyond_note(problem: Problem) -> tuple[str, ...]:
    """Where nothing ends, what is seen up to the cut-offs stands for what lies beyond them."""
    if problem.dataset.terminations.any() or not cut_off_note(problem):
        return cut_off_note(problem)
    return ("much of the discounted horizon lies beyond the log's cut-offs: it counts as what was logged before them",)


def step_ratios(weights: Weights) -> Float[Floats, "M N"]:
    """π_e/π_b of every logged step, from their products."""
    first = weights.episodes.time == 0
    before = np.where(first[None], 0.0, np.roll(weights.log, 1, axis=1))
    with np.errstate(invalid="ignore"):
        steps = np.minimum(weights.log - before, LARGEST_LOG)
    return np.nan_to_num(np.exp(steps), nan=0.0)  # after an impossible action all is impossible


SOPE = Estimator(
    "sope",
    SOPEConfig,
    estimate,
    "importance sampling of the last steps, and a learned ratio of states for all before",
    takes_features=False,
    family=WPDIS.family,
    needs=(*WPDIS.needs, STATES_HELD),
    spread=("learning_rate",),
    prepare=prepare,
)
