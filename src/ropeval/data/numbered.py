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

LEAST, MOST = 3, 1000  # kinds; of two, one number tells as much
ROWS_PER_STATE = 20
LOOKED_AT = 10_000  # rows that dismiss most logs at once


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
    if dataset.observations.shape[1] != 1 or not _kinds(dataset.observations[:LOOKED_AT]).size:
        return None
    columns = dataset.observations, dataset.next_observations, dataset.initial_observations
    found = [_kinds(column) for column in columns]
    numbers = np.unique(np.concatenate(found))
    sound = all(kinds.size for kinds in found) and LEAST <= len(numbers) <= MOST
    often = len(dataset) >= ROWS_PER_STATE * len(numbers)
    small = 4 * 8 * len(dataset) * len(numbers) <= held_bytes()  # states and their successors, and room to work
    return NumberedStates(numbers) if sound and often and small else None


def _kinds(column: Singles) -> Singles:
    """The different numbers of a column [n, 1]; none where they are too many, or not whole."""
    kinds = np.unique(column)
    whole = len(kinds) <= MOST and bool((kinds == np.round(kinds)).all())
    return kinds if whole else kinds[:0]
