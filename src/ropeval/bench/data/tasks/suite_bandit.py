"""The suite's contextual bandit: six numbers seen, five actions, one reward. γ = 0.

Split: every second policy is for testing. The log by the good policy is for testing altogether: it holds few actions of
bad policies, and what was chosen on even logs has to stand there, too.
"""

from ropeval.bench.data.tasks.task import PolicySource, Split, Task, every_second, world_id

NAMES = ("worst", "weak", "fair", "good", "best")
LOGS: dict[str, tuple[str, int, bool, Split, str]] = {  # writer, steps, propensities, split, in words
    "uniform-1000": ("random", 1_000, True, "dev", "uniform actions"),
    "weak-500": ("weak", 500, True, "dev", "a weak policy, little data"),
    "weak-5000": ("weak", 5_000, True, "dev", "a weak policy"),
    "good-5000": ("good", 5_000, True, "test", "a good policy"),
    "blind": ("fair", 2_000, False, "dev", "a fair policy, no propensities"),
}

TASKS = [
    Task(
        name=f"suite/bandit-{name}",
        environment=world_id("Bandit-v0"),
        policies={n: PolicySource(spec=f"ropeval.bench.data.worlds.bandit:policies.{n}") for n in NAMES},
        judged=every_second(NAMES),
        writers={writer: 1},
        episodes=episodes,
        propensities=propensities,
        gamma=0.0,
        truth="known",
        family="bandit",
        split=split,
        about=about,
    )
    for name, (writer, episodes, propensities, split, about) in LOGS.items()
]
