"""The suite's linear-quadratic problem with noise: continuous, and still exact.

Split: every second policy is for testing.
"""

from ropeval.bench.data.tasks.task import PolicySource, Task, every_second, world_id

NAMES = ("weakest", "weak", "fair", "good", "best")
LOGS = {  # writers, steps, in words
    "weak-10k": ({"weak": 1}, 10_000, "a weak policy with noise"),
    "mixture-10k": ({"weakest": 1, "fair": 1, "noise": 1}, 10_000, "weakest, fair and pure noise, a third each"),
    "mixture-100k": ({"weakest": 1, "fair": 1, "noise": 1}, 100_000, "weakest, fair and pure noise, a third each"),
}


def _policy(name: str) -> PolicySource:
    return PolicySource(spec=f"ropeval.bench.data.worlds.linear:policies.{name}")


TASKS = [
    Task(
        name=f"suite/linear-{name}",
        environment=world_id("LinearQuadratic-v0"),
        policies={n: _policy(n) for n in (*NAMES, "noise")} | {"random": _policy("noise")},
        judged=every_second(NAMES),
        writers=writers,
        transitions=transitions,
        gamma=0.95,
        truth="known",
        family="lq",
        about=about,
    )
    for name, (writers, transitions, about) in LOGS.items()
]
