"""One question, and its two sides: the `Log`, which all policies share, and a policy, which is asked at most once."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import Any, Literal, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from ropeval.arrays import AnyArray, Booleans, Floats, Integers, Singles
from ropeval.blocks import blocks, in_order
from ropeval.data.bounds import Bounds, known_length, value_bounds
from ropeval.data.dataset import Dataset
from ropeval.data.horizon import resolved_horizon
from ropeval.data.numbered import NumberedStates, Numbers, numbered_states
from ropeval.data.placing import placed
from ropeval.data.returns import Onwards, episode_returns, onwards, share_beyond_cut, worth_beyond
from ropeval.data.streaming import Pairs, Stored, spill, take
from ropeval.data.transitions import Transitions, fits, lay_out
from ropeval.errors import UserError, unknown_name
from ropeval.files import release
from ropeval.policies.policy import Policy, draw_actions, draw_in_blocks, every_action

Made = TypeVar("Made")
Protocol = Literal["standard", "paper"]
PROTOCOLS: tuple[Protocol, ...] = ("standard", "paper")
DEFAULT_DRAWS = 8  # actions of a stochastic policy per state, where they are not
EXACT = 16  # discrete actions or fewer, all of which are looked at
STD_FLOOR = 1e-5
ORDINARY = (0.1, 10.0)  # deviations of a column of actions that is left as it is
LEAST = 1e-25  # what is smaller is nothing: float32 could not divide by it
ASKED = 16_384  # states whose features are made at a time


@dataclass(frozen=True, eq=False)
class Log:
    """The side of a question that all policies share: the log, γ, and what was made of them so far.

    `standard`: termination zeroes the bootstrap, truncation does not. `paper`: the conventions of the authors' code,
    which bootstraps nothing on the last step of every episode, time-outs included, and draws one action per state.
    """

    dataset: Dataset  # as learners see it: states that are but numbers become codes
    gamma: float
    protocol: Protocol = "standard"
    horizon: int | None = None  # steps that count, from the start of an episode; None: all of them
    numbers: Numbers = "auto"
    given: Dataset = field(init=False, repr=False)  # as it was logged
    states: NumberedStates | None = field(init=False, repr=False)
    _made: dict[Hashable, Any] = field(default_factory=dict, repr=False)
    _making: dict[Hashable, Lock] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise unknown_name("protocol", self.protocol, list(PROTOCOLS))
        states = numbered_states(self.dataset, self.numbers)
        seen = self.dataset if states is None else states.coded(self.dataset)
        for name, value in (("given", self.dataset), ("states", states), ("dataset", seen)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "horizon", resolved_horizon(self.dataset, self.gamma, self.horizon))

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What depends on the log alone is made for the first policy that needs it, and kept for the others. Of
        several threads one makes it, and the others wait."""
        with self._making.setdefault(key, Lock()):
            if key not in self._made:
                self._made[key] = make()
        return self._made[key]

    def pairs(self, width: int | None) -> Pairs:
        """The logged pairs; `width`: of the one-hot code of discrete actions."""
        seen = self.dataset
        return Pairs(seen.observations, seen.actions, *self.normaliser, width, action_units=self.action_units)

    @cached_property
    def normaliser(self) -> tuple[Singles, Singles]:
        """Mean and standard deviation of the states, [S] each."""
        return normaliser(self.dataset.observations)

    @cached_property
    def action_units(self) -> tuple[Singles, Singles] | None:
        """Offset and size of continuous actions, [A] each; None: as they are. So are most, as in the paper, between −1
        and 1. But a network hears nothing else beside a dose of 500 mg, and nothing of one of 0.0005 kg."""
        if self.dataset.num_actions is not None or self.protocol == "paper":
            return None
        mean, std = normaliser(self.dataset.actions)
        space, least = self.dataset.space, np.maximum(np.abs(mean), 1.0)
        size = np.where(space.low == space.high, least, std)  # what never changes has none of its own
        odd = (size < ORDINARY[0]) | (size > ORDINARY[1]) | (np.abs(mean) > ORDINARY[1])
        return (np.where(odd, mean, 0.0), np.where(odd, size, 1.0)) if odd.any() else None

    @cached_property
    def reward(self) -> jax.Array:
        return jax.device_put(self.dataset.rewards)  # [N]

    @cached_property
    def discount(self) -> jax.Array:
        ends = self.dataset.terminations if self.protocol == "standard" else _episode_ends(self.dataset)
        return jax.device_put(np.where(ends, np.float32(0.0), np.float32(self.gamma)))  # [N]

    @property
    def returns(self) -> Floats:
        """[E] of the episodes, up to their ends."""
        return self.once("returns", lambda: episode_returns(self.dataset, self.gamma, self.horizon))

    @property
    def onwards(self) -> Onwards:
        return self.once(Onwards, lambda: onwards(self.dataset, self.gamma))

    @property
    def continued_returns(self) -> Floats:
        """[E] of the episodes, with what goes on after they were cut off."""

        def made() -> Floats:
            return self.returns + worth_beyond(self.dataset, self.gamma, self.horizon, self.onwards)

        return self.once("continued returns", made)

    @cached_property
    def beyond_cuts(self) -> float:
        """Share of what counts that lies after episodes were cut off."""
        return share_beyond_cut(self.dataset, self.gamma, self.horizon)

    @cached_property
    def bounds(self) -> Bounds:
        """What any policy can be worth. The paper's code takes [r_min, r_max]/(1−γ), whatever ends."""
        if self.protocol == "paper":
            return value_bounds(self.dataset, self.gamma, ends=False)
        ends = [steps for steps in (self.horizon, known_length(self.dataset)) if steps is not None]
        return value_bounds(self.dataset, self.gamma, min(ends, default=None))

    def problem(self, policy: Policy, seed: int = 0, draws: int | None = None) -> "Problem":
        """The question what this policy is worth. Nothing is asked of the policy yet.

        Where it is no dearer than drawing, and nobody asks for draws, a policy that tells the probabilities of its
        actions is asked for them all: expectations are then sums, and nothing is left to the luck of the draw.
        """
        if draws is not None and draws < 1:
            raise UserError(f"{draws} actions per state were asked for; at least 1 is needed")
        policy = policy.fitted(self.given.space)
        policy = policy if self.states is None else self.states.shown_to(policy)
        count = 1 if policy.deterministic else (draws or (1 if self.protocol == "paper" else DEFAULT_DRAWS))
        logged = self.pairs(_action_width(self.dataset, policy))
        choices = policy.action_size if policy.discrete and policy.has_probabilities else None
        exact = count > 1 and draws is None and choices is not None and choices <= EXACT
        exact = exact and fits(logged.shape, (choices or 0, *logged.shape))
        count = choices if exact and choices else count
        held = exact or fits(logged.shape, (count, *logged.shape))
        return Problem(self, policy, PolicyAnswers(self, policy, logged, seed, count, exact, held))


