"""The columns of a log, held to what a log must be, its rows in order of episodes: what a `Dataset` is made of."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropeval.data.column_names import check_found
from ropeval.data.probabilities import check_log_probs, from_propensities
from ropeval.errors import UserError
from ropeval.files import mapping_of
from ropeval.policies.policy import LARGEST

Floats = NDArray[np.float32]
Columns = dict[str, NDArray[Any]]
PIECE = 16  # rows that are worth a copy of their own


def checked_columns(
    raw: Columns, name: str, notices: list[str], given: bool = False, part: bool = False
) -> dict[str, Any]:
    """The fields of a `Dataset`. What was done to the log is added to the notices. `given`: the arrays may be kept and
    changed; from here on, those that may not are read-only. `part`: of a log, which may be left without a step."""
    columns = {key: np.asarray(value) if given else _read_only(value) for key, value in raw.items()}
    check_found(columns, {}, sorted(columns), name)
    steps = len(columns["rewards"]) if columns["rewards"].ndim else 0
    if steps == 0:
        raise UserError(f"{name}: the log is empty (rewards has no rows)")

    actions, num_actions = _actions(columns, steps, name)
    rows: Columns = {
        "observations": _matrix(columns, "observations", steps, name),
        "actions": actions,
        "rewards": _vector(columns, "rewards", steps, name),
        "terminations": _flags(columns, "terminations", steps, name),
    }
    known = "truncations" in columns  # otherwise every episode that did not terminate was cut off at its end
    rows["truncations"] = _flags(columns, "truncations", steps, name) if known else np.zeros(steps, bool)
    log_probs = _log_probs(columns, steps, name, num_actions is not None, notices)
    if log_probs is not None:
        rows["log_probs"] = log_probs
    if "next_observations" in columns:
        rows["next_observations"] = _matrix(columns, "next_observations", steps, name)
        shapes = rows["next_observations"].shape, rows["observations"].shape
        if shapes[0] != shapes[1]:
            raise UserError(
                f"{name}: next_observations has shape {shapes[0]}, observations {shapes[1]}; they must agree"
            )

    order, starts = _episodes(columns, rows["terminations"] | rows["truncations"], steps, name, notices)
    if order is not None:
        for key in rows:  # one by one: a log may fill half the memory
            rows[key] = rows[key][order]
    if not known:
        rows["truncations"][starts[1:] - 1] = True
    initial = rows["observations"][starts[:-1]]  # [E, S]
    if "next_observations" not in rows:
        starts = _add_successors(rows, starts, notices)
        if len(rows["rewards"]) == 0 and not part:
            raise no_successors(name)
    rows["truncations"] &= ~rows["terminations"]  # both flags true: termination wins
    return {**rows, "initial_observations": initial, "starts": starts.astype(np.int64), "num_actions": num_actions}


def _read_only(values: Any) -> NDArray[Any]:
    array = np.asarray(values).view()
    array.flags.writeable = False
    return array


def no_successors(name: str) -> UserError:
    return UserError(
        f"{name}: no step has a known successor (every episode is one unterminated step and "
        "there are no next_observations); add next_observations"
    )


def _add_successors(rows: Columns, starts: NDArray[Any], notices: list[str]) -> NDArray[Any]:
    """Adds `next_observations`, drops the steps whose successor is not in the log; `starts` [E+1] of what is left."""
    last, steps = starts[1:] - 1, len(rows["rewards"])  # [E] final row of each episode
    ended = rows["terminations"][last]
    lost = last[~ended]
    before = np.arange(len(last)) - np.cumsum(ended) + ended  # [E] steps that are dropped before each episode
    successors = _without(rows["observations"], lost, shift=1)
    successors[(last - before)[ended]] = rows["observations"][last[ended]]  # its own: the discount is 0 there
    if len(lost):
        notices.append(
            f"{len(lost)} of {steps} steps were dropped: the last of an unterminated episode, whose "
            "successor is not in the log (give next_observations to keep them)"
        )
        for key in rows:
            rows[key] = _moved_up(rows[key], lost)
        starts = np.append(starts[:-1] - before, steps - len(lost))
        cut = starts[1:][~ended & (np.diff(starts) > 0)] - 1  # where these episodes now end
        rows["truncations"][cut] = True
    rows["next_observations"] = successors
    return starts


def _moved_up(array: NDArray[Any], lost: NDArray[np.int64]) -> NDArray[Any]:
    """Without some rows, in its own memory where that is ours and pieces are long: new memory costs more."""
    ours = array.flags.writeable and mapping_of(array) is None  # what is mapped would be copied page by page
    if not ours or len(lost) * PIECE > len(array):
        return _without(array, lost)
    edges = [*lost.tolist(), len(array)]
    place = edges[0]
    for before, end in pairwise(edges):
        rows = array[before + 1 : end]
        array[place : place + len(rows)] = rows  # NumPy sees that they overlap
        place += len(rows)
    return array[:place]


def _without(array: NDArray[Any], lost: NDArray[np.int64], shift: int = 0) -> NDArray[Any]:
    """A copy without some rows; `shift`: of the rows that come so much later, and the last one in place of any beyond.
    Piece by piece, where pieces are long: that is as fast as memory."""
    if len(lost) * PIECE > len(array):
        kept = np.delete(np.arange(len(array)), lost)
        return array.take(np.minimum(kept + shift, len(array) - 1), axis=0)
    edges = zip([0, *(lost + 1).tolist()], [*lost.tolist(), len(array)], strict=True)
    pieces = [array[first + shift : end + shift] for first, end in edges]
    beyond = [array[-1:]] * (len(array) - len(lost) - sum(map(len, pieces)))
    return np.concatenate([*pieces, *beyond])


def _episodes(
    columns: Columns, ends: NDArray[np.bool_], steps: int, name: str, notices: list[str]
) -> tuple[NDArray[np.int64] | None, NDArray[np.int64]]:
    """(order [N], starts [E+1]): the rows sorted into contiguous episodes, in order of first appearance; no order,
    where they are so already."""
    if "episode_ids" not in columns:
        cuts = np.flatnonzero(ends) + 1
        cuts = cuts if len(cuts) and cuts[-1] == steps else np.append(cuts, steps)
        return None, np.concatenate([[0], cuts])
    ids = columns["episode_ids"]
    ids = ids.reshape(-1) if ids.ndim == 2 and ids.shape[1] == 1 else ids
    _check_rows(ids, "episode_ids", steps, name)
    if ids.dtype.kind == "f" and np.isnan(ids).any():
        row = int(np.flatnonzero(np.isnan(ids))[0])
        raise UserError(f"{name}: episode_ids is nan in row {row}; every step needs its episode")
    order, starts = _grouped(ids)
    if order is not None:
        notices.append("episodes were interleaved in the log; their rows were grouped by episode_ids")
    inside = np.ones(steps, bool)
    inside[starts[1:] - 1] = False
    bad = np.flatnonzero((ends if order is None else ends[order]) & inside)
    if len(bad):
        rows = bad[0], bad[0] + 1
        row, later = (int(r) for r in (rows if order is None else order[list(rows)]))
        raise UserError(
            f"{name}: row {row} ends its episode (terminations or truncations is true) but by its id it goes on "
            f"after it, in row {later}; check the ids or the flags"
        )
    return order, starts


def _grouped(ids: NDArray[Any]) -> tuple[NDArray[np.int64] | None, NDArray[np.int64]]:
    """Order and starts by ids [N]. Most logs are in order, which is seen without sorting them."""
    starts = np.concatenate([[0], np.flatnonzero(ids[1:] != ids[:-1]) + 1, [len(ids)]])
    if len(np.unique(ids[starts[:-1]])) == len(starts) - 1:
        return None, starts
    _, first, group = np.unique(ids, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    order = np.argsort(rank[group], kind="stable")
    return order, np.concatenate([[0], np.cumsum(np.bincount(rank[group]))])


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
    with np.errstate(over="ignore", invalid="ignore"):
        result = array.astype(np.float32, copy=not array.flags.writeable)
        sound = result.max() <= LARGEST and result.min() >= -LARGEST  # and no nan
    if not sound:
        finite = np.abs(result) <= LARGEST
        at = tuple(int(i) for i in np.argwhere(~finite)[0])
        where = f"row {at[0]}" + (f", column {at[1]}" if len(at) > 1 else "")
        raise UserError(
            f"{name}: {key} is {array[at]} at {where} ({int((~finite).sum())} such values); "
            f"every value must be finite, and at most {LARGEST:g}: repair or drop those episodes"
        )
    return result


def _vector(columns: Columns, key: str, steps: int, name: str) -> Floats:
    array = columns[key]
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    _check_rows(array, key, steps, name)
    return _numbers(array, key, name)


def _matrix(columns: Columns, key: str, steps: int, name: str) -> Floats:
    array = columns[key]
    array = array[:, None] if array.ndim == 1 else array
    _check_rows(array, key, steps, name, ndim=2)
    if array.shape[1] == 0:
        raise UserError(f"{name}: {key} has shape {array.shape}; each row needs at least one number")
    return _numbers(array, key, name)


def _log_probs(columns: Columns, steps: int, name: str, discrete: bool, notices: list[str]) -> Floats | None:
    if "log_probs" in columns:
        values = _vector(columns, "log_probs", steps, name)
        check_log_probs(values, discrete, name)
        return values
    if "propensities" not in columns:
        return None
    notices.append("the log holds probabilities of its actions (propensities); their logarithms are used as log_probs")
    return from_propensities(_vector(columns, "propensities", steps, name), discrete, name)


def _flags(columns: Columns, key: str, steps: int, name: str) -> NDArray[np.bool_]:
    if columns[key].dtype == bool and columns[key].ndim == 1:
        _check_rows(columns[key], key, steps, name)
        return columns[key] if columns[key].flags.writeable else columns[key].copy()
    values = _vector(columns, key, steps, name)
    odd = np.flatnonzero((values != 0) & (values != 1))
    if len(odd):
        raise UserError(f"{name}: {key} is {values[odd[0]]:g} at row {odd[0]}; flags must be 0 or 1")
    return values.astype(bool)


def _actions(columns: Columns, steps: int, name: str) -> tuple[NDArray[Any], int | None]:
    array = columns["actions"]
    if yes_or_no := array.dtype.kind == "b" and array.size == len(array):
        array = array.astype(np.int32)
    if array.dtype.kind not in "iu":
        return _matrix(columns, "actions", steps, name), None
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
    count = 2 if yes_or_no else int(array.max()) + 1
    if "num_actions" in columns:
        count, declared = _count(columns["num_actions"], name), count
        if count < declared:
            raise UserError(f"{name}: num_actions is {count} but action {declared - 1} occurs")
    if count > 10_000:
        raise UserError(f"{name}: actions go up to {count - 1}; are these really discrete actions?")
    return array.astype(np.int32, copy=not array.flags.writeable), count


def _count(array: NDArray[Any], name: str) -> int:
    """A number of actions, given as one whole number."""
    found = array.reshape(-1)[0].item() if array.size == 1 and array.dtype.kind in "iuf" else None
    if found is None or not float(found).is_integer():
        held = str(array.reshape(-1)[0])[:40] if array.size == 1 else f"{array.size} values"
        raise UserError(f"{name}: num_actions is {held}; expected one whole number")
    return int(found)
