"""Off-policy returns: FQE whose targets look several logged steps ahead, as far as π_e would have gone along.

    minimise  E_D[ huber( G_t − q(s_t, a_t) ) ],
    G_t = r_t + γ·( V̄(s_{t+1}) + c_{t+1}·( G_{t+1} − q̄(s_{t+1}, a_{t+1}) ) ),     V̄(s) = E_{a~π_e} q̄(s, a)

    retrace       c = λ·min(1, π_e(a|s)/π_b(a|s))
    tree-backup   c = λ·π_e(a|s)
    q-lambda      c = λ

A mini-batch is made of segments, `segment` logged steps that follow each other, and q is fitted to the G of every step.
At the end of a segment, and at that of an episode, c is 0, and G is FQE's target. With c = 0 everywhere they *are* FQE.
The exact q is a fixed point whatever c is, since every G − q̄ vanishes on average. From afar, retrace and tree-backup
approach it at least as fast as FQE, step by step; q-lambda need not, where π_e is far from what was logged.

An action from a continuum has a density but no probability. So tree-backup's c is 0 there; and so is retrace's where
either policy is deterministic. They say so. π_b is the log's `log_probs`, or is fitted where it has none.
"""

from dataclasses import replace
from functools import partial
from typing import Annotated, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float
from numpy.typing import NDArray
from pydantic import Field, PositiveInt

from ropeval.arrays import Floats
from ropeval.data import Dataset, Problem, Rows, expected
from ropeval.data.needs import PROBABILITIES, PROPENSITIES, Need
from ropeval.data.returns import discounted_steps
from ropeval.estimators.behaviour import Behaviour, FitsBehaviour
from ropeval.estimators.estimator import Estimated, Estimator, averaged
from ropeval.estimators.fitted_q import FittedQ
from ropeval.estimators.fqe import (
    FQE,
    FQEConfig,
    action_value,
    clip_bounds,
    fit_q,
    reward_unit,
    td_learner,
    train_q,
    value_function,
)
from ropeval.estimators.importance_weights import prepare
from ropeval.learning.engine import Hyper, Learner, Run
from ropeval.learning.learner import made_once
from ropeval.learning.networks import MLP
from ropeval.learning.optimise import huber
from ropeval.policies import Policy
from ropeval.policies.policy import log_probs

Kind = Literal["retrace", "tree-backup", "q-lambda"]
NOTHING = 0.01  # of λ: where traces are shorter on average, this is FQE


class ReturnsConfig(FQEConfig):
    lam: Annotated[float, Field(ge=0.0, le=1.0)] = 0.9  # λ
    segment: PositiveInt = 8  # logged steps that follow each other: targets look to their end, or to the episode's


class RetraceConfig(FitsBehaviour, ReturnsConfig):
    pass


def segment_returns(
    reward: Float[Array, " L"],
    discount: Float[Array, " L"],
    following: Float[Array, " L"],
    logged: Float[Array, " L"],
    carry: Float[Array, " L"],
) -> Float[Array, " L"]:
    """G of L steps; `following`: V̄(s'), `logged`: q̄(s, a), `carry`: c of the step that comes after."""

    def one(surprise: Array, now: tuple[Array, ...]) -> tuple[Array, Array]:  # G − q̄ of the step that comes after
        reward, discount, following, logged, carry = now
        found = reward + discount * (following + carry * surprise)
        return found - logged, found

    steps = (reward, discount, following, logged, carry)
    return jax.lax.scan(one, jnp.zeros_like(reward[0]), steps, reverse=True)[1]


@made_once
def make_learner(config: ReturnsConfig, dim: int, gamma: float, low: float = 0.0, high: float = 0.0) -> Learner:
    """The same for all three kinds: what tells them apart is the rows' `own` number, c of the step that comes after."""
    value = partial(action_value, gamma=gamma)

    def loss(q: MLP, q_bar: MLP, batch: Rows, hyper: Hyper, key: Array) -> Array:
        flat = jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), batch)  # [n·L, …], as matrix products like it
        following = expected(value(q_bar, flat.next_x), flat.next_weight)  # [n·L]
        looked_at = (flat.reward, flat.discount, following, value(q_bar, flat.x), flat.own)
        target = jax.vmap(segment_returns)(*(a.reshape(batch.reward.shape) for a in looked_at)).reshape(-1)
        if config.clip_targets:
            target = jnp.clip(target, low, high)
        return huber(target - value(q, flat.x), config.huber_delta).mean()

    return td_learner(config, dim, value, loss, segment=config.segment)


# --- how far the traces reach ---------------------------------------------------------------------------------


def coefficients(kind: Kind, problem: Problem, behaviour: Behaviour | None) -> Float[Floats, "M N"]:
    """c/λ of every logged step; M is 1 where no behaviour was fitted."""
    data, policy = problem.dataset, problem.policy
    if kind == "q-lambda":
        return np.ones((1, len(data)))
    continuous = data.num_actions is None
    if continuous and (kind == "tree-backup" or policy.deterministic or _follows_exactly(behaviour)):
        return np.zeros((1, len(data)))
    chosen = log_probs(policy, data.observations, data.actions)[None]  # [1, N]
    if kind == "tree-backup":
        return np.exp(chosen)
    logged = data.log_probs.astype(np.float64)[None] if data.log_probs is not None else None
    if logged is None:
        assert behaviour is not None
        logged = behaviour.log_probs
    return np.exp(np.minimum(0.0, chosen - logged))


