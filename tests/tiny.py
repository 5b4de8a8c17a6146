"""Small learners on small logs, the same for many tests: every other shape would be another program to compile."""

from typing import Any

from ropeval.data import Dataset
from ropeval.evaluation.methods import parts
from tests.problems import Chain, LinearQuadratic

EPISODES = 60  # of both logs
DRAWS = {"discrete": 2, "continuous": 1}  # actions per state; a deterministic policy has one in any case
TINY = {
    "steps": 60,
    "trees": 3,
    "iterations": 10,
    "behaviour_steps": 60,
    "width": 8,
    "batch": 16,
    "learning_rate": 1e-3,
    "rollouts": 16,
}


def settings(**values: Any) -> dict[str, dict[str, Any]]:
    """These values for every part that has such a field."""
    return {
        part: {k: v for k, v in values.items() if k in entry.config.model_fields} for part, entry in parts().items()
    }


def tiny_settings() -> dict[str, dict[str, Any]]:
    """Narrow networks, half as deep as they are by default."""
    chosen = settings(**TINY)
    for part, entry in parts().items():
        if "depth" in entry.config.model_fields:
            chosen[part]["depth"] = max(1, (entry.config.model_fields["depth"].default or 2) // 2)
    return chosen


def own(method: str, chosen: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The settings of a method's parts: those of others would be refused."""
    return {part: fields for part, fields in chosen.items() if part in method.split("+")}


def tiny_log(kind: str) -> Dataset:
    return Chain().log(EPISODES) if kind == "discrete" else LinearQuadratic().log(EPISODES)


def draws_for(log: Dataset) -> int:
    return DRAWS["continuous" if log.num_actions is None else "discrete"]
