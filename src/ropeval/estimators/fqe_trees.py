"""Fitted Q-evaluation with boosted trees: each iteration fits an ensemble to what the last one says of the next pair.

    q_{k+1} = trees fitted to  r + γ·E_{a'~π_e}[ q_k(s', a') ]  over (s, a),    ρ̂(π_e) = E_{s₀, a₀~π_e}[ q_K(s₀, a₀) ]
    q ← q + αc,  c = E_D[ r + γ q(s', a') − q(s, a) ] / E_D[ 1 − γ ]            after every iteration

Trees take columns as they are: no units, no scaling, and what is a category may be cut anywhere. An iteration alone
brings q nearer by a factor γ, most slowly in its mean; the shift c puts the mean right at once (aggregation, Bertsekas
and Castañón 1989) and leaves the fixed point where it is, since there the mean error is zero. Where it overshoots, less
of it is taken (`share_of_shift`).

The number of iterations and of trees is fixed. To stop where r + γ q(s', a') − q(s, a) is least on held-out steps is a
trap: the target moves with q, and the first tree, before anything was bootstrapped, often has the least.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from typing import Annotated, Any, NamedTuple

import jax
import numpy as np
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from ropeval.arrays import Floats, Integers, Singles
from ropeval.data import Problem
from ropeval.data.bounds import Bounds
from ropeval.data.needs import check_needs, package
from ropeval.estimators.estimator import Estimated, Estimator, averaged
from ropeval.estimators.fqe import FAMILY
from ropeval.estimators.tree_columns import Columns, Distinct, categorical, distinct, more_than
from ropeval.learning.checkpoint import Snapshot
from ropeval.learning.engine import Run, Trained, keys_for
from ropeval.runtime import cores
from ropeval.settings import PartConfig

NEEDS = (package("lightgbm", "trees"),)
FORGOTTEN = 1e-3
TURNED = 0.5  # of the last shift, or more, taken back: that was too much of it
LEAST_SHARE = 0.25  # of a shift; chance alone turns it now and then where little is left to put right
UNSETTLED = 0.01  # of the estimate, that the last iteration may change


class FQETreesConfig(PartConfig):
    iterations: PositiveInt = 50  # at most; fewer where γ does not look so far
    trees: PositiveInt = 60  # of an iteration
    leaves: Annotated[int, Field(ge=2)] = 31  # of a tree, at most
    rows_per_leaf: PositiveInt = 20  # at least; a step that a resample holds twice counts twice
    learning_rate: PositiveFloat = 0.15  # share of what is left that a tree takes on
    l2: NonNegativeFloat = 1.0  # steps that pull a leaf towards nothing
    rows: PositiveInt | None = 10_000  # steps drawn from a log that holds more different pairs; None: all, always
    categories: NonNegativeInt = 32  # a column of so many different whole numbers, at most, holds categories; 0: none

    def stages(self, part: str) -> dict[str, int]:
        return {part: self.iterations}

    def iterations_for(self, gamma: float) -> int:
        """After so many, what q began with counts for less than a thousandth."""
        return min(self.iterations, math.ceil(math.log(FORGOTTEN) / math.log(gamma)) if gamma > 0.0 else 1)


# --- iterations -----------------------------------------------------------------------------------------------------


class Sample(NamedTuple):
    """The logged steps that a member learns from."""

    steps: Integers  # [n]
    weights: Floats  # [n] how often its log holds each; 0: it does not


def samples(problem: Problem, config: FQETreesConfig, run: Run) -> list[Sample]:
    """Of every member; of the log as it is, alone, where nothing is random."""
    data, size, most = problem.dataset, len(problem.dataset), config.rows
    limited = most is not None and size > most and more_than(most, problem.answers.logged)
    counts = run.held(data.num_episodes) if limited or run.counts is not None else np.ones((1, data.num_episodes))
    found = []
    for held, key in zip(counts, keys_for(run.part, run.keys), strict=False):
        weights = np.repeat(held, np.diff(data.starts)).astype(np.float64)  # [N]
        if not weights.any():
            weights[:] = 1.0  # a resample of nothing but empty episodes
        steps = np.arange(size)
        if most is not None and limited:
            own = np.repeat(steps, weights.astype(np.int64))
            rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
            # A resample of short episodes may hold fewer steps than the log: then some are drawn twice.
            steps = np.sort(rng.choice(own, most, replace=len(own) < most))
            weights = np.ones(len(steps))
        found.append(Sample(steps, weights))
    return found


class Values(NamedTuple):
    """What q says, of every member: all that the next iteration needs, and from which the last can be done again."""

    before: Singles  # [M, n] E_{a'~π_e} q(s', a') an iteration ago
    following: Singles  # [M, n] E_{a'~π_e} q(s', a')
    initial: Singles  # [M, E] E_{a~π_e} q(s₀, a)
    asked: Singles  # [M] c, the shift that would put the mean right
    taken: Singles  # [M] as much of it as was added


class Grower:
    """One member: its own steps with their weights, and the columns in bins of its own. Nothing here is random."""

    def __init__(self, columns: Columns, config: FQETreesConfig, weights: Floats):
        import lightgbm

        self.columns, self.trees, self.weights = columns, config.trees, weights  # [n], none of them zero
        self.mass = self._summed(weights)  # [U]
        self.settings = {
            "objective": "regression", "verbosity": -1,
            "num_threads": 1, "deterministic": True, "force_row_wise": True,  # the same bits, however many cores
            "num_leaves": config.leaves, "learning_rate": config.learning_rate, "lambda_l2": config.l2,
            "min_sum_hessian_in_leaf": config.rows_per_leaf - 0.5,  # weights count; a half, so that no tie is rounded
            # Rows do not: each is a pair. LightGBM tells their number in a leaf by its share of all weights, less than
            # one for a rare pair: asked for one, it would not tell that pair from the others.
            "min_data_in_leaf": 0, "min_data_in_bin": 1, "min_data_per_group": 1,
            "feature_pre_filter": False, "cat_l2": config.l2, "cat_smooth": 0.0,
        }  # fmt: skip
        self.rows = lightgbm.Dataset(
            columns.logged.rows,
            np.zeros(len(self.mass)),
            weight=self.mass,
            categorical_feature=columns.categorical,
            params=self.settings,
        )

    def fit(self, target: Floats) -> Any:
        """Trees fitted to targets [n]."""
        import lightgbm

        self.rows.set_label(self._summed(self.weights * target) / self.mass)  # squares around the mean add the same
        return lightgbm.train(self.settings, self.rows, self.trees)

    def _summed(self, steps: Floats) -> Floats:
        """[U] sums over the steps [n] of each pair."""
        places = self.columns.logged.places[:, 0]
        return np.bincount(places, steps, len(self.columns.logged.rows)).astype(np.float64)


class Member:
    """One member's iterations. What its log does not hold of its steps is not looked at."""

    def __init__(self, shared: "Shared", config: FQETreesConfig, sample: Sample):
        self.weights, self.held = sample.weights, np.flatnonzero(sample.weights)
        self.reward, self.discount = shared.reward[sample.steps], shared.discount[sample.steps]  # [n]
        self.ends = bool((self.discount[self.held] == 0.0).any())
        self.bounds = shared.bounds
        self.columns = shared.columns(sample.steps[self.held])
        self.grower = Grower(self.columns, config, sample.weights[self.held])

    def shift(self, logged: Floats, following: Floats) -> float:
        """c, by what q says of the steps [n]."""
        error = self.reward + self.discount * following - logged
        return float((self.weights @ error) / (self.weights @ (1.0 - self.discount)))

    def fit(self, following: Singles) -> "Shifted":
        """q, fitted to what the last one says of the next pairs; as yet without a shift."""
        target = self.bounds.cut(self.reward + self.discount * following)
        model = self.grower.fit(target[self.held])
        logged, after = self._spread(self.columns.logged.mean(model)), self._spread(self.columns.following.mean(model))
        return Shifted(model, self.bounds, after, self.shift(logged, after))

    def _spread(self, held: Floats) -> Floats:
        """[n], with zeros for what is not held."""
        result = np.zeros(len(self.weights))
        result[self.held] = held
        return result


