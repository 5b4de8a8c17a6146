"""What training that is too short leaves out: the measurements behind the finding `too-short`.

    python -m benchmarks.short_training            about six minutes on one CPU core

fqe     on the demo's log (γ = 0.99), whose true values are known: how much of them is missing, beside what
        `about_training.unseen` says must be
world   on tasks without chance: what it does not foresee of held-out rows is what it has not learned yet, so that
        its product with the number of steps should stay below `about_training.LEFT`
"""

import json
from collections.abc import Iterator
from importlib import resources
from math import inf

import numpy as np
from benchmarks.program import run

from ropeval import CallablePolicy, Dataset, Policy, evaluate, load_dataset, load_policy
from ropeval.evaluation.diagnosis.about_training import unseen
from ropeval.runtime import prepare

GAMMA = 0.99
FQE = {"width": 64, "learning_rate": 1e-3}
FQE_STEPS = ((0.02, 50), (0.02, 1_000), (0.02, 2_000), (0.02, 6_000), (0.02, 10_000), (0.05, 2_000), (0.05, 6_000))
WORLD_STEPS = (10, 30, 100, 300, 1_000)


def curled(columns: int, episodes: int = 50, length: int = 200) -> Dataset:
    """s' = 0.7·s + 0.6·tanh(M·s + B·a)·cos(W·s), a reward as crooked, and three actions at random."""
    rng = np.random.default_rng(0)
    pushed, turned = (rng.standard_normal((columns, columns)) / np.sqrt(columns) for _ in range(2))
    reached, state = rng.standard_normal((columns, 3)), rng.standard_normal((episodes, columns))
    steps = []
    for _ in range(length):
        action = rng.uniform(-1.0, 1.0, (episodes, 3))
        bend = np.tanh(1.5 * state @ pushed.T + action @ reached.T) * np.cos(state @ turned.T)
        following = 0.7 * state + 0.6 * bend
        steps.append((state, action, following, np.sin(2.0 * state[:, 0]) * state[:, 1] - action[:, 0] ** 2))
        state = following
    names = ("observations", "actions", "next_observations", "rewards")
    flat = {name: np.concatenate(np.stack(each, 1)) for name, each in zip(names, zip(*steps, strict=True), strict=True)}
    last = np.tile(np.arange(length) == length - 1, episodes)
    return Dataset.from_columns({**flat, "truncations": last, "terminations": np.zeros_like(last)})


def fqe_rows(log: Dataset, policies: dict[Policy, float]) -> Iterator[str]:
    yield "| steps | τ | backups | must be missing | " + " | ".join(f"missing, {p.name}" for p in policies) + " |"
    yield "|--:|--:|--:|--:|" + "--:|" * len(policies)
    for tau, steps in FQE_STEPS:
        settings = {"fqe": {**FQE, "tau": tau, "steps": steps}}
        missing = []
        for policy, truth in policies.items():
            said = evaluate(log, policy, "fqe", gamma=GAMMA, members=2, draws=4, settings=settings).value
            assert said is not None
            missing.append(f"{1.0 - said / truth:.0%}")
        backups = tau * steps
        told = f"{unseen(backups, GAMMA, inf):.0%}"
        yield f"| {steps:,} | {tau:g} | {backups:g} | {told} | {' | '.join(missing)} |"


def world_rows(logs: dict[str, tuple[Dataset, Policy]]) -> Iterator[str]:
    yield "| steps | " + " | ".join(f"not foreseen, {name}" for name in logs) + " |"
    yield "|--:|" + "--:|" * len(logs)
    for steps in WORLD_STEPS:
        settings = {"world": {"steps": steps, "rollouts": 16}}
        left = [
            evaluate(log, policy, "world", gamma=0.95, members=2, draws=4, settings=settings).extras["unexplained"]
            for log, policy in logs.values()
        ]
        yield f"| {steps:,} | " + " | ".join(f"{one:.1%} ({one * steps:.0f}/n)" for one in left) + " |"


def main() -> None:
    prepare()
    with resources.as_file(resources.files("ropeval.demo")) as folder:
        known = json.loads((folder / "truth.json").read_text(encoding="utf-8"))["policies"]
        log = load_dataset(folder / "log.npz")
        policies = {
            load_policy(folder / "policies" / f"{name}.npz"): known[name]["value"] for name in ("spinner", "lazy")
        }
    for line in fqe_rows(log, policies):
        print(line, flush=True)
    some = CallablePolicy(lambda s: np.tanh(s[:, :3]), deterministic=True, name="tanh")
    logs = {"demo": (log, next(iter(policies))), "4 columns": (curled(4), some), "12 columns": (curled(12), some)}
    for line in world_rows(logs):
        print(line, flush=True)


if __name__ == "__main__":
    run(main)
