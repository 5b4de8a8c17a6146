"""What the methods without networks take on a log as large as those of locomotion: CPU seconds, clock, estimates.

    python -m benchmarks.long_logs                                   mwl, dualdice, bestdice, fqe-trees
    python -m benchmarks.long_logs --methods mwl --members 1

Made-up dynamics of 17 numbers of a state and 6 of an action, a policy that draws nothing, episodes of 1,000 steps, each
member with a resample of its own. The first line of a method includes what it takes to compile.
"""

import argparse
import resource
import time

import numpy as np

from ropeval.data import Dataset, make_problem
from ropeval.estimators import ESTIMATORS
from ropeval.learning.engine import Run, member_keys
from ropeval.learning.resample import Resamples
from ropeval.policies import CallablePolicy
from ropeval.provenance import commit
from ropeval.runtime import device, prepare

STATES, ACTIONS, STEPS = 17, 6, 1_000


def make_log(episodes: int) -> tuple[Dataset, CallablePolicy]:
    rng = np.random.default_rng(0)
    moves, pushes = rng.standard_normal((STATES, STATES)), 0.3 * rng.standard_normal((ACTIONS, STATES))
    moves *= 0.95 / np.abs(np.linalg.eigvals(moves)).max()
    answers = 0.2 * rng.standard_normal((STATES, ACTIONS))
    policy = CallablePolicy(lambda o: np.tanh(o @ answers).astype(np.float32), deterministic=True, name="made up")
    state, seen = rng.standard_normal((episodes, STATES)), []
    for _ in range(STEPS):
        action = np.clip(np.tanh(state @ answers) + 0.4 * rng.standard_normal((episodes, ACTIONS)), -1, 1)
        after = np.tanh(state @ moves + action @ pushes) + 0.1 * rng.standard_normal((episodes, STATES))
        seen.append((state, action, 1.0 - 0.1 * (state**2).sum(axis=1), after))
        state = after
    names = ("observations", "actions", "rewards", "next_observations")
    stacked = (np.stack(column, axis=1) for column in zip(*seen, strict=True))  # [E, T, …] each
    columns = {name: a.reshape(-1, *a.shape[2:]).astype(np.float32) for name, a in zip(names, stacked, strict=True)}
    cut = np.arange(1, episodes * STEPS + 1) % STEPS == 0
    return Dataset.from_columns({**columns, "terminations": np.zeros(len(cut), bool), "truncations": cut}), policy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=["mwl", "dualdice", "bestdice", "fqe-trees"])
    parser.add_argument("--episodes", type=int, default=400)
    parser.add_argument("--members", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=1)
    asked = parser.parse_args()
    prepare()
    log, policy = make_log(asked.episodes)
    problem = make_problem(log, policy, 0.99)
    run = Run(member_keys(0, asked.members), resamples=Resamples(0, log.num_episodes))
    print(f"{len(log):,} rows, {problem.transitions.dim} features, {asked.members} members; {device()}, {commit()}")
    for name in asked.methods:
        method = ESTIMATORS[name]
        for _ in range(asked.repeats):
            cpu, clock = time.process_time(), time.monotonic()
            found = method(problem, method.config(), run)
            taken = f"{time.process_time() - cpu:.1f} s of CPU time, {time.monotonic() - clock:.1f} s"
            print(f"{name}: {taken}; estimates {np.round(found.values, 4).tolist()}", flush=True)
    print(f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB")


if __name__ == "__main__":
    main()
