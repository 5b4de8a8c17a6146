"""Tables, as they come out of a database: Parquet or CSV, one row per step, mapped by `--columns` where names differ.

A vector is several columns (`observations_0`, `observations_1`, …, or those that `--columns` lists) or, in Parquet, one
column of lists. Episodes are told apart by `episode_ids` and ordered by `time`; without a time the order of the rows
counts. Actions in words become numbers, in the order of `action_names`, or else of the alphabet. An observation in
words becomes one column of 0 and 1 for every word: numbers would say that one word lies between two others.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropeval.data.column_names import ACTION_NAMES, Mapped, check_found, find_names
from ropeval.data.dataset import Dataset
from ropeval.data.readers import flat
from ropeval.data.readers.cells import refuse_numbers, refuse_unordered
from ropeval.data.readers.flat import read_in_parts, said_columns, with_steps
from ropeval.data.readers.table_columns import categories, flags, holds_words, is_text, listed, numbers, vector
from ropeval.errors import UserError, first_line

VECTORS = ("observations", "next_observations", "actions")
MAX_WORDS = 100  # of an observation, each of which is a column
READINGS = 8  # of a file that is read part by part: each may have to skip what comes before
OFTEN = {  # what polars says, and what it means here
    "invalid utf-8": "this text is not in UTF-8; save it so (Excel: CSV UTF-8; pandas: "
    "read_csv(FILE, encoding='latin-1').to_csv(FILE, index=False))",
    "found more fields": "a row has more cells than the first line has names: is there a separator inside a number "
    "(1,5: write 1.5) or a word (write it in double quotes)?",
}
SelectRows = Callable[[list[str], slice], Any]  # a polars frame


def from_table(
    names: list[str], select: Callable[[list[str]], Any], mapped: Mapped, source: str, said: Sequence[str] = ()
) -> Dataset:
    """The log in a table of columns with these names; `select` gives a polars frame of those that are wanted, and what
    it noticed on the way is `said`."""
    found = _find(names, mapped, source)
    frame = select(_wanted(found))
    if frame.height == 0:
        raise UserError(f"{source}: the table has no rows")
    notices = list(said)
    if len(found.get("episode_ids", [])) > 1:
        frame, found = _joined_ids(frame, found, source, notices)
    if "time" in found:
        frame = _ordered(frame, found, source, notices)
    frame, found = _spelled_out(frame, found, source, notices)
    columns: dict[str, NDArray[Any]] = {}
    words: list[str] | None = None
    for name, keys in found.items():
        if name == "actions" and len(keys) == 1 and holds_words(frame[keys[0]]):
            refuse_numbers(frame[keys[0]], name, source)
            columns[name], words = categories(frame[keys[0]], source, mapped.get(ACTION_NAMES))
            notices.append(f"the words in {keys[0]} became discrete actions: {listed(words)}")
        elif name != "time":
            columns[name] = _column(frame, name, keys, source)
    notices += _about_actions(frame, found["actions"])
    log = Dataset.from_columns(columns | said_columns(mapped, frame.height), source, notices, given=True)
    return _named(log, found, words)


def table_in_parts(names: list[str], select: SelectRows, steps: int, mapped: Mapped, source: str) -> Iterator[Dataset]:
    """The same log part by part, from a function that reads some rows of some columns. Whatever must be seen as a whole
    makes one part of it: ids, which may be interleaved, and words, which are numbered."""
    found = _find(names, mapped, source)
    wanted = _wanted(found)
    first = select(wanted, slice(0, 1))
    words = len(found["actions"]) == 1 and holds_words(first[found["actions"][0]])
    words = words or any(is_text(first[key]) for key in found["observations"])
    if steps <= flat.PART or words or found.keys() & {"episode_ids", "time", "num_actions"}:
        yield from_table(names, lambda those: select(those, slice(0, steps)), mapped, source)
        return
    held = _Held(select, wanted, max(flat.PART, steps // READINGS))

    def read(name: str, rows: slice) -> NDArray[Any]:
        keys = found[name]
        whole = rows == slice(0, steps)  # flags, by which the parts are cut
        return _column(select(keys, rows) if whole else held.rows(rows), name, keys, source)

    said = _about_actions(first, found["actions"])
    for part in with_steps(read_in_parts(read, list(found), steps, mapped, source), source):
        yield _named(replace(part, notices=(*said, *part.notices)), found)


def _spelled_out(
    frame: Any, found: dict[str, list[str]], source: str, notices: list[str]
) -> tuple[Any, dict[str, list[str]]]:
    """With `column=word`, 0 or 1, for every word of an observation; next observations have the same ones."""
    seen, following = found["observations"], found.get("next_observations", [])
    spelled: dict[str, list[str]] = {}  # by column
    for place, key in enumerate(seen):
        if not is_text(frame[key]):
            continue
        both = [key, *following[place : place + 1]]
        refuse_numbers(frame[key], "observations", source)
        kinds = _words_of([frame[each].cast(str) for each in both], source)
        for each in both:
            spelled[each] = [f"{each}={kind}" for kind in kinds]
            text = frame[each].cast(str)
            frame = frame.with_columns(
                **{name: (text == kind).cast(float) for name, kind in zip(spelled[each], kinds, strict=True)}
            )
        notices.append(f"the words in {key} became columns of 0 and 1: {', '.join(spelled[key])}")
    as_columns = lambda keys: [each for key in keys for each in spelled.get(key, [key])]  # noqa: E731
    return frame, {name: as_columns(keys) if name in VECTORS[:2] else keys for name, keys in found.items()}


def _words_of(columns: Sequence[Any], source: str) -> list[str]:
    """All that occur, in the order of the alphabet."""
    for series in columns:
        if series.null_count():
            row = int(series.is_null().arg_max() or 0)
            raise UserError(f"{source}: {series.name} (observations) is empty in row {row}; give such cells a word")
    kinds = sorted({str(kind) for series in columns for kind in series.unique()})
    if len(kinds) > MAX_WORDS:
        raise UserError(
            f"{source}: {columns[0].name} (observations) has {len(kinds)} different words (for example {kinds[0]!r}), "
            f"and at most {MAX_WORDS} become columns of 0 and 1; leave it out, group them, or store numbers as numbers"
        )
    return kinds


class _Held:
    """A stretch of a table that is read at once, since a file may let itself be read from the start only."""

    def __init__(self, select: SelectRows, wanted: list[str], size: int):
        self._select, self._wanted, self._size = select, wanted, size
        self._frame: Any = None
        self._stretch = range(0)

    def rows(self, rows: slice) -> Any:
        if rows.start not in self._stretch or rows.stop > self._stretch.stop:
            self._frame = None  # two are not held
            self._stretch = range(rows.start, max(rows.start + self._size, rows.stop))
            self._frame = self._select(self._wanted, slice(self._stretch.start, self._stretch.stop))
        return self._frame.slice(rows.start - self._stretch.start, rows.stop - rows.start)


def _find(names: list[str], mapped: Mapped, source: str) -> dict[str, list[str]]:
    """Which columns are which of ours."""
    found = find_names(names, mapped, source)
    check_found(found, mapped, names, source)
    if "episode_ids" not in found and "time" not in mapped:
        found.pop("time", None)  # a column that happens to be called so; the order of the rows counts
    for name, keys in found.items():
        if name not in (*VECTORS, "episode_ids") and len(keys) > 1:
            raise UserError(f"{source}: {name} is one number per step, but {', '.join(keys)} all answer to it")
    return found


def _wanted(found: Mapping[str, list[str]]) -> list[str]:
    return list(dict.fromkeys(key for keys in found.values() for key in keys))


def _column(frame: Any, name: str, keys: list[str], source: str) -> NDArray[Any]:
    if name in VECTORS:
        return vector(frame, name, keys, source)
    if name in ("terminations", "truncations"):
        return flags(frame[keys[0]], name, source)
    if name == "episode_ids":
        return _episode_ids(frame[keys[0]], source)
    return numbers(frame[keys[0]].unique() if name == "num_actions" else frame[keys[0]], name, source)


def _about_actions(frame: Any, keys: list[str]) -> list[str]:
    integers = len(keys) > 1 and all(frame[key].dtype.is_integer() for key in keys)
    return [f"actions are {len(keys)} columns of integers and are taken as continuous numbers"] if integers else []


def _named(log: Dataset, found: Mapping[str, list[str]], words: list[str] | None = None) -> Dataset:
    seen, actions = found["observations"], found["actions"]
    if words is None and len(actions) == log.actions.shape[-1] and log.num_actions is None:
        words = actions
    return log.named(seen if len(seen) == log.observations.shape[1] else None, words)


def _joined_ids(
    frame: Any, found: dict[str, list[str]], source: str, notices: list[str]
) -> tuple[Any, dict[str, list[str]]]:
    """Several columns that name an episode together, as one."""
    keys = found["episode_ids"]
    for key in keys:
        _episode_ids(frame[key], source)  # refused where it is empty
    joined = " and ".join(keys)
    notices.append(f"episodes are told apart by {joined} together")
    return frame.with_columns(frame.select(keys).to_struct(joined).rank("dense")), found | {"episode_ids": [joined]}


def _episode_ids(series: Any, source: str) -> NDArray[Any]:
    """Any type will do: only sameness counts. [N]"""
    empty = series.is_null() | series.is_nan() if series.dtype.is_float() else series.is_null()
    if empty.any():
        row = int(empty.arg_max() or 0)
        raise UserError(f"{source}: {series.name} (episode_ids) is empty in row {row}; every step needs its episode")
    return np.asarray((series if series.dtype.is_integer() else series.rank("dense")).to_numpy())


@contextmanager
def polars_reading(path: Path, kind: str) -> Iterator[None]:
    """polars raises a family of its own, and panics (no `Exception`) at some damage."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        why = first_line(error)
        about = next((about for part, about in OFTEN.items() if part in why), None)
        about = about or f"cannot be read as {kind}, damaged or cut short? ({why})"
        raise UserError(f"{path}: {about}") from error


