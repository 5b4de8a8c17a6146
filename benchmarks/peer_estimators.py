"""What other libraries say of the same log. Run by peers.py inside their own environment; prints one line of JSON.

    python peer_estimators.py QUESTION.npz STEPS

QUESTION.npz holds the log (observations, actions, rewards, terminations, starts, log_probs), γ, and π(a|s) of the
judged policy in the logged states. A library that cannot be imported is named with its reason.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np

LEARNING_RATE, BATCH, WIDTH, SYNC = 3e-4, 256, 256, 10  # ropeval's own of fqe; targets are copied after so many steps

THREADS = 1  # networks of this size gain nothing from more, and ropeval's one member has one core, too


class Question:
    def __init__(self, path: str):
        held = np.load(path)
        self.states, self.actions, self.rewards = held["observations"], held["actions"], held["rewards"]
        self.ended, self.starts = held["terminations"], held["starts"]
        self.behaviour = np.exp(held["log_probs"].astype(np.float64))  # [N] π_b of the logged actions
        self.policy = held["policy"].astype(np.float64)  # [N, A]
        self.gamma = float(held["gamma"])
        self.lengths = np.diff(self.starts)
        self.longest = int(self.lengths.max())

    def padded(self, rows: Any, value: float) -> Any:
        """[E, T, …] with `value` after an episode's end."""
        made = np.full((len(self.lengths), self.longest, *rows.shape[1:]), value, rows.dtype)
        for e, (first, length) in enumerate(zip(self.starts, self.lengths, strict=False)):
            made[e, :length] = rows[first : first + length]
        return made


class Asked:
    """The judged policy as d3rlpy asks it: an action for every state of a batch, drawn, and looked up by the state."""

    def __init__(self, question: Question, seed: int = 0):
        self.rng = np.random.default_rng(seed)
        self.known = {s.tobytes(): p for s, p in zip(question.states, question.policy, strict=True)}
        self.never = np.full(question.policy.shape[1], 1.0 / question.policy.shape[1])  # after the end
        self.impl = self

    def predict_best_action(self, x: Any) -> Any:
        import torch

        chances = np.stack([self.known.get(row.tobytes(), self.never) for row in x.numpy()])
        drawn = (chances.cumsum(axis=1) < self.rng.random((len(chances), 1))).sum(axis=1)
        return torch.as_tensor(np.minimum(drawn, chances.shape[1] - 1))


def fit_d3rlpy(question: Question, steps: int) -> Any:
    """q of the logged states, [N, A]."""
    import d3rlpy

    d3rlpy.seed(0)
    last = np.zeros(len(question.rewards), np.float32)
    last[question.starts[1:] - 1] = 1.0
    dataset = d3rlpy.dataset.MDPDataset(
        observations=question.states,
        actions=question.actions.astype(np.int64),
        rewards=question.rewards,
        terminals=question.ended.astype(np.float32),
        timeouts=last * ~question.ended,
        action_size=question.policy.shape[1],
        action_space=d3rlpy.ActionSpace.DISCRETE,
    )
    encoder = d3rlpy.models.VectorEncoderFactory([WIDTH, WIDTH])
    config = d3rlpy.ope.FQEConfig(
        learning_rate=LEARNING_RATE, batch_size=BATCH, gamma=question.gamma, encoder_factory=encoder,
        target_update_interval=SYNC,
    )  # fmt: skip
    fqe = d3rlpy.ope.DiscreteFQE(algo=Asked(question), config=config)
    fqe.build_with_dataset(dataset)
    for _ in range(steps):
        fqe.update(dataset.sample_transition_batch(BATCH))
    every = [np.full(len(question.states), a) for a in range(question.policy.shape[1])]
    return np.stack([fqe.predict_value(question.states, actions) for actions in every], axis=1)


def scope_rl(question: Question, q: Any) -> dict[str, Callable[[], float]]:
    """Its episodes are all of one length: after an end come steps without reward that both policies take."""
    from scope_rl.ope import discrete

    one_hot = np.eye(question.policy.shape[1])[0]
    dist = question.padded(question.policy / question.policy.sum(axis=1, keepdims=True), 0.0)
    dist[question.padded(np.zeros(len(question.rewards)), 1.0) > 0] = one_hot
    given = {
        "step_per_trajectory": question.longest,
        "action": question.padded(question.actions.astype(np.int64), 0).ravel(),
        "reward": question.padded(question.rewards.astype(np.float64), 0.0).ravel(),
        "pscore": question.padded(question.behaviour, 1.0).ravel(),
        "evaluation_policy_action_dist": dist.reshape(-1, dist.shape[-1]),
        "state_action_value_prediction": question.padded(q.astype(np.float64), 0.0).reshape(-1, dist.shape[-1]),
        "gamma": question.gamma,
    }
    named = {
        "TIS": discrete.TrajectoryWiseImportanceSampling, "SNTIS": discrete.SelfNormalizedTIS,
        "PDIS": discrete.PerDecisionImportanceSampling, "SNPDIS": discrete.SelfNormalizedPDIS,
        "DM": discrete.DirectMethod, "DR": discrete.DoublyRobust, "SNDR": discrete.SelfNormalizedDR,
    }  # fmt: skip
    return {name: lambda kind=kind: kind().estimate_policy_value(**given) for name, kind in named.items()}  # type: ignore[misc]