class Asked(NamedTuple):
    """States and the policy's actions in them."""

    pairs: Pairs  # [n, K, X]
    weight: Singles | None  # [n, K] probabilities, where the K are all actions there are


@dataclass(frozen=True, eq=False)
class PolicyAnswers:
    """What the policy does in the log's states, asked when it is first needed: on a long log that takes a while, and a
    method that does not look at it should not wait."""

    log: Log
    policy: Policy
    logged: Pairs  # [N, X]
    seed: int
    count: int  # K, the policy's actions per state: drawn, or
    exact: bool  # all that there are
    held: bool  # in memory

    @property
    def asked_bytes(self) -> int:
        """Of what the policy does in the states of the log."""
        return self.count * max(1, self.log.dataset.actions.nbytes)

    def room_for(self, most: int) -> int:
        """How many such problems can be held together: at least this one, and at most so many."""
        shape = self.logged.shape
        return next((n for n in range(most, 1, -1) if self.held and fits(shape, (n * self.count, *shape))), 1)

    @cached_property
    def following(self) -> Asked:
        return self._asked(self.log.dataset.next_observations, 1)

    @cached_property
    def initial(self) -> Asked:
        return self._asked(self.log.dataset.initial_observations, 2)

    def after(self, rows: Integers) -> Singles:
        """[n, X] the next states of some logged steps with one drawn action each."""
        states = take(self.log.dataset.next_observations, rows)
        actions = draw_actions(self.policy, states, 1, np.random.default_rng([self.seed, 3]))
        return replace(self.logged, observations=states, actions=actions)[:][:, 0]

    @cached_property
    def transitions(self) -> Transitions:
        """Everything laid out for training."""
        log, logged = self.log, self.logged
        x = log.once(("x", logged.width), lambda: placed(logged)) if self.held else logged
        (following, next_weight), (initial, initial_weight) = self.following, self.initial
        weights = (next_weight, initial_weight)
        return lay_out(
            x, following, initial, log.reward, log.discount, log.dataset.starts, weights, code=logged.width or 0
        )

    def _asked(self, observations: Singles, purpose: int) -> Asked:
        rng, weight = np.random.default_rng([self.seed, purpose]), None
        if self.exact:
            actions, weight = every_action(self.policy, observations, rng)
        elif self.held:
            actions = draw_actions(self.policy, observations, self.count, rng)
        else:
            actions = spill(draw_in_blocks(self.policy, observations, self.count, rng))
        return Asked(replace(self.logged, observations=observations, actions=actions), weight)


