"""A long log is looked at block by block, some blocks side by side; what is found comes in the order of the rows, so
that sums are the same bits on every machine."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

from ropeval.runtime import cores

BLOCK = 1 << 18  # rows looked at, at a time
AT_ONCE = 4  # blocks in memory, at most
Part = TypeVar("Part")
Found = TypeVar("Found")


def blocks(rows: int) -> list[slice]:
    return [slice(start, min(start + BLOCK, rows)) for start in range(0, rows, BLOCK)]


def in_order(look: Callable[[Part], Found], parts: Iterable[Part]) -> Iterator[Found]:
    """`look` of every part, in order. Each part has a thread of its own: what `look` calls must bear that. The parts
    themselves are made one after another, by whoever asks for what is found."""
    parts = iter(parts)
    first = list(islice(parts, 2))
    if len(first) < 2:
        yield from map(look, first)
        return
    at_once = min(cores(), AT_ONCE)
    waiting: deque[Future[Found]] = deque()
    with ThreadPoolExecutor(at_once, "block") as pool:
        try:
            for part in chain(first, parts):
                if len(waiting) == at_once:
                    yield waiting.popleft().result()
                waiting.append(pool.submit(look, part))
            while waiting:
                yield waiting.popleft().result()
        finally:
            for one in waiting:
                one.cancel()
