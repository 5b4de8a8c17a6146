"""Tasks that need no download: SAC policies trained by `ropeval bench train` and shipped in `bench/data/policies`."""

from importlib.resources import files

from ropeval.bench.data.tasks.task import PolicySource, paper_task


def shipped(name: str) -> PolicySource:
    """A policy of the package's own."""
    return PolicySource(spec=str(files("ropeval.bench.data") / "policies" / f"{name}.npz"), mode="stochastic")


TASKS = [
    paper_task(
        name="sac/hopper",
        environment="Hopper-v4",
        evaluated=shipped("hopper_sac_final"),
        behaviour=shipped("hopper_sac_early"),
        mixture=("evaluated", "behaviour"),
        transitions=100_000,
        family="locomotion",
        about="half π_e, half π_b; own SAC policies, shipped: needs no download",
    ),
]
