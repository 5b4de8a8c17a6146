"""Who plays which episodes, and what is on disk already: the bookkeeping of an interruptible collection.

A stream is an endless numbered row of episodes by one policy, of which the first so many are wanted. It is cut into
parts, `START-STOP.npz`, each written whole when it has been played. Because an episode depends on its number alone,
how the stream was cut, by how many processes and after how many interruptions, leaves no trace in the result.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ropeval.errors import UserError
from ropeval.files import read_npz

PART_STEPS = 10_000  # what a kill can cost each process: a few seconds


@dataclass(frozen=True)
class Part:
    start: int  # episodes start … stop − 1
    stop: int
    path: Path
    lengths: NDArray[np.int64]  # [stop − start] steps of each episode


class Stream:
    """The first episodes of a stream: as many as hold `wanted` transitions, or `wanted` episodes."""

    def __init__(self, name: str, folder: Path, wanted: int, unit: Literal["transitions", "episodes"]):
        self.name, self.folder, self.wanted, self.unit = name, folder, wanted, unit
        self.parts: dict[int, Part] = {}
        self._running: dict[int, int] = {}
        for path in sorted(folder.glob("*-*.npz")):
            start, _, stop = path.stem.partition("-")
            try:
                lengths = read_npz(path, ("lengths",))["lengths"]
                self.parts[int(start)] = Part(int(start), int(stop), path, lengths)
            except (UserError, KeyError, ValueError):  # damaged on the disk: it is played again
                path.unlink()

    def elsewhere(self, folder: Path) -> "Stream":
        """The same episodes, played into another folder."""
        return Stream(self.name, folder, self.wanted, self.unit)

    def path(self, start: int, stop: int) -> Path:
        return self.folder / f"{start:08d}-{stop:08d}.npz"

    @property
    def done(self) -> int:
        """Of what is wanted: what has been played, up to the first gap."""
        return min(self.wanted, sum(self._amount(part.lengths) for part in self._in_order()))

    @property
    def finished(self) -> bool:
        return self.done >= self.wanted

    @property
    def steps(self) -> int:
        """All that was played, needed or not."""
        return sum(int(part.lengths.sum()) for part in self.parts.values())

    def next_range(self, processes: int) -> tuple[int, int] | None:
        """The next episodes to play, marked as being played; None while enough are on their way."""
        if self.finished:
            return None
        played = sum(len(part.lengths) for part in self.parts.values())
        mean_length = self.steps / played if played else float(PART_STEPS)  # at first one episode at a time
        ahead = sum(stop - start for start, stop in self._running.items())
        mean_amount = mean_length if self.unit == "transitions" else 1.0
        missing = (self.wanted - sum(self._amount(part.lengths) for part in self.parts.values())) / mean_amount - ahead
        if missing <= 0 and self._running:
            return None
        start, limit = self._first_gap()
        size = min(math.ceil(PART_STEPS / mean_length), math.ceil(max(missing, 1) / processes))
        stop = start + max(1, size)
        stop = stop if limit is None else min(stop, limit)
        self._running[start] = stop
        return start, stop

    def add(self, part: Part) -> None:
        self._running.pop(part.start, None)
        self.parts[part.start] = part

    def kept(self) -> Iterator[tuple[Part, int]]:
        """The parts in order, each with the number of its episodes that belong to the result.

        Whole episodes while they fit; the one that passes the wanted number of transitions is dropped.
        """
        room = self.wanted
        for part in self._in_order():
            sizes = part.lengths if self.unit == "transitions" else np.ones_like(part.lengths)
            keep = int(np.searchsorted(np.cumsum(sizes), room, side="right"))
            room -= int(sizes[:keep].sum())
            yield part, keep
            if keep < len(sizes):
                return

    def kept_columns(self) -> Iterator[tuple[Path, dict[str, NDArray[Any]]]]:
        """Of a log: the file of every part, and the columns of what is kept of it."""
        for part, episodes in self.kept():
            rows = int(part.lengths[:episodes].sum())
            arrays = read_npz(part.path)
            yield part.path, {column: array[:rows] for column, array in arrays.items() if column != "lengths"}

    def _amount(self, lengths: NDArray[np.int64]) -> int:
        return int(lengths.sum()) if self.unit == "transitions" else len(lengths)

    def _in_order(self) -> Iterator[Part]:
        at = 0
        while at in self.parts:
            yield self.parts[at]
            at = self.parts[at].stop

    def _first_gap(self) -> tuple[int, int | None]:
        """The first episode that nobody plays or has played, and the next one that somebody has."""
        taken = {start: part.stop for start, part in self.parts.items()} | self._running
        at = 0
        while at in taken:
            at = taken[at]
        later = [start for start in taken if start > at]
        return at, min(later) if later else None
