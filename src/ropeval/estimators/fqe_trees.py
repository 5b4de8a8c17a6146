"""Fitted Q-evaluation with boosted trees: each iteration fits an ensemble to what the last one says of the next pair.

    q_{k+1} = trees fitted to  r + γ·E_{a'~π_e}[ q_k(s', a') ]  over (s, a),    ρ̂(π_e) = E_{s₀, a₀~π_e}[ q_K(s₀, a₀) ]
    q ← q + c,   c = E_D[ r + γ q(s', a') − q(s, a) ] / E_D[ 1 − γ ]            after every iteration

Trees take columns as they are: no units, no scaling, and what is a category may be cut anywhere. An iteration alone
brings q nearer by a factor γ, most slowly in its mean; the shift c puts the mean right at once (aggregation, Bertsekas
and Castañón 1989) and leaves the fixed point where it is, since there the mean error is zero.

The number of iterations and of trees is fixed. To stop where r + γ q(s', a') − q(s, a) is least on held-out steps is a
trap: the target moves with q, and the first tree, before anything was bootstrapped, often has the least.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from ropeval.arrays import Floats
from ropeval.data import Dataset, Problem, expected
from ropeval.data.needs import check_needs, package
from ropeval.data.streaming import Pairs
from ropeval.estimators.estimator import Estimated, Estimator, averaged
from ropeval.estimators.fqe import FAMILY
from ropeval.learning.checkpoint import Snapshot
from ropeval.learning.engine import Run, Trained
from ropeval.runtime import cores
from ropeval.settings import PartConfig

Singles = NDArray[np.float32]
NEEDS = (package("lightgbm", "trees"),)
FORGOTTEN = 1e-3
UNSETTLED = 0.01  # of the estimate, that the last iteration may change


class FQETreesConfig(PartConfig):
    iterations: PositiveInt = 50  # at most; fewer where γ does not look so far
    trees: PositiveInt = 60  # of an iteration
    leaves: Annotated[int, Field(ge=2)] = 31  # of a tree, at most
    rows_per_leaf: PositiveInt = 20  # at least; a step that a resample holds twice counts twice
    learning_rate: PositiveFloat = 0.15  # share of what is left that a tree takes on
    l2: NonNegativeFloat = 1.0  # steps that pull a leaf towards nothing
    categories: NonNegativeInt = 32  # a column of so many different whole numbers, at most, holds categories; 0: none

    def stages(self, part: str) -> dict[str, int]:
        return {part: self.iterations}

    def iterations_for(self, gamma: float) -> int:
        """After so many, what q began with counts for less than a thousandth."""
        return min(self.iterations, math.ceil(math.log(FORGOTTEN) / math.log(gamma)) if gamma > 0.0 else 1)


# --- the columns that trees see ---------------------------------------------------------------------------------


class Distinct(NamedTuple):
    """Pairs as trees see them, each once: where states and actions are few, that is little to look at."""

    rows: Singles  # [U, C] the state as it was logged, then the action: its numbers, or one column of a discrete one
    places: NDArray[np.int64]  # [n, K] where the pairs of every state stand among them
    weight: Floats | None  # [n, K] of the policy's actions, where they are not drawn alike

    def mean(self, model: Any) -> Float[Floats, " n"]:
        """Of the model's values over the actions in every state."""
        values = np.asarray(model.predict(self.rows, num_threads=1))
        return np.asarray(expected(values[self.places], self.weight))


def distinct(pairs: Pairs, weight: Any = None) -> Distinct:
    states, actions = pairs.raw(slice(None))
    each = states.shape[0], pairs.shape[1] if len(pairs.shape) == 3 else 1  # n, K
    columns = actions.reshape(each[0] * each[1], -1).astype(np.float32)
    every = np.concatenate([np.repeat(states, each[1], axis=0), columns], axis=1)
    rows, places = np.unique(every, axis=0, return_inverse=True)
    return Distinct(rows, places.reshape(each), None if weight is None else np.asarray(weight, np.float64))