class Shared(NamedTuple):
    """What all members see alike."""

    steps: Integers  # [n] all that a member learns from
    seen: Columns  # of those
    reward: Floats  # [N]
    discount: Floats  # [N]
    bounds: Bounds

    @classmethod
    def of(cls, problem: Problem, config: FQETreesConfig, drawn: list[Sample]) -> "Shared":
        steps = reduce(np.union1d, (sample.steps[sample.weights > 0.0] for sample in drawn))
        asked, log = problem.answers, problem.log
        seen = Columns(
            distinct(asked.logged, steps=steps),
            distinct(*asked.following, steps),
            distinct(*asked.initial),
            categorical(problem.dataset, config.categories),
        )
        reward, discount = (np.asarray(a, np.float64) for a in (log.reward, log.discount))
        return cls(steps, seen, reward, discount, log.bounds)

    def columns(self, steps: Integers) -> Columns:
        """Of some of the steps."""
        places = np.searchsorted(self.steps, steps)
        return self.seen._replace(logged=self.seen.logged.of(places), following=self.seen.following.of(places))


class Shifted(NamedTuple):
    """One member's q: trees and what is added to them, cut to what the rewards allow."""

    model: Any
    bounds: Bounds
    after: Floats  # [n] E_{a'~π_e} of the trees alone, in the next states of the member's steps
    asked: float
    taken: float = 0.0

    @property
    def following(self) -> Singles:
        return self._value(self.after)

    def mean(self, pairs: Distinct) -> Singles:
        return self._value(pairs.mean(self.model))

    def _value(self, of_trees: Floats) -> Singles:
        return self.bounds.cut(of_trees + self.taken).astype(np.float32)


