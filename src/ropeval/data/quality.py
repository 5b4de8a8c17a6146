"""What looks wrong in a log that can be read: facts for `ropeval data info`, and warnings in plain sentences."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ropeval.arrays import AnyArray, Floats, Integers
from ropeval.blocks import BLOCK, blocks, in_order
from ropeval.data.dataset import Dataset
from ropeval.data.extremes import extremes
from ropeval.data.probabilities import looks_like_propensities
from ropeval.files import release

MAX_CHOICES = 9  # of a number that may be a choice: more of them are more likely an amount
COMPARED = 200_000  # rows by which equal columns are looked for
FAR = 100.0  # times the width of 98 % of the actions, beyond which one is not of their kind
SHIFTED = 0.01  # of the steps inside episodes that do not lead to the next row, from which on a warning is due
NORMALISED_MEAN, NORMALISED_STD = 0.02, 0.05  # how near 0 and 1 every column of a standardised log comes
ALWAYS = 0.999
LEAST_NAMED = 20  # episodes, of which a number may be the name: fewer may differ in something by chance
COARSE = 10.0  # times what a number is rounded to: changes that are smaller are mostly rounding


@dataclass(frozen=True, eq=False)
class Ranges:
    """Of the columns of a matrix [n, size], in one pass over its blocks."""

    low: Floats
    high: Floats
    mean: Floats
    std: Floats


@dataclass(frozen=True, eq=False)
class Summary:
    """What `ropeval data info` shows."""

    steps: int
    episodes: int
    lengths: Integers  # [E]
    terminated: int  # episodes that ended by the task's own rule
    truncated: int  # that were cut off
    open: int  # that end with neither flag
    rewards: Ranges
    returns: Floats  # [E] undiscounted
    observations: Ranges
    actions: Ranges | Integers  # or how often each discrete action was taken
    log_probs: Ranges | None  # of the logged actions, where the log has them
    labels: tuple[list[str], list[str]]  # of observations and actions
    constant: list[str]  # columns that never change
    equal: list[tuple[str, str]]  # columns that are the same
    warnings: list[str]


def summarise(dataset: Dataset, single_steps: bool = False) -> Summary:
    """One pass over every column, in blocks. `single_steps`: that episodes have one step is no surprise."""
    lengths = np.diff(dataset.starts)
    last = dataset.last_rows
    terminated, truncated = int(dataset.terminations[last].sum()), int(dataset.truncations[last].sum())
    observations = ranges(dataset.observations)
    rewards = ranges(dataset.rewards[:, None])
    actions = ranges(dataset.actions) if dataset.num_actions is None else _counts(dataset)
    labels, action_labels = dataset.labels
    constant = [labels[i] for i in np.flatnonzero(observations.low == observations.high)]
    if isinstance(actions, Ranges):
        constant += [action_labels[i] for i in np.flatnonzero(actions.low == actions.high)]
    return Summary(
        steps=len(dataset),
        episodes=dataset.num_episodes,
        lengths=lengths,
        terminated=terminated,
        truncated=truncated,
        open=len(last) - terminated - truncated,
        rewards=rewards,
        returns=_returns(dataset),
        observations=observations,
        actions=actions,
        log_probs=None if dataset.log_probs is None else ranges(dataset.log_probs[:, None]),
        labels=(labels, action_labels),
        constant=constant,
        equal=_equal_columns(dataset, set(constant)),
        warnings=warnings_of(dataset, observations, rewards, actions, single_steps),
    )


def ranges(matrix: AnyArray) -> Ranges:
    low, high = np.full(matrix.shape[1], np.inf), np.full(matrix.shape[1], -np.inf)
    total, squares = np.zeros(matrix.shape[1]), np.zeros(matrix.shape[1])
    shift = matrix[0].astype(np.float64)  # squares of small numbers lose nothing

    def looked_at(part: slice) -> tuple[AnyArray, ...]:
        block = np.asarray(matrix[part], np.float64)
        moved = block - shift
        release(matrix)
        return *extremes(block), moved.sum(axis=0), (moved**2).sum(axis=0)

    for least, most, added, added_squares in in_order(looked_at, blocks(len(matrix))):
        low, high = np.minimum(low, least), np.maximum(high, most)
        total += added
        squares += added_squares
    mean = total / len(matrix)
    return Ranges(low, high, mean + shift, np.sqrt(np.maximum(squares / len(matrix) - mean**2, 0.0)))


def warnings_of(
    dataset: Dataset, observations: Ranges, rewards: Ranges, actions: Ranges | Integers, single_steps: bool = False
) -> list[str]:
    """Sentences, each with what to do."""
    found = _flag_warnings(dataset, single_steps) + _boundary_warnings(dataset)
    if _looks_standardised(observations):
        found.append(
            "every observation column has mean 0 and standard deviation 1: the log looks normalised. Policies are "
            "asked about the observations as they are logged; a policy that expects raw ones needs the raw log"
        )
    if dataset.log_probs is not None and dataset.num_actions is None and looks_like_propensities(dataset.log_probs):
        found.append(
            "every log_prob lies between 0 and 1: are these densities, not their logarithms? Densities belong into "
            "propensities"
        )
    found += _odd_columns(dataset, observations)
    if (observations.low == observations.high).all():
        found.append("no observation ever changes: states cannot be told apart, and what a policy does hardly matters")
    if rewards.low[0] == rewards.high[0]:
        found.append(f"every reward is {rewards.low[0]:g}: only the lengths of episodes tell policies apart")
    if isinstance(actions, Ranges):
        fixed = np.flatnonzero(actions.low == actions.high)
        if len(fixed) == len(actions.low):
            found.append("the action never changes: nothing can be learned about any other")
        found += _far_actions(dataset, actions)
        if dataset.actions.shape[1] == 1 and _are_counts(dataset.actions, actions.high[0]):
            found.append(
                f"actions are whole numbers up to {actions.high[0]:g}, stored as floats, and so taken as continuous; "
                "if they are choices, store integers"
            )
    else:
        unused = np.flatnonzero(actions == 0)
        if len(unused):
            names = dataset.action_names or range(len(actions))
            shown = ", ".join(str(names[i]) for i in unused[:10])
            from_one = "; do yours count from 1? Then take 1 off" if unused.tolist() == [0] else ""
            found.append(f"discrete actions that never occur: {shown}; of their effect the log says nothing{from_one}")
    return found


def _odd_columns(dataset: Dataset, observations: Ranges) -> list[str]:
    """Columns that a table has, and that are no part of a state: what names an episode, and the time of day."""
    found, every = [], max(1, len(dataset) // COMPARED)
    inside = ~np.isin(np.arange(0, len(dataset), every), dataset.last_rows)  # what follows an end may be anything
    seen = (np.asarray(m[::every][inside], np.float64) for m in (dataset.next_observations, dataset.observations))
    changes, first = np.abs(np.subtract(*seen)), np.asarray(dataset.initial_observations)
    reach = np.maximum(np.abs(observations.low), np.abs(observations.high))
    for i, name in enumerate(dataset.labels[0]):
        moves = changes[changes[:, i] > 0.0, i]
        unit = float(np.spacing(np.float32(reach[i])))  # what numbers of this size are rounded to
        if len(moves) == 0 and len(first) >= LEAST_NAMED and _are_names(first[:, i]):
            found.append(
                f"{name} is another whole number in every episode, and never changes in it: if it is but the episode's "
                "name, leave it out of the observations; networks learn it by heart"
            )
        elif len(moves) and unit >= 1.0 and np.median(moves) < COARSE * unit:
            found.append(
                f"{name} goes up to {reach[i]:.4g}, where numbers are rounded to multiples of {unit:g} (they are held "
                "in 32 bits), which is about as much as it changes by: if it is a time, count it from the start of the "
                "episode, or leave it out"
            )
    return found


def _are_names(values: AnyArray) -> bool:
    return bool((values == np.round(values)).all()) and len(np.unique(values)) == len(values)


def _far_actions(dataset: Dataset, actions: Ranges) -> list[str]:
    """A slip of the decimal point, or an action that the task would have cut off: networks see all others as one."""
    some = np.asarray(dataset.actions[:: max(1, len(dataset) // COMPARED)], np.float64)
    low, high = np.quantile(some, [0.01, 0.99], axis=0)  # [A] each
    reach = FAR * np.where(high > low, high - low, np.inf)
    return [
        f"{name} goes from {actions.low[i]:.4g} to {actions.high[i]:.4g}, but 98% of it lies between {low[i]:.4g} and "
        f"{high[i]:.4g}: are there actions outside the task's space? Cut them off as the task does, or drop them"
        for i, name in enumerate(dataset.labels[1])
        if actions.high[i] > high[i] + reach[i] or actions.low[i] < low[i] - reach[i]
    ]


def log_warnings(dataset: Dataset, single_steps: bool = False) -> list[str]:
    """The warnings alone."""
    actions = ranges(dataset.actions) if dataset.num_actions is None else _counts(dataset)
    rewards = ranges(dataset.rewards[:, None])
    return warnings_of(dataset, ranges(dataset.observations), rewards, actions, single_steps)


def _flag_warnings(dataset: Dataset, single_steps: bool) -> list[str]:
    lengths = np.diff(dataset.starts)
    episodes, ended = len(dataset.last_rows), int(dataset.terminations[dataset.last_rows].sum())
    found = []
    if episodes > 1 and (lengths == lengths.max()).mean() > ALWAYS and ended == episodes and lengths.max() > 1:
        found.append(
            f"every episode has {lengths.max()} steps and terminates there: if that is a time limit, these are "
            "truncations (terminations and truncations swapped?), and the value beyond the limit is lost"
        )
    capped = lengths == lengths.max()
    if 1 < capped.sum() < episodes and not dataset.terminations[dataset.starts[1:][~capped & (lengths > 0)] - 1].any():
        at_limit = dataset.terminations[dataset.starts[1:][capped] - 1]
        if at_limit.all():
            found.append(
                f"only the longest episodes ({lengths.max()} steps) terminate and all shorter ones are truncated: "
                "terminations and truncations look swapped"
            )
    if episodes == 1 and len(dataset) > 2000:
        found.append("the whole log is one episode: are the ends of episodes marked?")
    if (lengths <= 1).mean() > 0.5 and dataset.num_episodes > 10 and not single_steps:
        found.append(
            "most episodes have a single step: are terminations or truncations true on every row by mistake? (In the "
            "log of a bandit they are, and γ is 0)"
        )
    return found


def _boundary_warnings(dataset: Dataset) -> list[str]:
    """Inside an episode, a row's next observation is the next row's observation, unless boundaries are shifted."""
    inside = np.ones(len(dataset), bool)
    inside[dataset.last_rows] = False
    broken = 0
    first_bad = -1
    for start in range(0, len(dataset) - 1, BLOCK):
        stop = min(start + BLOCK, len(dataset) - 1)
        follows = dataset.observations[start + 1 : stop + 1]
        bad = inside[start:stop] & (np.abs(dataset.next_observations[start:stop] - follows) > 1e-3).any(axis=1)
        broken += int(bad.sum())
        if first_bad < 0 and bad.any():
            first_bad = start + int(np.argmax(bad))
        release(dataset.observations)
        release(dataset.next_observations)
    total = int(inside.sum())
    if total == 0 or broken <= SHIFTED * total:
        return []
    return [
        f"{broken} of {total} steps inside episodes do not lead to the observation of the next row (first: row "
        f"{first_bad}): are the ends of episodes shifted or missing, or is the log a sample of single steps?"
    ]


def _looks_standardised(observations: Ranges) -> bool:
    varying = observations.std > 0
    return bool(
        varying.sum() > 1
        and (np.abs(observations.mean[varying]) < NORMALISED_MEAN).all()
        and (np.abs(observations.std[varying] - 1.0) < NORMALISED_STD).all()
    )


def _are_counts(actions: AnyArray, highest: float) -> bool:
    """Whether they may be a few choices."""
    few = highest <= MAX_CHOICES
    return few and all(bool(((block >= 0) & (block == block.astype(int))).all()) for block in _blocks(actions))


def _counts(dataset: Dataset) -> Integers:
    return np.bincount(dataset.actions, minlength=dataset.num_actions or 0)


def _returns(dataset: Dataset) -> Floats:
    """[E] sums of rewards, episodes without a row left out."""
    starts = dataset.starts[:-1][np.diff(dataset.starts) > 0]
    return np.asarray(np.add.reduceat(dataset.rewards, starts, dtype=np.float64))


def _equal_columns(dataset: Dataset, constant: set[str]) -> list[tuple[str, str]]:
    """Pairs of columns with the same values, judged by evenly spaced rows."""
    every = max(1, len(dataset) // COMPARED)
    labels, action_labels = dataset.labels
    columns = list(zip(labels, np.asarray(dataset.observations[::every]).T, strict=True))
    if dataset.num_actions is None:
        columns += zip(action_labels, np.asarray(dataset.actions[::every]).T, strict=True)
    seen: dict[bytes, str] = {}
    pairs = []
    for name, values in columns:
        if name in constant:
            continue
        first = seen.setdefault(np.ascontiguousarray(values).tobytes(), name)
        if first != name:
            pairs.append((first, name))
    return pairs


def _blocks(matrix: AnyArray) -> Iterator[Floats]:
    for start in range(0, len(matrix), BLOCK):
        yield np.asarray(matrix[start : start + BLOCK], np.float64)
        release(matrix)
