"""What a policy is, and how it is asked: in batches, and with its answers checked."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from ropeval.arrays import AnyArray, Floats, Singles
from ropeval.blocks import in_order
from ropeval.errors import UserError
from ropeval.files import release

if TYPE_CHECKING:
    from ropeval.policies.compiled import CompiledPolicy

Part = TypeVar("Part")
Found = TypeVar("Found")
Mode = Literal["stochastic", "mean", "offset"]  # how an action is taken
MODES: tuple[Mode, ...] = ("stochastic", "mean", "offset")
UNUSUAL = 0.01  # of the logged observations outside a policy's range, beyond which it is worth a note
SUM_SLACK = 1e-3  # of probabilities that should sum to 1
LARGEST = 1e15  # of a number in an action: its square, summed over a log, is still a float32
ALL_AT_ONCE = "it is asked about all rows at once, and a function f of one row is lambda rows: [f(row) for row in rows]"
BATCH = 65_536  # states asked about at a time, which bounds the memory of hidden layers


@dataclass(frozen=True, eq=False)
class Space:
    """What a log offers and a policy must fit."""

    observation_size: int
    action_size: int  # length of an action vector, or the number of discrete actions
    discrete: bool
    low: Singles | None = None  # [A] smallest and
    high: Singles | None = None  # [A] largest action in the log
    action_names: tuple[str, ...] | None = None  # where the log has words for them
    states: int | None = None  # observations are whole numbers below this, one each


class Policy(ABC):
    """π(a|s). Subclasses give `sample`; the rest describes them."""

    name: str
    deterministic: bool
    observation_size: int | None = None  # None: takes anything
    action_size: int | None = None  # length of an action, or the number of discrete actions
    discrete: bool | None = None  # None: unknown until it has answered
    observation_range: tuple[Singles, Singles] | None = None  # [S] each; of its training

    @abstractmethod
    def sample(self, observations: Singles, rng: np.random.Generator) -> AnyArray:
        """Raw observations [n, S] → actions [n, A], or [n] integers where actions are discrete."""

    def draws(self, observations: Singles, count: int, rng: np.random.Generator) -> Iterable[AnyArray]:
        """What `sample` gives when it is asked so often; subclasses may know a shorter way."""
        return [self.sample(observations, rng) for _ in range(count)]

    @property
    def side_by_side(self) -> bool:
        """Whether blocks of states may be asked about in several threads at once. `draws` then takes all that it needs
        of `rng` when it is called, and does the rest when its answer is gone through."""
        return False

    def log_prob(self, observations: Singles, actions: AnyArray) -> Floats:
        """log π(a|s) of given actions, [n]; subclasses that know it say so by overriding this."""
        raise UserError(f"policy {self.name}: it cannot tell the probability of an action (it has no log_prob)")

    @property
    def has_log_prob(self) -> bool:
        """Whether `log_prob` answers. A deterministic policy has no density."""
        return not self.deterministic and type(self).log_prob is not Policy.log_prob

    @property
    def has_probabilities(self) -> bool:
        """Whether `log_probs` answers: a deterministic choice has the probabilities 0 and 1."""
        return self.has_log_prob or (self.deterministic and bool(self.discrete))

    def action_probabilities(self, observations: Singles) -> Floats | None:
        """π(a|s) of every discrete action, [n, A]; None where actions are continuous or their probabilities unknown."""
        if not self.discrete or not self.has_probabilities:
            return None
        assert self.action_size is not None
        if self.deterministic:
            return np.eye(self.action_size)[_chosen(self, observations)]
        every = [log_probs(self, observations, np.full(len(observations), a)) for a in range(self.action_size)]
        return np.exp(np.stack(every, axis=1))

    def compiled(self) -> "CompiledPolicy | None":
        """The policy for use inside programs that JAX compiles; None where it is no arithmetic over arrays."""
        return None

    def features(self, observations: Singles, actions: AnyArray) -> AnyArray:
        """Features [n, d] of state-action pairs that the policy itself was trained with, where it has any."""
        raise UserError(f"policy {self.name}: it has no features of its own")

    @property
    def has_features(self) -> bool:
        """Whether `features` answers."""
        return type(self).features is not Policy.features

    @property
    def box(self) -> tuple[Singles, Singles] | None:
        """Bounds [A] that its actions never leave, where that is known."""
        return None

    def notes(self, observations: Singles) -> list[str]:
        """What makes logged observations [n, S] look unlike those that it was trained on, in sentences."""
        if self.observation_range is None:
            return []
        low, high = self.observation_range
        slack = 0.01 * (1.0 + np.minimum(np.abs(low), np.abs(high)))  # environments overstep their bounds a little
        outside = ((observations < low - slack) | (observations > high + slack)).mean(axis=0)  # [S]
        if outside.max(initial=0.0) <= UNUSUAL:
            return []
        worst = int(outside.argmax())
        return [
            f"policy {self.name}: {outside[worst]:.0%} of the logged observations have a number {worst} outside "
            f"[{low[worst]:.4g}, {high[worst]:.4g}], the range that it was trained for; is the log normalised, or of "
            "another task? A policy has to see what it saw in training"
        ]

    @property
    def sha256(self) -> str | None:
        """Hash of what decides its actions, where that is known."""
        return None

    def named(self, name: str) -> "Policy":
        """The same policy under another name."""
        renamed = copy.copy(self)
        renamed.name = name
        return renamed

    @property
    def kind(self) -> str:
        return "deterministic" if self.deterministic else "stochastic"

    def check(self, space: Space) -> None:
        """Refuse a space that the policy does not fit. Changes nothing."""
        if self.observation_size not in (None, space.observation_size):
            raise UserError(
                f"policy {self.name}: it takes observations of size {self.observation_size}, but the log's "
                f"have size {space.observation_size}; are policy and log of the same task?"
            )
        if self.discrete is not None and self.discrete != space.discrete:
            wants, has = ("discrete", "continuous") if self.discrete else ("continuous", "discrete")
            raise UserError(f"policy {self.name}: its actions are {wants}, but the log's are {has}")
        too_few = space.discrete and self.action_size is not None and self.action_size < space.action_size
        differs = not space.discrete and self.action_size not in (None, space.action_size)
        if too_few or differs:
            unit = "discrete actions" if space.discrete else "numbers per action"
            raise UserError(
                f"policy {self.name}: it has {self.action_size} {unit}, but the log has {space.action_size}; "
                "are policy and log of the same task?"
            )

    def fitted(self, space: Space) -> "Policy":
        """The policy as it acts in this space: refused if it does not fit, otherwise itself, or a copy that took from
        the space what it left open. The policy itself is never changed: it may be put to another log."""
        size = self.observation_size or 0
        if space.states is not None and size > 1 and size >= space.states:
            from ropeval.policies.through import OfCodes

            return OfCodes(self.fitted(replace(space, observation_size=size, states=None)), size)
        self.check(space)
        return self._told(space)

    def _told(self, space: Space) -> "Policy":
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.name!r} ({self.kind})"


def draw_actions(policy: Policy, observations: Singles, count: int, rng: np.random.Generator) -> AnyArray:
    """`count` actions for each observation: [n, count, A], or [n, count] integers; checked."""
    blocks = draw_in_blocks(policy, observations, count, rng)
    first = next(blocks)
    if len(first) == len(observations):
        return first
    drawn = np.empty((len(observations), *first.shape[1:]), first.dtype)
    for start, block in zip(range(0, len(drawn), BATCH), chain([first], blocks), strict=True):
        drawn[start : start + BATCH] = block  # joined in the end, they would be held twice
    return drawn


def draw_in_blocks(policy: Policy, observations: Singles, count: int, rng: np.random.Generator) -> Iterator[AnyArray]:
    """The same actions block by block, for those who cannot hold them all."""

    def begun(start: int) -> tuple[Singles, Iterable[AnyArray]]:
        batch = observations[start : start + BATCH]
        with np.errstate(over="ignore", invalid="ignore"):  # what comes of it is refused, and says so
            return batch, policy.draws(batch, count, rng)

    def answered(asked: tuple[Singles, Iterable[AnyArray]]) -> AnyArray:
        batch, draws = asked
        with np.errstate(over="ignore", invalid="ignore"):
            actions = np.stack([_checked(policy, drawn, batch) for drawn in draws], axis=1)
        release(observations)  # where they are mapped, the pages need not be kept
        return actions

    yield from _block_by_block(policy, answered, map(begun, range(0, len(observations), BATCH)))


def _block_by_block(policy: Policy, look: Callable[[Part], Found], parts: Iterable[Part]) -> Iterator[Found]:
    """`look` of every part, side by side where the policy bears that; else one after another, as its author expects."""
    yield from (in_order if policy.side_by_side else map)(look, parts)


def every_action(policy: Policy, observations: Singles, rng: np.random.Generator) -> tuple[NDArray[np.int32], Singles]:
    """All discrete actions for each observation, [n, A], and their probabilities, [n, A]. The first is a drawn one, so
    that whoever wants a single action of the policy takes that."""
    assert policy.action_size is not None
    actions = np.empty((len(observations), policy.action_size), np.int32)
    weight = np.empty(actions.shape, np.float32)

    def chances_of(block: slice) -> Floats | None:
        return policy.action_probabilities(observations[block])

    parts = [slice(start, start + BATCH) for start in range(0, len(observations), BATCH)]
    for block, chances in zip(parts, _block_by_block(policy, chances_of, parts), strict=True):  # [n, A]
        assert chances is not None
        total = chances.sum(axis=1, keepdims=True)
        odd = np.flatnonzero(np.abs(total[:, 0] - 1.0) > SUM_SLACK)
        if len(odd):
            raise UserError(
                f"policy {policy.name}: its probabilities of the {policy.action_size} actions sum to "
                f"{total[odd[0], 0]:.4g} at observation {observations[block][odd[0]]}; expected 1: mend its log_prob"
            )
        chances = chances / total
        drawn = (chances.cumsum(axis=1) < rng.random((len(chances), 1))).sum(axis=1)
        drawn = np.minimum(drawn, policy.action_size - 1)  # the last sum may be a little below 1
        ours = np.tile(np.arange(policy.action_size, dtype=np.int32), (len(chances), 1))
        ours[np.arange(len(ours)), drawn], ours[:, 0] = 0, drawn  # they change places
        actions[block], weight[block] = ours, np.take_along_axis(chances, ours, axis=1)
        release(observations)
    return actions, weight


def log_probs(policy: Policy, observations: Singles, actions: AnyArray) -> Floats:
    """log π(a|s) of every row [n]; checked. Impossible actions have −∞."""
    if policy.discrete and policy.deterministic:
        return np.where(_chosen(policy, observations) == actions, 0.0, -np.inf)

    def answered(start: int) -> Floats:
        return _checked_log_probs(policy, observations[start : start + BATCH], actions[start : start + BATCH])

    return np.concatenate(list(_block_by_block(policy, answered, range(0, len(observations), BATCH))))


def _chosen(policy: Policy, observations: Singles) -> AnyArray:
    """The one action of a deterministic policy in every state, [n]."""
    return draw_actions(policy, observations, 1, np.random.default_rng(0))[:, 0]


def _checked_log_probs(policy: Policy, observations: Singles, actions: AnyArray) -> Floats:
    with np.errstate(over="ignore", invalid="ignore"):
        answer = np.asarray(policy.log_prob(observations, actions))
    if answer.shape == (len(observations), 1):
        answer = answer[:, 0]
    if answer.shape != (len(observations),):
        raise UserError(
            f"policy {policy.name}: for {len(observations)} actions its log_prob gave an answer of shape "
            f"{answer.shape}; expected ({len(observations)},), the sum over the numbers of an action"
        )
    if answer.dtype.kind not in "fiu":
        raise UserError(f"policy {policy.name}: its log_prob gave {answer.dtype}, not numbers")
    answer = answer.astype(np.float64)
    bad = np.isnan(answer) | (answer == np.inf)
    if policy.discrete:
        bad |= answer > 1e-6
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise UserError(
            f"policy {policy.name}: its log_prob gave {answer[row]} for action {actions[row]} at observation "
            f"{observations[row]}; a logarithm of a probability was expected"
        )
    return answer


def _about_shape(policy: Policy, shape: tuple[int, ...]) -> str:
    if len(shape) == 2 and shape[1] == policy.action_size:
        return "; if these are probabilities, draw actions from them (docs/start/formats.md: A function)"
    return f"; {ALL_AT_ONCE}" if shape in ((), (policy.action_size,)) else ""


def _checked(policy: Policy, actions: Any, observations: Singles) -> AnyArray:
    actions = np.asarray(actions)
    if policy.discrete and actions.ndim == 2 and actions.shape[1] == 1:
        actions = actions[:, 0]
    if not policy.discrete and actions.ndim == 1 and policy.action_size == 1:
        actions = actions[:, None]
    expected = (len(observations),) if policy.discrete else (len(observations), policy.action_size)
    if actions.shape != expected:
        raise UserError(
            f"policy {policy.name}: for observations of shape {observations.shape} it gave actions of shape "
            f"{actions.shape}; expected {expected}{_about_shape(policy, actions.shape)}"
        )
    if policy.discrete:
        if actions.dtype.kind not in "iub":
            raise UserError(
                f"policy {policy.name}: the log's actions are integers, but it gave {actions.dtype}; return whole "
                "numbers, such as actions.astype(int)"
            )
        assert policy.action_size is not None
        outside = (actions < 0) | (actions >= policy.action_size)
        if outside.any():
            raise UserError(
                f"policy {policy.name}: it gave action {actions[outside][0]}, but the log has only actions "
                f"0 to {policy.action_size - 1} (if the task has more, give the log a field num_actions)"
            )
        return actions.astype(np.int32)
    if actions.dtype.kind not in "fiub":
        raise UserError(f"policy {policy.name}: it gave actions of type {actions.dtype}, not numbers")
    actions = actions.astype(np.float32, copy=False)
    sound = np.abs(actions) <= LARGEST  # and no nan
    if not sound.all():
        row = int(np.argwhere(~sound)[0][0])
        raise UserError(f"policy {policy.name}: it gave {actions[row]} for observation {observations[row]}")
    return actions
