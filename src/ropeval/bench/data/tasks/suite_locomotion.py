"""The suite's locomotion: Hopper, Walker2d and HalfCheetah with the published deep_ope policies, five logs each.

- `medium-det`: policy 5 as the paper lets it act, a = tanh(mean + 0.1·std), without noise
- `medium`: policy 5 with its own noise
- `replay`: policies 0, 2, 4 and 5 with their own noise, a quarter each
- `random`: uniform actions
- `medium-expert`: half policy 5, half policy 10, without noise

Each has 400K steps; `…-100k` and `…-1m` are the same in other sizes. Judged is every policy that is found, acting as
in `medium-det`.

Split: policies 2, 5 and 8 are for testing, so that both halves reach from weak to strong. Walker2d is for testing
altogether: a body that no choice among methods has seen.
"""

from ropeval.bench.data.tasks.d4rl import ENVIRONMENTS, deep_ope
from ropeval.bench.data.tasks.task import PolicySource, Split, Task

JUDGED: dict[str, Split] = {"0": "dev", "2": "test", "4": "dev", "5": "test", "6": "dev", "8": "test", "10": "dev"}
WRITERS = {
    "medium-det": ({"5": 1}, "policy 5 without noise"),
    "medium": ({"5-noisy": 1}, "policy 5 with its own noise"),
    "replay": (dict.fromkeys(("0-noisy", "2-noisy", "4-noisy", "5-noisy"), 1), "policies 0, 2, 4, 5 with noise"),
    "random": ({"random": 1}, "uniform actions"),
    "medium-expert": ({"5": 1, "10": 1}, "half policy 5, half policy 10, without noise"),
}
SIZES = {"": 400_000, "-100k": 100_000, "-1m": 1_000_000}


def _policies(body: str) -> dict[str, PolicySource]:
    quiet = {number: deep_ope(body, int(number), "offset") for number in JUDGED}
    return quiet | {f"{number}-noisy": deep_ope(body, int(number), "stochastic") for number in JUDGED}


TASKS = [
    Task(
        name=f"suite/{body}-{kind}{size}",
        environment=environment,
        policies=_policies(body),
        judged=JUDGED,
        writers=writers,
        transitions=transitions,
        truth_episodes=1_500 if body == "walker2d" else 300,  # two of its policies fall at very different times
        family="locomotion",
        split="test" if body == "walker2d" else "dev",
        about=about,
    )
    for body, environment in ENVIRONMENTS.items()
    for kind, (writers, about) in WRITERS.items()
    for size, transitions in SIZES.items()
]
