"""States that have numbers for names: a cell of a grid, a cluster of patients, a page of a shop.

To a network a number is a quantity, and state 37 lies between 36 and 38. Where an observation is one whole number of
many kinds, each seen often, learners are therefore shown a code with a column for every state; what the log holds of
one then says nothing about its neighbour in the count. Policies see the number, as it stands in the log.
"""

from dataclasses import dataclass, replace

import numpy as np

from ropeval.arrays import Singles
from ropeval.data.dataset import Dataset
from ropeval.data.streaming import held_bytes
from ropeval.policies.policy import Policy
from ropeval.policies.through import Through

LEAST = 3  # kinds; of two, one number tells as much
ROWS_PER_STATE = 20


@dataclass(frozen=True, eq=False)
class NumberedStates:
    numbers: Singles  # [K] in order

    def code(self, observations: Singles) -> Singles:
        """[n, 1] → [n, K]"""
        return np.eye(len(self.numbers), dtype=np.float32)[np.searchsorted(self.numbers, observations[:, 0])]

    def number(self, codes: Singles) -> Singles:
        """[n, K] → [n, 1]"""
        return self.numbers[codes.argmax(axis=1)][:, None]

    def coded(self, dataset: Dataset) -> Dataset:
        """The log as learners see it; it is still the same log."""
        [name] = dataset.labels[0]
        made = replace(
            dataset,
            observations=self.code(dataset.observations),
            next_observations=self.code(dataset.next_observations),
            initial_observations=self.code(dataset.initial_observations),
            observation_names=tuple(f"{name} {number:g}" for number in self.numbers),
        )
        vars(made)["sha256"] = dataset.sha256
        return made

    def shown_to(self, policy: Policy) -> Policy:
        """Asked about codes, it sees the numbers."""
        return Through(policy, self.number, len(self.numbers))


def numbered_states(dataset: Dataset) -> NumberedStates | None:
    """None where observations are anything else, or their code would fill the memory."""
    found = dataset.whole_numbers
    if found is None or found.kinds is None or len(found.kinds) < LEAST:
        return None
    often = len(dataset) >= ROWS_PER_STATE * len(found.kinds)
    small = 4 * 8 * len(dataset) * len(found.kinds) <= held_bytes()  # states and their successors, and room to work
    return NumberedStates(found.kinds) if often and small else None
