"""A log of episodes as flat arrays with offsets, validated once, when it is made."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropeval.data.column_names import check_found
from ropeval.data.probabilities import check_log_probs, from_propensities
from ropeval.errors import UserError
from ropeval.files import release
from ropeval.notebook import ShownInNotebook
from ropeval.policies.policy import LARGEST, Space

Floats = NDArray[np.float32]
HASHED = 1 << 18  # rows at a time


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

    @cached_property
    def space(self) -> Space:
        """What a policy must fit: sizes, and the range of the logged actions."""
        if self.num_actions is not None:
            return Space(self.observations.shape[1], self.num_actions, discrete=True, action_names=self.action_names)
        low, high = self.actions.min(axis=0), self.actions.max(axis=0)
        return Space(self.observations.shape[1], self.actions.shape[1], discrete=False, low=low, high=high)

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

    @cached_property
    def sha256(self) -> str:
        """Hash of the content, not of the files: the same log in one file or in ten has the same hash."""
        digest = hashlib.sha256()
        for array in (
            self.observations,
            self.actions,
            self.rewards,
            self.terminations,
            self.truncations,
            self.next_observations,
            self.initial_observations,
            self.starts,
            self.log_probs,
        ):
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
    def from_columns(columns: dict[str, NDArray[Any]], name: str = "log", notices: Sequence[str] = ()) -> "Dataset":
        """Check the columns of one log (Minari's names) and put its episodes in order."""
        return _build(columns, name, list(notices))

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
            **{c: join(c) for c in _JOINED},
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


_JOINED = (
    "observations",
    "actions",
    "rewards",
    "terminations",
    "truncations",
    "next_observations",
    "initial_observations",
)


def _build(raw: dict[str, NDArray[Any]], name: str, notices: list[str]) -> Dataset:
    columns = {key: np.asarray(value) for key, value in raw.items()}
    check_found(columns, {}, sorted(columns), name)
    steps = len(columns["rewards"]) if columns["rewards"].ndim else 0
    if steps == 0:
        raise UserError(f"{name}: the log is empty (rewards has no rows)")

    observations = _matrix(columns, "observations", steps, name)
    actions, num_actions = _actions(columns, steps, name)
    rewards = _vector(columns, "rewards", steps, name)
    terminations = _flags(columns, "terminations", steps, name)
    known = "truncations" in columns  # otherwise every episode that did not terminate was cut off at its end
    truncations = _flags(columns, "truncations", steps, name) if known else np.zeros(steps, bool)
    log_probs = _log_probs(columns, steps, name, num_actions is not None, notices)
    following = _matrix(columns, "next_observations", steps, name) if "next_observations" in columns else None
    if following is not None and following.shape != observations.shape:
        raise UserError(
            f"{name}: next_observations has shape {following.shape}, observations {observations.shape}; they must agree"
        )

    order, starts = _episodes(columns, terminations | truncations, steps, name, notices)
    observations, actions, rewards = observations[order], actions[order], rewards[order]
    terminations, truncations = terminations[order], truncations[order]
    log_probs = log_probs[order] if log_probs is not None else None
    if not known:
        truncations[starts[1:] - 1] = True
    initial = observations[starts[:-1]]  # [E, S]

    if following is not None:
        following = following[order]
    else:
        last = starts[1:] - 1  # [E] final row of each episode
        following = np.concatenate([observations[1:], observations[-1:]])
        following[last] = observations[last]  # only kept where the episode terminated: its discount is 0
        lost = last[~terminations[last]]
        if len(lost):
            keep = np.ones(steps, bool)
            keep[lost] = False
            notices.append(
                f"{len(lost)} of {steps} steps were dropped: the last of an unterminated episode, whose "
                "successor is not in the log (give next_observations to keep them)"
            )
            starts = np.concatenate([[0], np.cumsum(keep)])[starts]
            observations, actions, rewards, following = (a[keep] for a in (observations, actions, rewards, following))
            terminations, truncations = terminations[keep], truncations[keep]
            cut = starts[1:][np.isin(last, lost) & (np.diff(starts) > 0)] - 1  # where these episodes now end
            truncations[cut] = True
            log_probs = log_probs[keep] if log_probs is not None else None
            if not keep.any():
                raise UserError(
                    f"{name}: no step has a known successor (every episode is one unterminated step and "
                    "there are no next_observations); add next_observations"
                )
    return Dataset(
        observations=observations,
        actions=actions,
        rewards=rewards,
        terminations=terminations,
        truncations=truncations & ~terminations,  # both flags true: termination wins
        next_observations=following,
        initial_observations=initial,
        starts=starts.astype(np.int64),
        log_probs=log_probs,
        num_actions=num_actions,
        name=name,
        notices=tuple(notices),
    )


def _episodes(
    columns: dict[str, NDArray[Any]], ends: NDArray[np.bool_], steps: int, name: str, notices: list[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(order [N], starts [E+1]): the rows sorted into contiguous episodes, in order of first appearance."""
    if "episode_ids" not in columns:
        cuts = np.flatnonzero(ends) + 1
        cuts = cuts if len(cuts) and cuts[-1] == steps else np.append(cuts, steps)
        return np.arange(steps), np.concatenate([[0], cuts])
    ids = columns["episode_ids"]
    _check_rows(ids.reshape(-1) if ids.ndim == 2 and ids.shape[1] == 1 else ids, "episode_ids", steps, name)
    if ids.dtype.kind == "f" and np.isnan(ids).any():
        row = int(np.flatnonzero(np.isnan(ids.reshape(-1)))[0])
        raise UserError(f"{name}: episode_ids is nan in row {row}; every step needs its episode")
    _, first, group = np.unique(ids.reshape(-1), return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    order = np.argsort(rank[group], kind="stable")
    if (order != np.arange(steps)).any():
        notices.append("episodes were interleaved in the log; their rows were grouped by episode_ids")
    starts = np.concatenate([[0], np.cumsum(np.bincount(rank[group]))])
    inside = np.ones(steps, bool)
    inside[starts[1:] - 1] = False
    bad = np.flatnonzero(ends[order] & inside)
    if len(bad):
        row = int(order[bad[0]])
        raise UserError(
            f"{name}: row {row} ends its episode (terminations or truncations is true) but episode_ids "
            f"{ids.reshape(-1)[row]!r} goes on after it; check the ids or the flags"
        )
    return order, starts


def _check_rows(array: NDArray[Any], key: str, steps: int, name: str, ndim: int = 1) -> None:
    if array.ndim != ndim:
        shape = "[N]" if ndim == 1 else "[N, size]"
        raise UserError(f"{name}: {key} has shape {array.shape}; expected {shape}")
    if len(array) != steps:
        raise UserError(
            f"{name}: {key} has {len(array)} rows but rewards has {steps}; every column needs one row per step "
            "(a column of T+1 observations per episode must be split into observations and next_observations)"
        )


def _numbers(array: NDArray[Any], key: str, name: str) -> Floats:
    if array.dtype.kind not in "fiub":
        raise UserError(f"{name}: {key} holds {array.dtype}, not numbers")
    with np.errstate(over="ignore"):
        result = array.astype(np.float32)
    finite = np.abs(result) <= LARGEST  # and no nan
    if not finite.all():
        at = tuple(int(i) for i in np.argwhere(~finite)[0])
        where = f"row {at[0]}" + (f", column {at[1]}" if len(at) > 1 else "")
        raise UserError(
            f"{name}: {key} is {array[at]} at {where} ({int((~finite).sum())} such values); "
            f"every value must be finite, and at most {LARGEST:g}: repair or drop those episodes"
        )
    return result


def _vector(columns: dict[str, NDArray[Any]], key: str, steps: int, name: str) -> Floats:
    array = columns[key]
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    _check_rows(array, key, steps, name)
    return _numbers(array, key, name)


def _matrix(columns: dict[str, NDArray[Any]], key: str, steps: int, name: str) -> Floats:
    array = columns[key]
    _check_rows(array, key, steps, name, ndim=2)
    if array.shape[1] == 0:
        raise UserError(f"{name}: {key} has shape {array.shape}; each row needs at least one number")
    return _numbers(array, key, name)


def _log_probs(
    columns: dict[str, NDArray[Any]], steps: int, name: str, discrete: bool, notices: list[str]
) -> Floats | None:
    if "log_probs" in columns:
        values = _vector(columns, "log_probs", steps, name)
        check_log_probs(values, discrete, name)
        return values
    if "propensities" not in columns:
        return None
    notices.append("the log holds probabilities of its actions (propensities); their logarithms are used as log_probs")
    return from_propensities(_vector(columns, "propensities", steps, name), discrete, name)


def _flags(columns: dict[str, NDArray[Any]], key: str, steps: int, name: str) -> NDArray[np.bool_]:
    values = _vector(columns, key, steps, name)
    odd = np.flatnonzero((values != 0) & (values != 1))
    if len(odd):
        raise UserError(f"{name}: {key} is {values[odd[0]]:g} at row {odd[0]}; flags must be 0 or 1")
    return values.astype(bool)


def _actions(columns: dict[str, NDArray[Any]], steps: int, name: str) -> tuple[NDArray[Any], int | None]:
    array = columns["actions"]
    if array.dtype.kind not in "iu":
        if array.ndim == 1:
            array = array[:, None]
        return _matrix({"actions": array}, "actions", steps, name), None
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise UserError(
            f"{name}: actions are integers of shape {array.shape}; discrete actions are one integer per step "
            "(continuous actions must be stored as floats)"
        )
    _check_rows(array, "actions", steps, name)
    if array.min() < 0:
        row = int(np.argmin(array))
        raise UserError(f"{name}: actions is {array[row]} at row {row}; discrete actions count from 0")
    count = int(array.max()) + 1
    if "num_actions" in columns:
        count, declared = _count(columns["num_actions"], name), count
        if count < declared:
            raise UserError(f"{name}: num_actions is {count} but action {declared - 1} occurs")
    if count > 10_000:
        raise UserError(f"{name}: actions go up to {count - 1}; are these really discrete actions?")
    return array.astype(np.int32), count


def _count(array: NDArray[Any], name: str) -> int:
    """A number of actions, given as one whole number."""
    found = array.reshape(-1)[0].item() if array.size == 1 and array.dtype.kind in "iuf" else None
    if found is None or not float(found).is_integer():
        held = str(array.reshape(-1)[0])[:40] if array.size == 1 else f"{array.size} values"
        raise UserError(f"{name}: num_actions is {held}; expected one whole number")
    return int(found)
