"""The questions that a task asks under a study: one log, and a problem for each policy that it judges."""

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from ropeval.bench.data.task_data import TaskData
from ropeval.bench.run.study import Study
from ropeval.data import Log, Problem
from ropeval.errors import UserError
from ropeval.evaluation.coverage import measure
from ropeval.evaluation.result import Coverage

Made = TypeVar("Made")
KEPT_BYTES = 2 << 30  # of problems, for the next method; those beyond are made again when they are asked for


@dataclass(frozen=True, eq=False)
class TimedLog(Log):
    """Knows when each thing that all policies share was made."""

    made: list[tuple[float, float]] = field(default_factory=list)  # from and to, in order of the latter

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        def timed() -> Made:
            began = time.monotonic()
            found = make()
            self.made.append((began, time.monotonic()))
            return found

        return super().once(key, timed)

    def seconds_since(self, began: float) -> float:
        """In which something was made. One thing may be made inside another one, or by another thread."""
        total, reached = 0.0, began
        for start, end in sorted(self.made):
            total += max(0.0, end - max(start, reached))
            reached = max(reached, end)
        return total


class Problems:
    """A policy's problem is made when it is asked for. All seeds see the same draws of the policy."""

    def __init__(self, study: Study, data: TaskData):
        self.data = data
        self.log = TimedLog(data.dataset, study.gamma if study.gamma is not None else data.task.gamma, study.protocol)
        self.policies = tuple(name for name, judged in data.judged.items() if study.split in (None, judged.split))
        if not self.policies:
            raise UserError(f"task {data.task.name}: none of its policies is in the split {study.split}")
        self._study, self._kept, self._room = study, dict[str, Problem](), KEPT_BYTES
        self._covered: dict[str, Coverage] = {}

    def __getitem__(self, policy: str) -> Problem:
        if policy in self._kept:
            return self._kept[policy]
        problem = self.log.problem(self.data.judged[policy].policy, self._study.key, self._study.draws)
        size = feature_bytes(problem)
        if not self._kept or size <= self._room:
            self._kept[policy] = problem
            self._room -= size
        return problem

    def coverage(self, policy: str) -> Coverage:
        """The same for every method."""
        if policy not in self._covered:
            self._covered[policy] = measure(self[policy])
        return self._covered[policy]

    @property
    def first(self) -> Problem:
        return self[self.policies[0]]


def feature_bytes(problem: Problem) -> int:
    """Of a policy's features, as they would be held; a log that is streamed from disk takes less."""
    return 4 * int(np.prod(problem.answers.logged.shape)) * problem.answers.count


def encoded_bytes(problem: Problem) -> int:
    """Of what an encoder makes of the log for one member: at most as wide as the raw features."""
    return 4 * int(np.prod(problem.answers.logged.shape)) * (1 + problem.answers.count)
