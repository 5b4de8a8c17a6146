"""What trees see of a log: columns as they were logged, each pair once, and which of the columns hold categories."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ropeval.arrays import Floats, Integers, Singles
from ropeval.data import Dataset, expected
from ropeval.data.streaming import Pairs
from ropeval.estimators.few_pairs import few_pairs

LOOKED_AT = 16_384  # pairs that are counted at a time


class Distinct(NamedTuple):
    """Pairs as trees see them, each once: where states and actions are few, that is little to look at."""

    rows: Singles  # [U, C] the state as it was logged, then the action: its numbers, or one column of a discrete one
    places: Integers  # [n, K] where the pairs of every state stand among them
    weight: Floats | None  # [n, K] of the policy's actions, where they are not drawn alike

    def mean(self, model: Any) -> Float[Floats, " n"]:
        """Of the model's values over the actions in every state."""
        values = np.asarray(model.predict(self.rows, num_threads=1))
        return np.asarray(expected(values[self.places], self.weight))

    def of(self, states: Integers) -> "Distinct":
        """Of some of the states [m], and no pairs but theirs."""
        used, places = np.unique(self.places[states], return_inverse=True)
        weight = None if self.weight is None else self.weight[states]
        return Distinct(self.rows[used], places.reshape(len(states), -1), weight)


class Columns(NamedTuple):
    """What trees see."""

    logged: Distinct
    following: Distinct
    initial: Distinct
    categorical: list[int]


def distinct(pairs: Pairs, weight: Any = None, steps: slice | Integers = slice(None)) -> Distinct:
    states, actions = pairs.raw(steps)
    each = states.shape[0], pairs.shape[1] if len(pairs.shape) == 3 else 1  # n, K
    columns = actions.reshape(each[0] * each[1], -1).astype(np.float32)
    every = np.concatenate([np.repeat(states, each[1], axis=0), columns], axis=1)
    rows, places = np.unique(every, axis=0, return_inverse=True)
    return Distinct(
        rows, places.reshape(each), None if weight is None else np.asarray(weight)[steps].astype(np.float64)
    )


def more_than(most: int, pairs: Pairs) -> bool:
    """Whether there are more different ones."""
    blocks = (pairs[first : first + LOOKED_AT] for first in range(0, len(pairs), LOOKED_AT))
    return few_pairs(blocks, pairs.shape[-1], most) is None


def categorical(data: Dataset, most: int) -> list[int]:
    """Columns of categories: discrete actions, and whole numbers of a few kinds. Of two kinds, it is all one."""
    found = [place for place, column in enumerate(data.observations.T) if _is_coded(column, most)]
    return [*found, data.observations.shape[1]] if data.num_actions is not None else found


def _is_coded(column: Singles, most: int) -> bool:
    if not most or column.min() < 0 or (column != np.round(column)).any():
        return False
    return 2 < len(np.unique(column)) <= most