def _ordered(frame: Any, found: Mapping[str, list[str]], source: str, notices: list[str]) -> Any:
    """Rows by episode (in order of appearance), then by time."""
    time = found["time"][0]
    if "episode_ids" not in found:
        raise UserError(f"{source}: {time} (time) orders the steps of an episode, but there is no column episode_ids")
    episode = found["episode_ids"][0]
    if is_text(frame[time]):
        refuse_unordered(frame[time], source)
    if _in_order(frame[episode], frame[time]):
        return frame
    twice = frame.select([episode, time]).is_duplicated()
    if twice.any():
        row = frame.filter(twice).row(0, named=True)
        raise UserError(
            f"{source}: episode {row[episode]!r} has two rows with {time} = {row[time]!r}; every step needs a time of "
            "its own (name another column with --columns time=…)"
        )
    ordered = frame.sort([episode, time], maintain_order=True)
    first = frame[episode].unique(maintain_order=True)
    if not ordered.equals(frame) and not first.is_sorted():
        places = first.to_frame().with_row_index("_place")
        ordered = frame.join(places, on=episode, how="left").sort(["_place", time], maintain_order=True).drop("_place")
    if not ordered.equals(frame):
        notices.append(f"rows were put in order by {episode} and {time}")
    return ordered


def _in_order(episode: Any, time: Any) -> bool:
    """Whether every episode stands in one piece, its times ascending; most tables are so, and need no sorting."""
    begins = episode != episode.shift(1)
    ascending = (begins | (time > time.shift(1)))[1:]
    if episode.null_count() or time.null_count() or not ascending.all():
        return False
    return bool(1 + begins[1:].sum() == episode.n_unique())
