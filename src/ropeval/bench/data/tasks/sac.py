"""Tasks that need no download: SAC policies trained by `ropeval bench train` and shipped in `bench/data/policies`."""

from importlib.resources import files

from ropeval.bench.data.tasks.task import PolicySource, Task, paper_task


def shipped(name: str) -> PolicySource:
    """A policy of the package's own."""
    return PolicySource(spec=str(files("ropeval.bench.data") / "policies" / f"{name}.npz"), mode="stochastic")


def half_and_half(name: str, environment: str, evaluated: PolicySource, behaviour: PolicySource, about: str) -> Task:
    """100K transitions as in the paper's own datasets."""
    return paper_task(
        name=name, environment=environment, evaluated=evaluated, behaviour=behaviour,
        mixture=("evaluated", "behaviour"), transitions=100_000, family="locomotion",
        about=f"half π_e, half π_b; {about}",
    )  # fmt: skip


TASKS = [
    half_and_half(
        "sac/hopper",
        "Hopper-v4",
        shipped("hopper_sac_final"),
        shipped("hopper_sac_early"),
        "own SAC policies, shipped: needs no download",
    ),
]
