"""The value by group: episodes that begin alike, by one column of their initial states."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ropeval.data import Dataset
from ropeval.errors import UserError, unknown_name
from ropeval.estimators import ESTIMATORS
from ropeval.evaluation.conclude import Conclusion
from ropeval.evaluation.fit import Fitted
from ropeval.evaluation.interval import make_interval, within
from ropeval.evaluation.result import GroupValue
from ropeval.evaluation.versus_log import compare_with_log, logged_returns
from ropeval.learning.resample import Resamples

MOST_VALUES = 6  # of a column, each of which is a group; where there are more, quarters of the episodes are


class Group(NamedTuple):
    name: str
    held: NDArray[np.bool_]  # [E] which episodes


def make_groups(dataset: Dataset, column: str) -> list[Group]:
    """By the values of a column, or by its quartiles."""
    names = dataset.labels[0]
    if column not in names:
        raise unknown_name("column of the observations", column, names)
    values = np.asarray(dataset.initial_observations[:, names.index(column)], np.float64)  # [E]
    distinct = np.unique(values)
    if len(distinct) == 1:
        raise UserError(
            f"--by {column}: it is {distinct[0]:g} in the initial state of every episode, so there is only one group; "
            "choose another column"
        )
    if len(distinct) <= MOST_VALUES:
        return [Group(f"{column} = {value:.6g}", values == value) for value in distinct]
    edges = np.unique(np.quantile(values, [0.25, 0.5, 0.75]))
    places = np.searchsorted(edges, values, side="right")  # [E]
    return [Group(_between(column, edges, i), places == i) for i in range(len(edges) + 1) if (places == i).any()]


def _between(column: str, edges: NDArray[np.float64], place: int) -> str:
    if place == 0:
        return f"{column} < {edges[0]:.4g}"
    if place == len(edges):
        return f"{column} ≥ {edges[-1]:.4g}"
    return f"{edges[place - 1]:.4g} ≤ {column} < {edges[place]:.4g}"


def value_by_group(
    groups: list[Group], fitted: Fitted, said: Conclusion, resamples: Resamples | None, level: float, sees_policy: bool
) -> list[GroupValue]:
    """The estimate from the initial states of each group alone, by the same fit; empty where the method cannot."""
    estimated = fitted.estimated
    if estimated.among is None or said.value is None:
        return []
    returns = logged_returns(fitted.problem, estimated)
    found = []
    for name, held in groups:
        value, replicates = estimated.among(held).answer(said.diverged | said.left_out)
        episodes, interval = int(held.sum()), None
        if value is not None:
            value = float(said.bounds.cut(np.array(value)))
        if resamples is not None and said.interval is not None:
            interval = make_interval(value, replicates, episodes, level, unseen=said.interval.unseen)
            interval = interval and within(interval, said.bounds, said.interval.kind == "bounds")
        versus = compare_with_log(value, replicates, interval, returns, resamples, held, level) if sees_policy else None
        found.append(GroupValue(name, episodes, value, interval, versus))
    return found


def without_groups(estimators: list[str]) -> list[str]:
    """Which of these cannot tell groups apart, by what they say of themselves."""
    return [name for name in dict.fromkeys(estimators) if not ESTIMATORS[name].by_group]
