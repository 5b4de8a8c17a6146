"""d3rlpy's FQE of a log, in d3rlpy's own environment: what it says as training goes on, and after how many seconds.

    python -m benchmarks.peer_fqe QUESTION.npz SETTINGS.json

QUESTION.npz holds the log (observations, actions, rewards, terminations, starts), γ, and what the judged policy does in
the logged states: π(a|s) as `policy` [N, A], or `draws` [N, K, A] of it where actions are numbers. SETTINGS.json has
the fields of `Settings`, and may have `marks`: after which steps to tell. Prints one line of JSON.

Seconds are those of this process, sampling included and d3rlpy's logging left out; they begin after the imports.
"""

import json
import os
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np


class Settings(NamedTuple):
    """d3rlpy's own, as its FQEConfig has them; `steps` are those of its tutorial on choosing policies offline, and the
    default of SCOPE-RL. (The example in its reference has 100,000.)"""

    steps: int = 10_000
    learning_rate: float = 1e-4
    batch: int = 100
    widths: Sequence[int] = (256, 256)
    sync: int = 100  # targets are copied after so many steps


# As like ropeval's `fqe` as d3rlpy can be: its targets are copied, where ours follow at τ = 1/50.
LIKE_OURS = Settings(steps=15_000, learning_rate=3e-4, batch=256, sync=50)


class Question:
    def __init__(self, path: str):
        held = np.load(path)
        self.states, self.actions, self.rewards = held["observations"], held["actions"], held["rewards"]
        self.ended, self.starts = held["terminations"], held["starts"]
        self.gamma = float(held["gamma"])
        self.policy: Any = held["policy"].astype(np.float64) if "policy" in held else None  # [N, A]
        self.draws: Any = held.get("draws")  # [N, K, A]
        if "log_probs" in held:
            self.behaviour = np.exp(held["log_probs"].astype(np.float64))  # [N] π_b of the logged actions
        self.lengths = np.diff(self.starts)
        self.longest = int(self.lengths.max())

    def padded(self, rows: Any, value: float) -> Any:
        """[E, T, …] with `value` after an episode's end."""
        made = np.full((len(self.lengths), self.longest, *rows.shape[1:]), value, rows.dtype)
        for e, (first, length) in enumerate(zip(self.starts, self.lengths, strict=False)):
            made[e, :length] = rows[first : first + length]
        return made


class Asked:
    """The judged policy as d3rlpy asks it: one action for every state of a batch, drawn, and looked up by the state.

    Looking up costs about what the forward pass of a small network does; `cpu` says how much it was.
    """

    def __init__(self, question: Question, seed: int = 0):
        self.rng = np.random.default_rng(seed)
        self.rows = {state.tobytes(): row for row, state in enumerate(question.states)}
        nobody = len(question.states)  # what comes after the end is asked about, too, and counts for nothing
        self.row_of = lambda state: self.rows.get(state.tobytes(), nobody)
        known = question.policy if question.policy is not None else question.draws
        self.known = np.concatenate([known, known[:1]])
        self.impl = self
        self.cpu = 0.0

    def predict_best_action(self, x: Any) -> Any:
        import torch

        began = time.process_time()
        actions = torch.as_tensor(self.drawn(x.numpy()))
        self.cpu += time.process_time() - began
        return actions

    def drawn(self, states: Any) -> Any:
        own = self.known[[self.row_of(state) for state in states]]
        if own.ndim == 3:
            return own[np.arange(len(own)), self.rng.integers(own.shape[1], size=len(own))]
        below = (own.cumsum(axis=1) < self.rng.random((len(own), 1))).sum(axis=1)
        return np.minimum(below, own.shape[1] - 1)  # the last sum may be a little below 1


class Fit:
    """d3rlpy's FQE of a question, before its first step."""

    def __init__(self, question: Question, settings: Settings):
        import d3rlpy

        d3rlpy.seed(0)
        self.question, self.settings, self.asked = question, settings, Asked(question)
        discrete = question.policy is not None
        last = np.zeros(len(question.rewards), np.float32)
        last[question.starts[1:] - 1] = 1.0
        space = d3rlpy.ActionSpace.DISCRETE if discrete else d3rlpy.ActionSpace.CONTINUOUS
        self.dataset = d3rlpy.dataset.MDPDataset(
            observations=question.states,
            actions=question.actions.astype(np.int64) if discrete else question.actions,
            rewards=question.rewards,
            terminals=question.ended.astype(np.float32),
            timeouts=last * ~question.ended,
            action_size=self.asked.known.shape[-1],
            action_space=space,
        )
        config = d3rlpy.ope.FQEConfig(
            learning_rate=settings.learning_rate,
            batch_size=settings.batch,
            gamma=question.gamma,
            encoder_factory=d3rlpy.models.VectorEncoderFactory(list(settings.widths)),
            target_update_interval=settings.sync,
        )
        self.fqe = (d3rlpy.ope.DiscreteFQE if discrete else d3rlpy.ope.FQE)(algo=self.asked, config=config)
        self.fqe.build_with_dataset(self.dataset)

    def step(self) -> None:
        self.fqe.update(self.dataset.sample_transition_batch(self.settings.batch))

    def q(self, states: Any) -> Any:
        """Of every discrete action, [n, A]."""
        actions = range(self.asked.known.shape[-1])
        return np.stack([self.fqe.predict_value(states, np.full(len(states), a)) for a in actions], axis=1)

    def value(self) -> float:
        """The mean over initial states and the policy's actions there."""
        first = self.question.starts[:-1]
        states, own = self.question.states[first], self.asked.known[first]
        if self.question.policy is not None:
            return float((self.q(states) * own).sum(axis=1).mean())
        drawn = [self.fqe.predict_value(states, own[:, k]) for k in range(own.shape[1])]
        return float(np.mean(drawn))


def curve(question: Question, settings: Settings, marks: Sequence[int], began: "Seconds") -> dict[str, Any]:
    fit, points = Fit(question, settings), []
    for step in range(1, settings.steps + 1):
        fit.step()
        if step in marks:
            points.append({"steps": step, "value": fit.value(), **began.so_far()})
    return {"points": points, "policy_cpu": round(fit.asked.cpu, 2)}


class Seconds:
    """CPU (of all threads and children) and clock, since it was made."""

    def __init__(self) -> None:
        self.cpu, self.clock = self._now()

    def so_far(self) -> dict[str, float]:
        cpu, clock = self._now()
        return {"cpu": round(cpu - self.cpu, 2), "clock": round(clock - self.clock, 2)}

    @staticmethod
    def _now() -> tuple[float, float]:
        return sum(os.times()[:4]), time.perf_counter()


def main() -> None:
    heard, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115  (libraries talk while they work)
    importing = Seconds()
    import d3rlpy  # noqa: F401  (which takes a while, and is not FQE's fault)
    import torch

    torch.set_num_threads(1)
    imported = importing.so_far()
    began = Seconds()
    with open(sys.argv[2]) as file:
        given = json.load(file)
    marks = given.pop("marks")
    found = curve(Question(sys.argv[1]), Settings(**given), marks, began)
    versions = {"d3rlpy": version("d3rlpy"), "torch": torch.__version__}
    print(json.dumps({**found, "import": imported, "versions": versions}), file=heard)


if __name__ == "__main__":
    main()