def offline_rl_ope(question: Question, q: Any) -> dict[str, Callable[[], float]]:
    import torch
    from offline_rl_ope.api.StandardEstimators.DR import WDR, VanillaDR
    from offline_rl_ope.api.StandardEstimators.IS import WIS, VanillaISPDIS
    from offline_rl_ope.OPEEstimators.DirectMethod import DirectMethodBase

    ratio = question.policy[np.arange(len(question.actions)), question.actions] / question.behaviour
    mask = question.padded(np.ones(len(ratio)), 0.0)
    steps = np.cumprod(question.padded(ratio, 1.0), axis=1)  # [E, T]
    episodes = [slice(first, first + length) for first, length in zip(question.starts, question.lengths, strict=False)]
    rows = np.arange(len(ratio))[:, None].astype(np.float32)  # a step's number stands for its state: q is a table

    def column(values: Any) -> list[Any]:
        return [torch.tensor(values[part]).reshape(-1, 1).float() for part in episodes]

    class Table(DirectMethodBase):  # type: ignore[misc]
        def calculate_v(self, state: Any) -> Any:
            own = state[:, 0].long().numpy()
            return torch.tensor((q[own] * question.policy[own]).sum(axis=1, keepdims=True)).float()

        def calculate_q(self, state: Any, action: Any) -> Any:
            return torch.tensor(q[state[:, 0].long().numpy(), action[:, 0].long().numpy()]).reshape(-1, 1).float()

    given = {
        "rewards": column(question.rewards), "states": column(rows), "actions": column(question.actions),
        "discount": question.gamma, "is_msk": torch.tensor(mask).float(),
    }  # fmt: skip
    whole = torch.tensor(steps[:, -1:] * mask).float()
    by_step = torch.tensor(steps * mask).float()
    table = Table(model=None)
    named = {
        "IS": (VanillaISPDIS(), whole), "WIS": (WIS(), whole), "PDIS": (VanillaISPDIS(), by_step),
        "DR": (VanillaDR(dm_model=table), by_step), "WDR": (WDR(dm_model=table), by_step),
    }  # fmt: skip
    return {
        name: lambda kind=kind, weights=weights: float(kind.predict(weights=weights, **given))  # type: ignore[misc]
        for name, (kind, weights) in named.items()
    }


def answers(question: Question, steps: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    try:
        import d3rlpy  # noqa: F401  (which takes a while, and is not FQE's fault)
        import torch

        torch.set_num_threads(THREADS)
        began = time.perf_counter()
        q = fit_d3rlpy(question, steps)
        of_q = time.perf_counter() - began
        value = float((q[question.starts[:-1]] * question.policy[question.starts[:-1]]).sum(axis=1).mean())
        rows.append({"library": f"d3rlpy {version('d3rlpy')}", "method": "FQE", "value": value, "seconds": of_q})
    except Exception as error:  # of whatever kind: the table says why
        return [{"library": "d3rlpy", "method": "FQE", "reason": f"{type(error).__name__}: {error}"}]
    for name, package, make in (
        ("SCOPE-RL", "scope-rl", scope_rl),
        ("offline_rl_ope", "offline_rl_ope", offline_rl_ope),
    ):
        try:
            library = f"{name} {version(package)}"
            made = make(question, q)
        except Exception as error:
            rows.append({"library": name, "method": "all", "reason": f"{type(error).__name__}: {error}"})
            continue
        for method, ask in made.items():
            began = time.perf_counter()
            row: dict[str, Any] = {"library": library, "method": method}
            try:
                row["value"] = float(ask())
            except Exception as error:
                row["reason"] = f"{type(error).__name__}: {error}"
            took = time.perf_counter() - began
            rows.append({**row, "seconds": took + (of_q if method in ("DM", "DR", "SNDR", "WDR") else 0.0)})
    return rows


if __name__ == "__main__":
    heard, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115  (libraries talk while they work)
    found = answers(Question(sys.argv[1]), int(sys.argv[2]))
    print(json.dumps(found), file=heard)