def share_of_shift(asked: float, before: float, taken: float, ends: bool) -> float:
    """How much of the shift that is asked for to take, after `taken` of the one `before`.

    Where episodes end, a constant is more than what their last steps need. If π_e ends fewer of them than the log does,
    the next shift takes back more than was added, and so on: -80 where 0.75 is true. A shift that is asked for in the
    other direction, and is not much smaller, says by how much the last one was too large. Where nothing `ends`, the
    whole shift is right.
    """
    share = taken / before if before else 1.0
    if not ends or asked * before >= 0.0 or abs(asked) < TURNED * abs(before):
        return share
    return max(LEAST_SHARE, share / (1.0 - asked / before))


@dataclass(frozen=True, eq=False)
class FittedTrees:
    problem: Problem
    shared: Shared
    q: list[Shifted]
    initial: Floats  # [M, E]

    def backup(self, rows: Integers) -> tuple[Floats, Floats]:
        """q(s, a) and r + γ·E_{a'~π_e} q(s', a') of some logged steps, learned from or not: [M, n] each."""
        asked = self.problem.answers
        logged, following = distinct(asked.logged, steps=rows), distinct(*asked.following, rows)
        values, after = (np.stack([q.mean(pairs) for q in self.q]).astype(np.float64) for pairs in (logged, following))
        return values, self.shared.reward[None, rows] + self.shared.discount[None, rows] * after


def fit_trees(problem: Problem, config: FQETreesConfig, run: Run) -> tuple[Trained, FittedTrees]:
    """All members, or the log as it is, alone; between two iterations everything that counts is in `Values`."""
    drawn = samples(problem, config, run)
    shared = Shared.of(problem, config, drawn)
    members = [Member(shared, config, sample) for sample in drawn]
    iterations, last = config.iterations_for(problem.gamma), dict[int, Shifted]()

    def one(place: int, following: Singles, before: float, taken: float) -> tuple[Any, ...]:
        q = members[place].fit(following)
        share = share_of_shift(q.asked, float(before), float(taken), members[place].ends)
        q = last[place] = q._replace(taken=float(np.float32(share * q.asked)))
        return following, q.following, q.mean(shared.seen.initial), np.float32(q.asked), np.float32(q.taken)

    shape = len(members), len(members[0].weights)
    nothing = np.zeros(shape[1])
    shifts = np.array([member.shift(nothing, nothing) for member in members], np.float32)[:, None]  # of q = 0
    start = np.broadcast_to(shifts, shape)
    every = np.broadcast_to(shifts, (shape[0], problem.dataset.num_episodes))
    state = Values(start, start, every, np.zeros(shape[0], np.float32), np.zeros(shape[0], np.float32))
    snapshot = run.checkpoint.load(run.part, state) if run.checkpoint else None
    snapshot = snapshot or Snapshot(state, 0, {}, np.full(len(members), -1))
    with ThreadPoolExecutor(cores()) as pool:
        while snapshot.step < iterations:
            _, following, _, before, taken = map(np.asarray, snapshot.state)
            found = pool.map(one, range(len(members)), following, before, taken)
            state = Values(*map(np.stack, zip(*found, strict=True)))
            estimate = run.mean_over_episodes(state.initial.astype(np.float64)).astype(np.float32)
            broken = ~np.isfinite(estimate)
            snapshot = snapshot.extended(state, snapshot.step + 1, {"estimate": estimate}, broken)
            if run.checkpoint:
                run.checkpoint.save(run.part, snapshot)
            if run.report:
                run.report(run.part, snapshot.step / iterations)
        final = Values(*map(np.asarray, snapshot.state))
        if not last:  # all iterations were done by an earlier attempt, whose trees are gone
            again = zip(pool.map(Member.fit, members, final.before), final.taken, strict=True)
            last = {place: q._replace(taken=float(taken)) for place, (q, taken) in enumerate(again)}
    points = np.arange(1, iterations + 1)
    trained = Trained(run.part, final, points, snapshot.curves, snapshot.diverged_at)
    q = [last[place] for place in range(len(members))]
    return trained, FittedTrees(problem, shared, q, final.initial.astype(np.float64))


def estimate(problem: Problem, config: FQETreesConfig, run: Run) -> Estimated:
    check_needs(run.part, NEEDS, problem.dataset, problem.policy)
    trained, fitted = fit_trees(problem, config, run)
    notes = _unsettled(trained.curves["estimate"], problem.reward_bound)
    learned, logged = trained.state.following.shape[1], len(problem.dataset)
    extras = {"learned_from": {"steps": learned, "of": logged}} if learned < logged else {}
    return averaged(run, fitted.initial, trained=(trained,), warnings=notes, q=fitted, extras=extras)


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
