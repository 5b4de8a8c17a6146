"""What flat files share: columns of equal length, one row per step, read in parts that end where episodes end."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropeval.data.checked_columns import no_successors
from ropeval.data.column_names import Mapped, said_flags
from ropeval.data.dataset import Dataset

PART = 1 << 17  # rows, about, in a part: their memory is used again for the next, and most of it is in the cache
ReadRows = Callable[[str, slice], NDArray[Any]]


def said_columns(mapped: Mapped, steps: int) -> dict[str, NDArray[np.bool_]]:
    """The flags that `--columns truncations=never` and `terminations=always` stand for."""
    return {name: np.full(steps, always) for name, always in said_flags(mapped).items()}


def read_in_parts(read: ReadRows, names: Iterable[str], steps: int, mapped: Mapped, source: str) -> Iterator[Dataset]:
    """The log, from a function that reads rows of a column. Where episodes have ids, they may be interleaved, so the
    log is read whole."""
    said = said_columns(mapped, steps)

    def columns(rows: slice) -> dict[str, NDArray[Any]]:
        return {name: read(name, rows) for name in names} | {name: flags[rows] for name, flags in said.items()}

    if "episode_ids" in names or steps <= PART:
        yield Dataset.from_columns(columns(slice(0, steps)), name=source, given=True)
        return
    flags = [said[n] if n in said else read(n, slice(0, steps)) for n in ("terminations", "truncations")]
    cuts = np.flatnonzero((flags[0].reshape(-1) != 0) | (flags[1].reshape(-1) != 0)) + 1  # ends of episodes
    start = 0
    while start < steps:
        cut = np.searchsorted(cuts, start + PART)
        end = int(cuts[cut]) if cut < len(cuts) else steps
        place = f"{source} (from row {start:,} on)"
        yield Dataset.from_columns(columns(slice(start, end)), name=place, given=True, part=True)
        start = end


def with_steps(parts: Iterable[Dataset], source: str) -> Iterator[Dataset]:
    """The same parts, of which not every one may be left without a step."""
    steps = 0
    for part in parts:
        steps += len(part)
        yield part
    if steps == 0:
        raise no_successors(source)
