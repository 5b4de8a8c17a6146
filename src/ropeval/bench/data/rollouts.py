"""Episodes of one policy, played by processes in a folder that goes with them: what it is worth, or a log of its own.

`collect` does the same for a whole task, and keeps what is finished.
"""

import tempfile
from pathlib import Path

import numpy as np

from ropeval.bench.data.episodes import Columns
from ropeval.bench.data.policy_files import LocatedPolicy
from ropeval.bench.data.streams import Stream
from ropeval.bench.data.truth import PolicyTruth, policy_truth
from ropeval.bench.data.workers import Recipe, play_streams, worker_pool
from ropeval.files import read_npz
from ropeval.policies import Policy


def play_value(
    environment: str,
    policy: LocatedPolicy,
    gamma: float,
    episodes: int,
    *,
    seed: int = 0,
    name: str = "truth",
    max_steps: int | None = None,
    processes: int = 1,
) -> PolicyTruth:
    """Both definitions of its value. `seed` and `name` decide the episodes; `max_steps` makes them longer."""
    with tempfile.TemporaryDirectory() as folder:
        stream = Stream(name, Path(folder), episodes, "episodes")
        with worker_pool(processes) as pool:
            play_streams([(stream, Recipe(environment, policy, seed, name, gamma, max_steps))], pool)
        return stream_truth(stream, gamma, policy.load())


def stream_truth(stream: Stream, gamma: float, policy: Policy) -> PolicyTruth:
    """From the summaries of episodes that were played."""
    summaries = np.concatenate([read_npz(part.path)["summaries"][:count] for part, count in stream.kept()])  # [n, 3]
    return policy_truth(summaries, gamma, policy.name, policy.sha256)


def play_log(
    environment: str, policy: LocatedPolicy, transitions: int, *, seed: int = 0, name: str = "log", processes: int = 1
) -> Columns:
    """Whole episodes, as many as fit into `transitions`, as the columns of a log."""
    with tempfile.TemporaryDirectory() as folder:
        stream = Stream(name, Path(folder), transitions, "transitions")
        with worker_pool(processes) as pool:
            play_streams([(stream, Recipe(environment, policy, seed, name))], pool)
        parts = [columns for _, columns in stream.kept_columns()]
    return {column: np.concatenate([part[column] for part in parts]) for column in parts[0]}