def categorical(data: Dataset, most: int) -> list[int]:
    """Columns of categories: discrete actions, and whole numbers of a few kinds. Of two kinds, it is all one."""
    found = [place for place, column in enumerate(data.observations.T) if _is_coded(column, most)]
    return [*found, data.observations.shape[1]] if data.num_actions is not None else found


def _is_coded(column: Singles, most: int) -> bool:
    if not most or column.min() < 0 or (column != np.round(column)).any():
        return False
    return 2 < len(np.unique(column)) <= most


# --- iterations -----------------------------------------------------------------------------------------------------


class Values(NamedTuple):
    """What q says, of every member: all that the next iteration needs."""

    logged: Singles  # [M, N] q(s, a)
    following: Singles  # [M, N] E_{a'~π_e} q(s', a')
    initial: Singles  # [M, E] E_{a~π_e} q(s₀, a)


@dataclass(frozen=True, eq=False)
class FittedTrees:
    values: Values
    reward: Floats  # [N]
    discount: Floats  # [N]

    def backup(self, rows: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """q(s, a) and r + γ·E_{a'~π_e} q(s', a') of some logged steps: [M, n] each."""
        following = self.values.following[:, rows].astype(np.float64)
        return self.values.logged[:, rows].astype(np.float64), self.reward[None, rows] + self.discount[
            None, rows
        ] * following


class Columns(NamedTuple):
    """What all members see alike."""

    logged: Distinct
    following: Distinct
    initial: Distinct
    categorical: list[int]


class Grower:
    """One member: its own weights of the steps, and the columns in bins of its own. Nothing here is random."""

    def __init__(self, columns: Columns, config: FQETreesConfig, weights: Floats):
        import lightgbm

        self.columns, self.trees, self.weights = columns, config.trees, weights  # [N]
        self.mass = self._summed(weights)  # [U]
        self.held = np.flatnonzero(self.mass > 0)  # pairs of the member's own log
        self.settings = {
            "objective": "regression", "verbosity": -1,
            "num_threads": 1, "deterministic": True, "force_row_wise": True,  # the same bits, however many cores
            "num_leaves": config.leaves, "learning_rate": config.learning_rate, "lambda_l2": config.l2,
            "min_sum_hessian_in_leaf": config.rows_per_leaf - 0.5,  # weights count; a half, so that no tie is rounded
            "min_data_in_leaf": 1, "min_data_in_bin": 1, "min_data_per_group": 1,  # rows do not: each is a pair
            "feature_pre_filter": False, "cat_l2": config.l2, "cat_smooth": 0.0,
        }  # fmt: skip
        self.rows = lightgbm.Dataset(
            columns.logged.rows[self.held],
            np.zeros(len(self.held)),
            weight=self.mass[self.held],
            categorical_feature=columns.categorical,
            params=self.settings,
        )

    def fit(self, target: Floats) -> tuple[Floats, Floats, Floats]:
        """q of the logged pairs [N], its mean in the next [N] and in the first states [E], fitted to targets [N]."""
        import lightgbm

        mean = self._summed(self.weights * target)[self.held] / self.mass[self.held]  # squares around it add the same
        self.rows.set_label(mean)
        model = lightgbm.train(self.settings, self.rows, self.trees)
        return self.columns.logged.mean(model), self.columns.following.mean(model), self.columns.initial.mean(model)

    def _summed(self, steps: Floats) -> Floats:
        """[U] sums over the logged steps [N] of each pair."""
        places = self.columns.logged.places[:, 0]
        return np.bincount(places, steps, len(self.columns.logged.rows)).astype(np.float64)


def _columns(problem: Problem, config: FQETreesConfig) -> Columns:
    asked = problem.answers
    return Columns(
        distinct(asked.logged),
        distinct(*asked.following),
        distinct(*asked.initial),
        categorical(problem.dataset, config.categories),
    )


def fit_trees(problem: Problem, config: FQETreesConfig, run: Run) -> tuple[Trained, FittedTrees]:
    """All members, or the log as it is, alone; between two iterations everything that counts is in `Values`."""
    data, bounds = problem.dataset, problem.log.bounds
    reward, discount = (
        np.asarray(a, np.float64) for a in (problem.transitions.rows.reward, problem.transitions.rows.discount)
    )
    counts = np.ones((1, data.num_episodes), np.int64) if run.counts is None else run.counts  # [M, E]
    weights = np.repeat(counts, np.diff(data.starts), axis=1).astype(np.float64)  # [M, N]
    weights[weights.sum(axis=1) == 0.0] = 1.0  # a resample of nothing but empty episodes
    members, iterations = len(weights), config.iterations_for(problem.gamma)
    columns = _columns(problem, config)
    growers = [Grower(columns, config, own) for own in weights]

    def shifted(member: int, logged: Floats, following: Floats, initial: Floats) -> tuple[Singles, ...]:
        error, own = reward + discount * following - logged, weights[member]
        shift = (own @ error) / (own @ (1.0 - discount))
        return tuple((part + shift).astype(np.float32) for part in (logged, following, initial))

    def one(member: int, following: Singles) -> tuple[Singles, ...]:
        return shifted(member, *growers[member].fit(bounds.cut(reward + discount * following)))

    nothing = np.zeros(len(reward)), np.zeros(len(reward)), np.zeros(data.num_episodes)
    state = Values(*map(np.stack, zip(*(shifted(m, *nothing) for m in range(members)), strict=True)))
    snapshot = run.checkpoint.load(run.part, state) if run.checkpoint else None
    snapshot = snapshot or Snapshot(state, 0, {}, np.full(members, -1))
    with ThreadPoolExecutor(cores()) as pool:
        while snapshot.step < iterations:
            following = np.asarray(snapshot.state.following)
            state = Values(*map(np.stack, zip(*pool.map(one, range(members), following), strict=True)))
            estimate = run.mean_over_episodes(state.initial.astype(np.float64)).astype(np.float32)
            broken = ~np.isfinite(estimate)
            snapshot = snapshot.extended(state, snapshot.step + 1, {"estimate": estimate}, broken)
            if run.checkpoint:
                run.checkpoint.save(run.part, snapshot)
            if run.report:
                run.report(run.part, snapshot.step / iterations)
    final = Values(*map(np.asarray, snapshot.state))
    points = np.arange(1, iterations + 1)
    trained = Trained(run.part, final, points, snapshot.curves, snapshot.diverged_at)
    return trained, FittedTrees(final, reward, discount)


def estimate(problem: Problem, config: FQETreesConfig, run: Run) -> Estimated:
    check_needs(run.part, NEEDS, problem.dataset, problem.policy)
    trained, fitted = fit_trees(problem, config, run)
    notes = _unsettled(trained.curves["estimate"], problem.reward_bound)
    return averaged(run, fitted.values.initial.astype(np.float64), trained=(trained,), warnings=notes, q=fitted)


def _unsettled(curve: Singles, scale: float) -> tuple[str, ...]:
    """`curve` [C, M]: whether more iterations would say something else."""
    last = np.abs(np.diff(curve[-2:].mean(axis=1))).sum()
    if last <= UNSETTLED * max(np.abs(curve[-1]).mean(), UNSETTLED * scale):
        return ()
    return (f"the last iteration still moved the estimate by {last:.3g}: raise fqe-trees.iterations",)


FQE_TREES = Estimator(
    "fqe-trees",
    FQETreesConfig,
    estimate,
    "fitted Q-evaluation with boosted trees: small logs, mixed columns, categories",
    takes_features=False,
    family=FAMILY,
    needs=NEEDS,
    by_group=True,
)
