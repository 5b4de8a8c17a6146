"""What is compiled for a learner serves everyone who asks for the same."""

from concurrent.futures import ThreadPoolExecutor
from time import sleep

from ropeval.learning.learner import made_once


def test_threads_that_ask_at_the_same_time_get_the_same():
    @made_once
    def make(size, name="a"):
        sleep(0.02)
        return object()

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(make, [3] * 4))) == 1
    assert len({make(3), make(4), make(3, name="b")}) == 3
