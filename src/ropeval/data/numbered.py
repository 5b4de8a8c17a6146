"""States that have numbers for names: a cell of a grid, a cluster of patients, a page of a shop.

To a network a number is a quantity, and state 37 lies between 36 and 38. Where an observation is one whole number of
many kinds, each seen often, learners are therefore shown a code with a column for every state; what the log holds of
one then says nothing about its neighbour in the count. Policies see the number, as it stands in the log.

Where the log shows that neighbours are alike (`quantity.py`), the number is one that counts, and stays as it is.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ropeval.arrays import Singles
from ropeval.data.dataset import Dataset
from ropeval.data.streaming import held_bytes
from ropeval.data.whole_numbers import MOST
from ropeval.errors import UserError
from ropeval.policies.policy import Policy
from ropeval.policies.through import Through

Numbers = Literal["auto", "names", "quantity"]  # what a whole number that is all of a state is taken for
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


def numbered_states(dataset: Dataset, numbers: Numbers = "auto") -> NumberedStates | None:
    """None where observations are anything else, or count something. Who says that they are names is told where they
    cannot be."""
    kinds = _kinds(dataset)
    if numbers == "names" and kinds is None:
        raise UserError(
            "numbers is names: that needs observations of one whole number each, of at most "
            f"{MOST:,} kinds, and room in memory for their code; leave it out"
        )
    named = numbers == "names" or (numbers == "auto" and _either(dataset) and not dataset.number_is_quantity)
    return NumberedStates(kinds) if kinds is not None and named else None


def numbers_note(dataset: Dataset, numbers: Numbers) -> str | None:
    """What the numbers were taken for, where they might be either: why, and how to say otherwise."""
    states, kinds = numbered_states(dataset, numbers), _kinds(dataset)
    if kinds is None or (states is None and not _either(dataset)):
        return None
    if numbers != "auto":
        why = "as --numbers says"
    elif states is None:
        why = "since the log shows that what happens at one lies between what happens at its neighbours (if they are "
        why += "names: --numbers names)"
    else:
        why = "since the log does not show that neighbours are alike (if they count something: --numbers quantity)"
    taken = "they are learned as a quantity" if states is None else "each is learned as a state of its own"
    return f"observations are one whole number, of {len(kinds)} kinds: {taken}, {why}; policies see the number"


def _kinds(dataset: Dataset) -> Singles | None:
    """[K] the numbers that there are, where each can have a column of its own."""
    kinds = dataset.whole_numbers.kinds if dataset.whole_numbers else None
    if kinds is None or 4 * 8 * len(dataset) * len(kinds) > held_bytes():  # states, successors, and room to work
        return None
    return kinds


def _either(dataset: Dataset) -> bool:
    """Whether the numbers might be names, or might count something."""
    kinds = _kinds(dataset)
    return kinds is not None and len(kinds) >= LEAST and len(dataset) >= ROWS_PER_STATE * len(kinds)
