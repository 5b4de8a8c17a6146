"""A log of episodes as flat arrays with offsets, validated once, when it is made."""

import copy
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropeval.data.checked_columns import checked_columns
from ropeval.data.extremes import extremes
from ropeval.data.quantity import is_quantity
from ropeval.data.whole_numbers import WholeNumbers, whole_numbers
from ropeval.errors import UserError
from ropeval.files import mapping_of, release
from ropeval.notebook import ShownInNotebook
from ropeval.policies.policy import Space

Floats = NDArray[np.float32]
HASHED = 1 << 18  # rows at a time
STEPS = ("observations", "actions", "rewards", "terminations", "truncations", "next_observations")  # one row per step


@dataclass(frozen=True, eq=False)
class Dataset(ShownInNotebook):
    """N logged steps in E episodes. Make it with `Dataset.from_columns`, which checks everything.

    `starts[e]:starts[e+1]` are the rows of episode e. A step whose successor is unknown has been dropped,
    so an episode may hold no row at all; its first observation still counts as an initial state.
    """

    observations: Floats  # [N, S] as logged; policies see these
    actions: NDArray[Any]  # [N, A] float32, or [N] int32 for discrete actions
    rewards: Floats  # [N]
    terminations: NDArray[np.bool_]  # [N] the episode ended there by the task's own rule
    truncations: NDArray[np.bool_]  # [N] it was cut off: the value beyond still counts
    next_observations: Floats  # [N, S]
    initial_observations: Floats  # [E, S]
    starts: NDArray[np.int64]  # [E + 1]
    log_probs: Floats | None = None  # [N] log-probability of the logged action under the behaviour policy
    num_actions: int | None = None  # None: continuous actions
    observation_names: tuple[str, ...] | None = None  # [S] what the log calls them
    action_names: tuple[str, ...] | None = None  # [A] of the numbers of an action, or of the discrete actions
    name: str = "log"
    notices: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.rewards)

    @property
    def nbytes(self) -> int:
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))

    @property
    def num_episodes(self) -> int:
        return len(self.initial_observations)

    @property
    def last_rows(self) -> NDArray[np.int64]:
        """Of every episode that has one, in order."""
        return self.starts[1:][np.diff(self.starts) > 0] - 1

    @cached_property
    def space(self) -> Space:
        """What a policy must fit: sizes, and the range of the logged actions."""
        size, states = self.observations.shape[1], self._states
        if self.num_actions is not None:
            return Space(size, self.num_actions, discrete=True, action_names=self.action_names, states=states)
        low, high = extremes(self.actions)
        return Space(size, self.actions.shape[1], discrete=False, low=low, high=high, states=states)

    @cached_property
    def whole_numbers(self) -> WholeNumbers | None:
        """Which ones observations are, where each is one whole number: that of a state, perhaps."""
        if self.observations.shape[1] != 1:
            return None
        return whole_numbers((self.initial_observations, self.observations, self.next_observations))

    @cached_property
    def number_is_quantity(self) -> bool:
        """Whether observations, where each is one whole number, count something, as far as the log shows."""
        discrete = None if self.num_actions is None else self.actions
        here, after = self.observations[:, 0], self.next_observations[:, 0]
        return is_quantity(here, after, self.rewards, self.terminations, discrete)

    @property
    def _states(self) -> int | None:
        """How many there are at least, where an observation is the number of a state."""
        found = self.whole_numbers
        return None if found is None or found.least < 0 else int(found.largest) + 1

    @property
    def labels(self) -> tuple[list[str], list[str]]:
        """What to call the numbers of an observation [S], and those of an action or the discrete actions [A]."""
        observations = [f"observations[{i}]" for i in range(self.observations.shape[1])]
        if self.num_actions is None:
            actions = [f"actions[{i}]" for i in range(self.actions.shape[1])]
        else:
            actions = [f"action {i}" for i in range(self.num_actions)]
        return list(self.observation_names or observations), list(self.action_names or actions)

    def named(self, observations: Sequence[str] | None = None, actions: Sequence[str] | None = None) -> "Dataset":
        """The same log with names for observations and actions; of discrete actions there may be more than occur."""
        width = self.observations.shape[1]
        if observations is not None and len(observations) != width:
            raise UserError(f"{self.name}: {len(observations)} names for observations of {width} numbers")
        has = self.num_actions if self.num_actions is not None else self.actions.shape[1]
        if actions is not None and (len(actions) < has or (self.num_actions is None and len(actions) > has)):
            unit = "discrete actions" if self.num_actions is not None else "numbers per action"
            raise UserError(f"{self.name}: action_names gives {len(actions)} names, but the log has {has} {unit}")
        if actions is not None and len(set(actions)) < len(actions):
            raise UserError(
                f"{self.name}: action_names says {', '.join(actions)}; every action needs a name of its own"
            )
        return replace(
            self,
            observation_names=self.observation_names if observations is None else tuple(observations),
            action_names=self.action_names if actions is None else tuple(actions),
            num_actions=self.num_actions if actions is None or self.num_actions is None else len(actions),
        )

    def in_memory(self) -> "Dataset":
        """The same without memory maps, which are files of this machine. What is known of it, as its hash, stays."""
        held = copy.copy(self)
        vars(held).update(
            {name: np.array(value) for name, value in vars(self).items() if mapping_of(value) is not None}
        )
        return held

    @cached_property
    def sha256(self) -> str:
        """Hash of the content, not of the files: the same log in one file or in ten has the same hash."""
        digest = hashlib.sha256()
        for column in (*STEPS, "initial_observations", "starts", "log_probs"):
            array = getattr(self, column)
            if array is not None:
                digest.update(f"{array.dtype}{array.shape}".encode())
                for start in range(0, len(array), HASHED):
                    digest.update(np.ascontiguousarray(array[start : start + HASHED]).data)
                    release(array)
        digest.update(str(self.num_actions).encode())
        return digest.hexdigest()

    def __repr__(self) -> str:
        kind = (
            f"{self.num_actions} discrete actions"
            if self.num_actions is not None
            else f"actions in R^{self.actions.shape[1]}"
        )
        return (
            f"Dataset {self.name!r}: {len(self):,} steps in {self.num_episodes:,} episodes, "
            f"observations in R^{self.observations.shape[1]}, {kind}, "
            f"rewards {self.rewards.min():.4g} to {self.rewards.max():.4g} (mean {self.rewards.mean():.4g}), "
            f"{int(self.terminations.sum()):,} terminations, {int(self.truncations.sum()):,} truncations"
        )

    @staticmethod
    def from_columns(
        columns: dict[str, NDArray[Any]],
        name: str = "log",
        notices: Sequence[str] = (),
        *,
        given: bool = False,
        part: bool = False,
    ) -> "Dataset":
        """Check the columns of one log (Minari's names) and put its episodes in order. They are copied, unless they are
        `given` away: arrays that nobody else looks at, each under one name. A `part` of a log may be left without a
        step, where none has a successor."""
        said = list(notices)
        return Dataset(**checked_columns(columns, name, said, given, part), name=name, notices=tuple(said))

    @staticmethod
    def concatenate(parts: Sequence["Dataset"], name: str = "log") -> "Dataset":
        """Join logs whose parts each hold whole episodes."""
        if not parts:
            raise UserError(f"{name}: no logs to join")
        for part in parts[1:]:
            check_same_task(parts[0], part)
        offsets = np.cumsum([0] + [len(p) for p in parts])
        starts = [p.starts[:-1] + o for p, o in zip(parts, offsets[:-1], strict=True)] + [offsets[-1:]]
        with_probs = all(p.log_probs is not None for p in parts)
        counts = [p.num_actions for p in parts if p.num_actions is not None]

        def join(column: str) -> NDArray[Any]:
            return np.concatenate([getattr(p, column) for p in parts])

        return Dataset(
            **{column: join(column) for column in STEPS},
            initial_observations=join("initial_observations"),
            starts=np.concatenate(starts).astype(np.int64),
            log_probs=join("log_probs") if with_probs else None,
            num_actions=max(counts) if counts else None,
            observation_names=_shared([p.observation_names for p in parts]),
            action_names=_shared([p.action_names for p in parts]),
            name=name,
            notices=merge_notices(n for p in parts for n in p.notices),
        )


def _shared(names: Sequence[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    return names[0] if all(other == names[0] for other in names) else None


def check_same_task(first: Dataset, part: Dataset) -> None:
    """Refuse to join logs whose observations or actions have different shapes."""
    if (
        part.observations.shape[1] != first.observations.shape[1]
        or (part.num_actions is None) != (first.num_actions is None)
        or part.actions.shape[1:] != first.actions.shape[1:]
    ):
        raise UserError(
            f"{part.name}: its observations or actions have another shape than those of {first.name}; "
            "the parts of one log must come from one task"
        )


def merge_notices(notices: Iterable[str]) -> tuple[str, ...]:
    """Each notice once; where parts count steps (`3 of 40 steps …`), their counts are added up."""
    counts: dict[str, list[int]] = {}
    for notice in notices:
        counted = re.match(r"(\d+) of (\d+)( steps.*)", notice, re.DOTALL)
        sums = counts.setdefault(counted[3] if counted else notice, [0, 0])
        for place in (0, 1):
            sums[place] += int(counted[place + 1]) if counted else 0
    return tuple(f"{part} of {whole}{text}" if whole else text for text, (part, whole) in counts.items())
