"""Nine datasets after D4RL: a million transitions each, by the public deep_ope policies.

Policy 10 (the last of its training) is evaluated, policy 5 is the lower one. Both act by a = tanh(mean + 0.1·std):
the paper's "noise of 0.1" is this constant.
"""

from ropeval.bench.data.published import published
from ropeval.bench.data.tasks.task import PolicySource, paper_task
from ropeval.policies.policy import Mode

ORIGIN = "deep_ope, the policies of Benchmarks for Deep Off-Policy Evaluation (gs://offline-rl/evaluation/d4rl)"
ENVIRONMENTS = {"halfcheetah": "HalfCheetah-v4", "walker2d": "Walker2d-v4", "hopper": "Hopper-v4"}
MIXTURES: dict[str, tuple[str, ...]] = {
    "random": ("random",),
    "medium": ("behaviour",),
    "medium-expert": ("behaviour", "evaluated"),
}
WRITTEN_BY = {"random": "uniform actions", "medium": "π_b", "medium-expert": "half π_b, half π_e"}


def deep_ope(body: str, number: int, mode: Mode = "offset") -> PolicySource:
    """A deep_ope policy, 0 to 10 in the order of its training."""
    return published(f"{body.removesuffix('2d')}_online_{number}", ORIGIN, mode)


TASKS = [
    paper_task(
        name=f"d4rl/{body}-{kind}",
        environment=environment,
        evaluated=deep_ope(body, 10),
        behaviour=deep_ope(body, 5),
        mixture=mixture,
        family="locomotion",
        about=f"{WRITTEN_BY[kind]}; deep_ope policies 10 (π_e), 5 (π_b)",
    )
    for body, environment in ENVIRONMENTS.items()
    for kind, mixture in MIXTURES.items()
]
