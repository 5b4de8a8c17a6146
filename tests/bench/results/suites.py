"""A suite with known numbers: two logs of the `dev` and `test` split, four policies worth 0, 10, 20 and 40."""

from typing import Any

from tests.bench.studies import row

VALUES = {"a": 0.0, "b": 10.0, "c": 20.0, "d": 40.0}  # a range of 40
SPLIT = {"a": "dev", "b": "test", "c": "test", "d": "test"}
LOGS = ("suite/chain-200", "suite/bandit-weak-500")  # families tabular and bandit


def cases(task: str, method: str, errors: dict[str, float | None], **changes: Any) -> list[dict[str, Any]]:
    """One row for each policy in `errors`: its true value and so much more; None diverged. Intervals reach ±4."""
    made = []
    for policy, error in errors.items():
        value = VALUES[policy]
        estimate = None if error is None else value + error
        ends = (None, None) if estimate is None else (estimate - 4.0, estimate + 4.0)
        about = {
            "policy": policy, "policy_sha256": policy, "split": SPLIT[policy], "truth_discounted": value,
            "truth_discounted_se": 0.1, "random_discounted": -10.0, "low": ends[0], "high": ends[1],
            "seconds": 2.0, "seconds_prepare": 1.0,
        }  # fmt: skip
        made.append(row(task, method, estimate, **(about | changes)))
    return made


def trivial(task: str, method: str, estimate: float) -> list[dict[str, Any]]:
    return cases(task, method, {policy: estimate - value for policy, value in VALUES.items()})


def suite_rows() -> list[dict[str, Any]]:
    rows = []
    for task in LOGS:
        rows += trivial(task, "mean-reward", 50.0) + trivial(task, "mean-return", 20.0)
        rows += cases(task, "near", {"a": 1.0, "b": 2.0, "c": -2.0, "d": 6.0})
    rows += cases(LOGS[0], "far", {"a": 0.0, "b": 30.0, "c": 0.0, "d": -30.0})  # b seems the best, d the worst
    rows += cases(LOGS[1], "far", {"a": 0.0, "b": None, "c": 10.0})  # b diverged, d was refused
    return rows


REFUSAL = {
    "task": LOGS[1], "method": "far", "hyper": "{}", "policy": "d", "refused": True,
    "error": "policy d_online_4@offset: it has no probabilities",
}  # fmt: skip