def _follows_exactly(behaviour: Behaviour | None) -> bool:
    return behaviour is not None and behaviour.exact


def carried(steps: Float[Floats, "M N"], starts: NDArray[np.int64]) -> Float[Floats, "M N"]:
    """For every row the number of the row after it; 0 where its episode has none."""
    result = np.zeros_like(steps)
    result[:, :-1] = steps[:, 1:]
    result[:, starts[1:][np.diff(starts) > 0] - 1] = 0.0
    return result


def estimate(
    problem: Problem, config: ReturnsConfig, run: Run, behaviour: Behaviour | None = None, *, kind: Kind
) -> Estimated:
    """As FQE: the mean of every member's q̄ over the initial states."""
    traces = coefficients(kind, problem, behaviour)
    carry = config.lam * carried(traces, problem.dataset.starts)
    fitted = fit_returns(problem, config, run, carry)
    trained = (fitted.trained,) if behaviour is None else (behaviour.trained, fitted.trained)
    mean = float(traces.mean())
    notes = notes_on(kind, problem, config, behaviour, mean)
    extras = {"mean_trace": config.lam * mean}
    told = {"trained": trained, "warnings": notes, "q": fitted, "backups": fitted.backups, "extras": extras}
    return averaged(run, fitted.on_initial(), **told)


def fit_returns(problem: Problem, config: ReturnsConfig, run: Run, carry: Float[Floats, "M N"]) -> FittedQ:
    segment = min(config.segment, _longest(problem.dataset))
    if segment == 1 or not carry.any():
        return fit_q(problem, config, run)  # which is the same, without looking ahead for nothing
    # Without what only one kind has: one compiled program for all.
    plain = ReturnsConfig(**{name: getattr(config, name) for name in ReturnsConfig.model_fields} | {"segment": segment})
    scale = reward_unit(problem, config)
    learner = make_learner(plain, problem.transitions.dim, problem.gamma, *clip_bounds(problem, config, scale))
    own = np.broadcast_to(carry, (run.members, carry.shape[1]))  # one for all where none was fitted
    ahead = looked_over(problem.gamma * float(carry.mean()), segment)
    return train_q(problem, config, run, learner, value_function(problem.gamma), scale, own, ahead)


def looked_over(carried: float, segment: int) -> float:
    """Logged steps that a target looks over, on average over the places in a segment; `carried`: γ·c.

    With k steps to the end of the segment, a constant error of q̄ shrinks to 1 − (1−γ)·Σ_{i<k} (γc)^i of itself; that of
    FQE to 1 − (1−γ).
    """
    return float(np.mean(discounted_steps(carried, np.arange(1, segment + 1))))


def _longest(dataset: Dataset) -> int:
    return int(np.diff(dataset.starts).max())


def notes_on(
    kind: Kind, problem: Problem, config: ReturnsConfig, behaviour: Behaviour | None, mean: float
) -> tuple[str, ...]:
    """What the reader should know of the traces; `mean`: of c/λ."""
    notes: tuple[str, ...] = ()
    if behaviour is not None:
        notes = ("the log holds no log_probs: the behaviour policy was fitted to its actions",)
    single = _longest(problem.dataset) == 1
    if mean >= NOTHING and config.lam > 0 and config.segment > 1 and not single:
        return notes
    if config.lam == 0 or config.segment == 1:
        why = "lam is 0 or segment is 1"
    elif single:
        why = "every episode has a single step"
    elif problem.dataset.num_actions is None and kind == "tree-backup":
        why = "an action from a continuum has no probability"
    elif problem.dataset.num_actions is None and problem.policy.deterministic:
        why = "the policy is deterministic, and never takes a logged action"
    elif _follows_exactly(behaviour):
        why = "the logged actions follow the states almost exactly, so the behaviour looks deterministic"
    else:
        why = "the policy hardly ever takes a logged action"
    return (*notes, f"{kind} reduces to fqe here: {why}")


def _chances(dataset: Dataset, policy: Policy, kind: Kind) -> str | None:
    """Where none is asked for, none is missed: a continuum has no probabilities, nor a deterministic policy on one."""
    if dataset.num_actions is None and (kind == "tree-backup" or policy.deterministic):
        return None
    return PROBABILITIES.missing(dataset, policy)


def _entry(kind: Kind, summary: str) -> Estimator:
    chances = replace(PROBABILITIES, missing=partial(_chances, kind=kind))
    needs: dict[Kind, tuple[Need, ...]] = {
        "retrace": (PROPENSITIES, chances),
        "tree-backup": (chances,),
        "q-lambda": (),
    }
    return Estimator(
        kind,
        RetraceConfig if kind == "retrace" else ReturnsConfig,
        partial(estimate, kind=kind),
        summary,
        takes_features=True,
        presets=FQE.presets,
        family=FQE.family,
        needs=needs[kind],
        spread=FQE.spread,
        by_group=True,
        prepare=prepare if kind == "retrace" else None,
    )


RETRACE = _entry("retrace", "fqe that looks ahead along logged steps, as far as clipped ratios allow")
TREE_BACKUP = _entry("tree-backup", "the same, as far as the policy's own probabilities allow")
Q_LAMBDA = _entry("q-lambda", "the same, all the way: no probabilities are asked for")