@dataclass(frozen=True, eq=False)
class Problem:
    """One question: what would `policy` earn, discounted by γ, within `horizon` steps if there is one?"""

    log: Log
    policy: Policy
    answers: PolicyAnswers
    features: Transitions | None = None  # an encoder's, in the place of the log's own

    @property
    def transitions(self) -> Transitions:
        return self.answers.transitions if self.features is None else self.features

    @property
    def dataset(self) -> Dataset:
        return self.log.dataset

    @property
    def gamma(self) -> float:
        return self.log.gamma

    @property
    def horizon(self) -> int | None:
        return self.log.horizon

    @property
    def protocol(self) -> Protocol:
        return self.log.protocol

    @property
    def reward_bound(self) -> float:
        """max|r|/(1−γ), the largest size of a value however long episodes are (within the horizon); far beyond it,
        training has diverged."""
        return value_bounds(self.dataset, self.gamma, self.horizon).reach

    def with_features(self, make: Callable[[Singles, AnyArray], Singles]) -> Transitions:
        """Other features of the same pairs, [n, d] from raw states [n, S] and actions [n, A], or [n] discrete ones.

        They are held in memory where they fit, and put into a scratch file where they do not.
        """
        asked = (self.answers.logged, self.answers.following.pairs, self.answers.initial.pairs)
        width = next(_made(asked[0], make, 1)).shape[-1]
        shapes = [(*pairs.shape[:-1], width) for pairs in asked]
        hold = (lambda blocks: jnp.asarray(np.concatenate(list(blocks)))) if fits(*shapes[:2]) else _stored
        x, next_x, initial_x = (hold(_made(pairs, make, ASKED)) for pairs in asked)
        rows = self.transitions.rows._replace(x=x, next_x=next_x)
        return replace(self.transitions, rows=rows, initial_x=initial_x, code=0)

    def with_logged_actions(self, rows: Integers, actions: Integers) -> Transitions:
        """Some rows of the log, and as the next action of each the logged one of another row, instead of π_e's."""
        x, states = replace(self.answers.logged, state_rows=rows, action_rows=rows), self.dataset.next_observations
        next_x = replace(x, observations=states, actions=x.actions[:, None], action_rows=actions)
        reward, discount = (np.asarray(a)[rows] for a in (self.log.reward, self.log.discount))
        starts = np.searchsorted(rows, self.dataset.starts)  # of the episodes among these rows
        initial, initial_weight = self.answers.initial
        return lay_out(x, next_x, initial, reward, discount, starts, (None, initial_weight))


def make_problem(
    dataset: Dataset,
    policy: Policy,
    gamma: float,
    seed: int = 0,
    draws: int | None = None,
    protocol: Protocol = "standard",
    horizon: int | None = None,
    numbers: Numbers = "auto",
) -> Problem:
    """A question alone. Who asks about several policies makes one `Log` and takes their problems from it."""
    return Log(dataset, gamma, protocol, horizon, numbers).problem(policy, seed, draws)


def _made(pairs: Pairs, make: Callable[[Singles, AnyArray], Singles], rows: int) -> Iterator[Singles]:
    """Features of the pairs, block by block: [n, d], or [n, K, d] where there are K actions per state."""
    shape = pairs.shape[1:-1]
    for start in range(0, len(pairs), rows):
        states, actions = pairs.raw(slice(start, start + rows))
        if shape:
            states, actions = np.repeat(states, shape[0], axis=0), actions.reshape(-1, *actions.shape[2:])
        features = make(states, actions)
        yield features.reshape(-1, *shape, features.shape[-1])


def _stored(blocks: Iterator[Singles]) -> Stored:
    return Stored(spill(blocks))


def _episode_ends(dataset: Dataset) -> Booleans:
    ends = np.zeros(len(dataset), bool)
    ends[dataset.last_rows] = True
    return ends


def normaliser(observations: Singles, sizes: Singles | None = None) -> tuple[Singles, Singles]:
    """Mean and standard deviation per column, in double precision over the logged states, in blocks. A deviation below
    `STD_FLOOR` is rounding; where a column's largest numbers (`sizes`) are small, below that share of them."""
    parts = blocks(len(observations))
    total, squares, largest = (np.zeros(observations.shape[1]) for _ in range(3))

    def sums(part: slice) -> tuple[Floats, Singles]:
        found = observations[part].sum(axis=0, dtype=np.float64), np.abs(observations[part]).max(axis=0)
        release(observations)
        return found

    def squared(part: slice) -> Floats:
        found = ((observations[part] - mean) ** 2).sum(axis=0)
        release(observations)
        return np.asarray(found)

    for added, most in in_order(sums, parts):
        total, largest = total + added, np.maximum(largest, most)
    mean = total / len(observations)
    for added in in_order(squared, parts):
        squares += added
    std = np.sqrt(squares / len(observations))
    largest = largest if sizes is None else sizes
    floor = STD_FLOOR * np.where(largest > LEAST, np.minimum(largest, 1.0), 1.0)
    return mean.astype(np.float32), np.maximum(std, floor).astype(np.float32)


def _action_width(dataset: Dataset, policy: Policy) -> int | None:
    """Size of the one-hot code, or None for continuous actions."""
    if dataset.num_actions is None:
        return None
    return max(dataset.num_actions, policy.action_size or 0)
