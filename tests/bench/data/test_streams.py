"""However a stream is cut, shuffled and interrupted, the same episodes are kept."""

import random
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeval.bench.data.streams import Part, Stream


def length_of(episode: int) -> int:
    return 1 + (7 * episode * episode + 3) % 29


def finish(stream: Stream, start: int, stop: int) -> None:
    path = stream.path(start, stop)
    lengths = np.array([length_of(e) for e in range(start, stop)])
    np.savez(path, lengths=lengths)
    stream.add(Part(start, stop, path, lengths))


@settings(max_examples=25)
@given(
    wanted=st.integers(1, 400),
    processes=st.integers(1, 5),
    unit=st.sampled_from(["transitions", "episodes"]),
    seed=st.integers(0, 2**32),
)
def test_keeps_the_episodes_that_fit(tmp_path_factory, wanted, processes, unit, seed):
    choices = random.Random(seed)
    folder = tmp_path_factory.mktemp("stream")
    running: list[Any] = []
    stream = Stream("s", folder, wanted, unit)
    while not stream.finished:
        while len(running) < 2 * processes and (part := stream.next_range(2 * processes)):
            running.append(part)
        assert running, "nothing under way and yet not finished"
        if choices.random() < 0.1:  # killed: what was under way is lost
            stream, running = Stream("s", folder, wanted, unit), []
            continue
        finish(stream, *running.pop(choices.randrange(len(running))))
    kept = [e for part, count in stream.kept() for e in range(part.start, part.start + count)]
    expected: list[int] = []
    room = wanted
    while room >= (size := length_of(len(expected)) if unit == "transitions" else 1):
        expected.append(len(expected))
        room -= size
    assert kept == expected


def test_nothing_is_played_beyond_what_is_needed(tmp_path):
    stream = Stream("s", tmp_path, 40, "episodes")
    played: list[int] = []
    while (part := stream.next_range(4)) is not None:
        played += range(*part)
        finish(stream, *part)
    assert played == list(range(40))
    assert stream.done == 40


def test_a_damaged_part_is_played_again(tmp_path):
    finish(Stream("s", tmp_path, 10, "episodes"), 0, 4)
    path = next(tmp_path.glob("*.npz"))
    path.write_bytes(path.read_bytes()[:40])
    stream = Stream("s", tmp_path, 10, "episodes")
    assert stream.done == 0
    assert stream.next_range(1)[0] == 0
