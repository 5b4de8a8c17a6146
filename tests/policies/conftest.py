"""What several tests of policies ask with: answers of Stable-Baselines3, and logs of every kind."""

import numpy as np
import pytest

from ropeval.data import Dataset
from tests.policies.hostile import FILES


@pytest.fixture(scope="module")
def expected():
    with np.load(FILES / "expected.npz") as file:
        return dict(file)


@pytest.fixture
def logs(columns):
    """One log of every kind that a policy may be wrong for; observations of size 3."""
    wide = columns | {k: np.hstack([columns[k]] * 2) for k in ("observations", "next_observations")}
    return {
        "continuous": Dataset.from_columns(columns),
        "discrete": Dataset.from_columns(columns | {"actions": np.arange(12) % 4}),
        "more_actions": Dataset.from_columns(columns | {"actions": np.arange(12) % 6}),
        "wide": Dataset.from_columns(wide),
        "one_action": Dataset.from_columns(columns | {"actions": columns["actions"][:, :1]}),
    }
