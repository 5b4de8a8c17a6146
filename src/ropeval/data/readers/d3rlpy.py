"""d3rlpy's replay buffer (`ReplayBuffer.dump`, version 2): every episode's columns under `NAME_NUMBER`.

An episode holds T observations, so the last step of one that was cut off has no successor and is dropped, with a
notice, as everywhere.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropeval.data.dataset import Dataset
from ropeval.data.readers.flat import PART
from ropeval.data.readers.hdf5 import column, own, single
from ropeval.errors import UserError

NEEDED = ("observations", "actions", "rewards", "terminated")


def read(file: Any, source: str) -> Iterator[Dataset]:
    version = single(file, "version", source)
    version = version.decode() if isinstance(version, bytes) else str(version)
    if version.split(".")[0] != "2":
        raise UserError(f"{source}: a d3rlpy buffer of version {version}; this ropeval reads version 2")
    count = int(single(file, "num_episodes", source))
    if count < 1 or any(own(file, f"rewards_{e}", source) is None for e in (0, count - 1)):
        raise UserError(f"{source}: a d3rlpy buffer that declares {count} episodes and does not hold them; cut short?")
    waiting: list[dict[str, NDArray[Any]]] = []
    steps, first = 0, 0
    for number in range(count):
        waiting.append(_episode(file, number, source))
        steps += len(waiting[-1]["rewards"])
        if steps >= PART or number == count - 1:
            name = source if first == 0 and number == count - 1 else f"{source} (from episode {first} on)"
            yield Dataset.from_columns(
                {key: np.concatenate([episode[key] for episode in waiting]) for key in waiting[0]}, name=name, part=True
            )
            waiting, steps, first = [], 0, number + 1


def _episode(file: Any, number: int, source: str) -> dict[str, NDArray[Any]]:
    here = f"{source}: episode {number}"
    if own(file, f"observations_{number}_0", source) is not None:
        raise UserError(f"{here} holds tuples of observations; flatten them to one vector per step first")
    for key in NEEDED:
        if own(file, f"{key}_{number}", source) is None:
            raise UserError(f"{here} lacks {key}; written by another version of d3rlpy, or cut short?")
    observations, actions, rewards = (np.asarray(column(file, f"{k}_{number}", source)[()]) for k in NEEDED[:3])
    terminated = bool(single(file, f"terminated_{number}", source))
    steps = len(rewards)
    if steps == 0 or len(observations) != steps or len(actions) != steps:
        raise UserError(
            f"{here} has {len(observations)} observations, {len(actions)} actions and {steps} rewards; expected as "
            "many of each"
        )
    last = np.arange(steps) == steps - 1
    return {
        "observations": observations.reshape(steps, -1),
        "actions": actions,
        "rewards": rewards.reshape(-1),
        "terminations": last & terminated,
        "truncations": last & (not terminated),
    }
