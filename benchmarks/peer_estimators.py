"""What other libraries say of the same log. Run by peers.py inside their own environment; prints one line of JSON.

    python -m benchmarks.peer_estimators QUESTION.npz STEPS

QUESTION.npz is as `peer_fqe.py` says, with π(a|s) and with the log's log_probs. STEPS: at most so many, 0 for each
library's own number. A library that cannot be imported is named with its reason.
"""

import json
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from benchmarks.peer_fqe import Fit, Question, Seconds, Settings

THREADS = 1  # networks of this size gain nothing from more, and ropeval's one member has one core, too
# What each library's q is fitted with: d3rlpy's own settings (see `Settings`), those of SCOPE-RL's CreateOPEInput.
# offline_rl_ope leaves both to its user, and is handed d3rlpy's.
OWN = {"d3rlpy": Settings(), "scope-rl": Settings(widths=(100,))}
NEED_Q = ("DM", "DR", "SNDR", "WDR")


def fit(question: Question, settings: Settings, most: int) -> tuple[Any, dict[str, float]]:
    """q of the logged states, [N, A], and its seconds; `most` steps, if that is not 0."""
    began = Seconds()
    fitted = Fit(question, settings)
    for _ in range(min(settings.steps, most or settings.steps)):
        fitted.step()
    return fitted.q(question.states), began.so_far()


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


def answers(question: Question, most: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    try:
        import d3rlpy  # noqa: F401  (which takes a while, and is not FQE's fault)
        import torch

        torch.set_num_threads(THREADS)
        fits = {package: fit(question, settings, most) for package, settings in OWN.items()}
    except Exception as error:  # of whatever kind: the table says why
        return [{"library": "d3rlpy", "method": "FQE", "reason": f"{type(error).__name__}: {error}"}]
    first = question.starts[:-1]
    q, spent = fits["d3rlpy"]
    value = float((q[first] * question.policy[first]).sum(axis=1).mean())
    rows.append({"library": f"d3rlpy {version('d3rlpy')}", "method": "FQE", "value": value, **spent})
    for name, package, make in (
        ("SCOPE-RL", "scope-rl", scope_rl),
        ("offline_rl_ope", "offline_rl_ope", offline_rl_ope),
    ):
        q, spent = fits.get(package, fits["d3rlpy"])
        try:
            library = f"{name} {version(package)}"
            made = make(question, q)
        except Exception as error:
            rows.append({"library": name, "method": "all", "reason": f"{type(error).__name__}: {error}"})
            continue
        for method, ask in made.items():
            began = Seconds()
            row: dict[str, Any] = {"library": library, "method": method}
            try:
                row["value"] = float(ask())
            except Exception as error:
                row["reason"] = f"{type(error).__name__}: {error}"
            took = began.so_far()
            rows.append({**row, **{unit: took[unit] + (spent[unit] if method in NEED_Q else 0.0) for unit in took}})
    return rows


if __name__ == "__main__":
    heard, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115  (libraries talk while they work)
    found = answers(Question(sys.argv[1]), int(sys.argv[2]))
    print(json.dumps(found), file=heard)
