"""How many steps of an episode count: all of them, or the first H.

Without a discount a value is finite only where episodes end. If all logged ones did, the longest of them is the
horizon: no policy is credited with more steps than any episode has shown.
"""

import numpy as np

from ropeval.data.dataset import Dataset
from ropeval.errors import UserError


def resolved_horizon(dataset: Dataset, gamma: float, horizon: int | None) -> int | None:
    """The horizon that was asked for, or that γ = 1 needs; None: there is none."""
    if not 0.0 <= gamma <= 1.0:
        raise UserError(f"gamma is {gamma}; it must be at least 0 and at most 1")
    if horizon is not None and horizon < 1:
        raise UserError(f"horizon is {horizon}; at least 1 step must count")
    if gamma < 1.0 or horizon is not None:
        return horizon
    lengths = np.diff(dataset.starts)
    cut = int((~dataset.terminations[dataset.starts[1:][lengths > 0] - 1]).sum())
    longest = int(lengths.max())
    if cut:
        raise UserError(
            f"gamma is 1, but {cut} of {dataset.num_episodes} episodes of {dataset.name} were cut off before they "
            f"ended, and what would have come has no bound; say how many steps count with horizon (the longest episode "
            f"has {longest}), or take a gamma below 1"
        )
    return longest


def horizon_note(dataset: Dataset, gamma: float, horizon: int | None) -> str | None:
    """What a reader should know who did not give the horizon."""
    if gamma < 1.0 or horizon is not None:
        return None
    return (
        f"γ is 1 and every episode ends: a value counts the first {resolved_horizon(dataset, gamma, None)} steps, as "
        "many as the longest episode has (--horizon says otherwise)"
    )
