"""The questions that a task asks under a study: one log, and a problem for each policy that it judges."""

import numpy as np

from ropeval.bench.data.task_data import TaskData
from ropeval.bench.run.study import Study
from ropeval.data import Problem, make_problem
from ropeval.errors import UserError

KEPT_BYTES = 2 << 30  # of problems, for the next method; those beyond are made again when they are asked for


class Problems:
    """A policy's problem is made when it is asked for. All seeds see the same draws of the policy."""

    def __init__(self, study: Study, data: TaskData):
        self.data = data
        self.gamma = study.gamma if study.gamma is not None else data.task.gamma
        self.policies = tuple(name for name, judged in data.judged.items() if study.split in (None, judged.split))
        if not self.policies:
            raise UserError(f"task {data.task.name}: none of its policies is in the split {study.split}")
        self._study, self._kept, self._room = study, dict[str, Problem](), KEPT_BYTES

    def __getitem__(self, policy: str) -> Problem:
        if policy in self._kept:
            return self._kept[policy]
        study, judged = self._study, self.data.judged[policy]
        problem = make_problem(self.data.dataset, judged.policy, self.gamma, study.key, study.draws, study.protocol)
        size = _bytes(problem)
        if not self._kept or size <= self._room:
            self._kept[policy] = problem
            self._room -= size
        return problem

    @property
    def first(self) -> Problem:
        return self[self.policies[0]]


def _bytes(problem: Problem) -> int:
    """Of the features, as they would be held; a log that is streamed from disk takes less."""
    rows = problem.transitions.rows
    return 4 * int(np.prod(rows.x.shape) + np.prod(rows.next_x.shape))
