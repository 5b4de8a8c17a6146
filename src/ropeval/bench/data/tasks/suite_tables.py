"""The suite, stochastic and small as in medicine and operations: four tables whose true values are one linear solve.

Every world is logged by its `fair` policy with propensities, in 200, 1,000 and 5,000 episodes, and once by two kinds of
people, weak and good, of whom nobody wrote down how likely their decisions were.

Split: of every world's policies every second one is for testing, so that both halves reach from weak to strong. The
epidemic is for testing altogether: a world that no choice among methods has seen.
"""

from ropeval.bench.data.tasks.task import PolicySource, Split, Task, every_second, world_id

WORLDS: dict[str, tuple[str, float, Split, tuple[str, ...]]] = {
    "icu": ("ICU", 0.99, "dev", ("weakest", "weak", "fair", "good", "strong", "best")),
    "inventory": ("Inventory", 0.95, "dev", ("weakest", "weak", "fair", "good", "strong", "best")),
    "chain": ("Chain", 0.95, "dev", ("weakest", "weak", "fair", "good", "best")),
    "epidemic": ("Epidemic", 0.98, "test", ("weakest", "weak", "fair", "good", "best")),
}
SIZES = (200, 1_000, 5_000)


def _task(world: str, kind: str, episodes: int, writers: dict[str, int], propensities: bool, about: str) -> Task:
    environment, gamma, split, names = WORLDS[world]
    return Task(
        name=f"suite/{world}-{kind}",
        environment=world_id(f"{environment}-v0"),
        policies={n: PolicySource(spec=f"ropeval.bench.data.worlds.{world}:policies.{n}") for n in names},
        judged=every_second(names),
        writers=writers,
        episodes=episodes,
        propensities=propensities,
        gamma=gamma,
        truth="known",
        family="tabular",
        split=split,
        about=about,
    )


TASKS = [
    task
    for world in WORLDS
    for task in (
        *(_task(world, str(n), n, {"fair": 1}, True, "one fair policy, propensities logged") for n in SIZES),
        _task(world, "blind", 1_000, {"weak": 1, "good": 1}, False, "half weak, half good; no propensities"),
    )
]
