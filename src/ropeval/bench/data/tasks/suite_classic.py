"""The suite's classic control: four environments, six policies each from weak to strong, shipped with the package.

`ropeval bench train ENV-ID --by evolution` made them, with `--generations 50` for CartPole and MountainCar, 30 for
Acrobot, and `--generations 100 --population 100 --episodes 4 --gamma 0.98` for Pendulum.

Each log exists in 5K, 20K and 100K steps, by
- `weak`: the second policy with its own noise, and any action at all one time in ten;
- `mixture`: the first, third and fifth, a third each;
- `epsilon`: the fourth without its noise, ε-greedy with ε = 0.3.

Split: of the policies every second one is for testing, so that both halves reach from weak to strong. Acrobot is for
testing altogether: an environment that no choice among methods has seen.
"""

from importlib.resources import files

from ropeval.bench.data.tasks.task import PolicySource, Task, every_second, world_id

POLICIES = files("ropeval.bench.data") / "policies" / "classic"
JUDGED = ("1", "2", "3", "4", "5", "6")  # from weak to strong
ENVIRONMENTS = {
    "cartpole": ("CartPole-v1", 0.99),
    "acrobot": ("Acrobot-v1", 0.99),
    "mountaincar": ("MountainCarContinuous-v0", 0.99),
    "pendulum": ("Pendulum-v1", 0.98),
}
WRITERS = {
    "weak": ({"weak": 1}, "policy 2 with noise"),
    "mixture": ({"1": 1, "3": 1, "5": 1}, "policies 1, 3 and 5, a third each"),
    "epsilon": ({"greedy": 1}, "policy 4, ε-greedy with ε = 0.3"),
}
SIZES = {"5k": 5_000, "20k": 20_000, "100k": 100_000}


def _policies(environment: str) -> dict[str, PolicySource]:
    stem = environment.partition("-v")[0].lower()
    spec = {name: str(POLICIES / f"{stem}_{name}.npz") for name in JUDGED}
    return {name: PolicySource(spec=spec[name], mode="stochastic") for name in JUDGED} | {
        "weak": PolicySource(spec=spec["2"], mode="stochastic", epsilon=0.1),
        "greedy": PolicySource(spec=spec["4"], mode="mean", epsilon=0.3),
    }


TASKS = [
    Task(
        name=f"suite/{body}-{kind}-{size}",
        environment=world_id(environment),
        policies=_policies(environment),
        judged=every_second(JUDGED),
        writers=writers,
        transitions=transitions,
        gamma=gamma,
        truth="known",
        family="classic",
        split="test" if body == "acrobot" else "dev",
        about=about,
    )
    for body, (environment, gamma) in ENVIRONMENTS.items()
    for kind, (writers, about) in WRITERS.items()
    for size, transitions in SIZES.items()
]
