"""Processes that play parts of streams and write them to disk."""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType

import numpy as np

from ropeval.bench.data.episodes import Player
from ropeval.bench.data.policy_files import LocatedPolicy
from ropeval.bench.data.streams import Part, Stream
from ropeval.bench.data.truth import summarise_episode
from ropeval.errors import UserError
from ropeval.files import write_atomically

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
AHEAD = 2  # parts under way per process, so that none waits for its next


@dataclass(frozen=True)
class Recipe:
    """How the episodes of a stream are played."""

    environment: str
    policy: LocatedPolicy
    seed: int
    stream: str  # part of the seed
    gamma: float | None = None  # given: summaries for the true value; None: the transitions themselves
    max_steps: int | None = None  # episodes longer than the environment's own time limit


Report = Callable[[Stream], None]


def play_streams(streams: list[tuple[Stream, Recipe]], pool: "Pool", report: Report | None = None) -> None:
    """Play what is missing of all streams, in parallel; what is finished stays, whatever happens."""
    report = report or (lambda stream: None)
    for stream, _ in streams:
        stream.folder.mkdir(parents=True, exist_ok=True)
        report(stream)
    if all(stream.finished for stream, _ in streams):
        return
    running: dict[Future[Part], Stream] = {}
    ahead = AHEAD * pool.processes
    while True:
        for stream, recipe in streams:
            while len(running) < ahead and (part := stream.next_range(ahead)):
                running[pool.executor.submit(play_part, recipe, *part, stream.path(*part))] = stream
        if not running:
            return
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            stream = running.pop(future)
            stream.add(future.result())
            report(stream)


def play_part(recipe: Recipe, start: int, stop: int, path: Path) -> Part:
    """In a worker: play episodes start … stop − 1 and write them."""
    player = _player(recipe)
    episodes = (player.play(recipe.seed, recipe.stream, number) for number in range(start, stop))
    if recipe.gamma is None:
        arrays = player.columns(list(episodes))
    else:
        rows = [summarise_episode(episode, recipe.gamma, player.time_limit) for episode in episodes]
        arrays = {"summaries": np.array(rows), "lengths": np.array([int(row[2]) for row in rows])}
    # Not allow_pickle=False: NumPy before 2.2 would save that, too, as an array.
    write_atomically(path, lambda temporary: np.savez(temporary, **arrays))  # type: ignore[arg-type]
    return Part(start, stop, path, arrays["lengths"])


_players: dict[tuple[str, LocatedPolicy, int | None], Player] = {}


def _player(recipe: Recipe) -> Player:
    key = (recipe.environment, recipe.policy, recipe.max_steps)
    if key not in _players:
        _players[key] = Player(recipe.environment, recipe.policy.load(), recipe.max_steps)
    return _players[key]


@dataclass(frozen=True)
class Pool:
    executor: ProcessPoolExecutor
    processes: int


@contextlib.contextmanager
def worker_pool(processes: int | None = None) -> Iterator[Pool]:
    """Processes to play with, for one task or for many after each other; they start when there is something to play.

    Always processes of their own, even one: a single thread of linear algebra each, which also fixes the bits.
    """
    processes = processes or os.cpu_count() or 1
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))  # read when a worker imports NumPy
    try:
        pool = ProcessPoolExecutor(processes, get_context("spawn"), initializer=_start_worker, initargs=(os.getpid(),))
    except OSError as error:  # no room for its locks, which are files
        raise UserError(f"no processes can be started to play in ({error.strerror or error})") from error
    # Workers would import the caller's script again: slow, and a script without a main guard would start itself anew.
    script, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
    try:
        yield Pool(pool, processes)
    except BrokenProcessPool as error:
        raise UserError(
            "a collecting process was killed (out of memory?); finished parts are kept: run it again, perhaps with "
            "fewer --processes"
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        sys.modules["__main__"] = script
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _start_worker(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()


def _leave_with(parent: int) -> None:
    """A parent that was killed cannot stop its workers; they notice by themselves."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)
