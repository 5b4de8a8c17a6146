"""The orchestration: log, policy and method in, `Estimate` out."""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ropeval.data import Dataset, Problem, make_problem
from ropeval.encoders import ENCODERS
from ropeval.errors import UserError
from ropeval.estimators import ESTIMATORS
from ropeval.evaluation.diagnose import diverged_members, warnings_for
from ropeval.evaluation.methods import Method, make_method
from ropeval.evaluation.result import Estimate, curve_rows, finite_or_none
from ropeval.learning.checkpoint import Checkpoint
from ropeval.learning.engine import Run, Trained, member_keys
from ropeval.policies import Policy
from ropeval.settings import Overrides
from ropeval.version import __version__

DEFAULT_GAMMA = 0.99
DEFAULT_MEMBERS = 4


def evaluate(
    dataset: Dataset,
    policy: Policy,
    method: str = "rope+fqe",
    *,
    gamma: float = DEFAULT_GAMMA,
    members: int = DEFAULT_MEMBERS,
    key: int = 0,
    settings: Overrides | None = None,
    preset: str = "default",
    draws: int | None = None,
    report: Callable[[str, float], None] | None = None,
) -> Estimate:
    """Estimate what `policy` would earn, from `dataset` alone.

    members   independent repetitions from different seeds, trained together
    key       the seed: same key, same data, same device give the same bits
    settings  fields of the parts, for example {"fqe": {"steps": 50_000}, "rope": {"beta": 10}}
    preset    "default" (minutes on a laptop) or "paper" (the paper's settings: hours there, minutes on a GPU)
    draws     actions drawn per state from a stochastic policy (default 8)
    report    called with (stage, fraction done) as the work goes on
    """
    problem = make_problem(dataset, policy, gamma, key, draws)
    return answer(problem, make_method(method, settings, preset), members, key, report=report)


def answer(
    problem: Problem,
    method: Method,
    members: int,
    key: int,
    *,
    report: Callable[[str, float], None] | None = None,
    checkpoints: Path | None = None,
) -> Estimate:
    """One estimate for a problem that is laid out already, so that several methods can share it."""
    if members < 1:
        raise UserError(f"{members} members were asked for; at least 1 is needed")
    if not 0 <= key < 2**31:
        raise UserError(f"the seed is {key}; it must be at least 0 and less than 2^31")
    method.check(problem.dataset, problem.policy)
    began = time.perf_counter()
    config = {
        "gamma": problem.gamma,
        "members": members,
        "seed": key,
        "draws": problem.transitions.rows.next_x.shape[1],
        **method.describe(),
    }
    checkpoint = Checkpoint(checkpoints, _fingerprint(problem, method.name, config)) if checkpoints else None
    run = Run(member_keys(key, members), report, checkpoint)

    trained: dict[str, Trained] = {}
    warnings: tuple[str, ...] = ()
    if method.encoder is not None:
        encoded = ENCODERS[method.encoder].fit(problem, method.configs[method.encoder], run)
        problem = replace(problem, transitions=encoded.transitions)
        trained, warnings = encoded.trained, encoded.warnings
    estimated = ESTIMATORS[method.estimator].estimate(problem, method.configs[method.estimator], run)
    trained = trained | estimated.trained

    values = estimated.values
    diverged = diverged_members(trained, values, problem.reward_bound)
    good = values[~diverged]
    value = float(good.mean()) if len(good) else None
    return Estimate(
        policy=problem.policy.name,
        policy_kind=problem.policy.kind,
        method=method.name,
        value=value,
        low=float(good.min()) if len(good) else None,
        high=float(good.max()) if len(good) else None,
        members=[finite_or_none(v) for v in values],
        diverged=[int(i) for i in np.flatnonzero(diverged)],
        warnings=[*warnings, *estimated.warnings, *warnings_for(problem, value, diverged, trained)],
        config=config,
        data_sha256=problem.dataset.sha256,
        version=__version__,
        seconds=round(time.perf_counter() - began, 3),
        curves=curve_rows(trained),
    )


def _fingerprint(problem: Problem, method: str, config: dict[str, Any]) -> str:
    """What a checkpoint belongs to. The device is part of it, since another one rounds differently."""
    about = {
        "version": __version__,
        "data": problem.dataset.sha256,
        "policy": [problem.policy.name, problem.policy.kind, problem.policy.sha256, _actions_hash(problem)],
        "method": method,
        "config": config,
        "device": jax.devices()[0].device_kind,
    }
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _actions_hash(problem: Problem) -> str:
    """A function carries no hash of its own, but its answers on the initial states tell it apart."""
    return hashlib.sha256(np.asarray(problem.transitions.initial_x).tobytes()).hexdigest()
