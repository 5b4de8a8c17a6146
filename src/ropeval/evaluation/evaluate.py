"""The orchestration: log, policy and method in, `Estimate` out."""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from ropeval.data import Dataset, Problem, make_problem
from ropeval.errors import UserError, unknown_name
from ropeval.estimators import ESTIMATORS
from ropeval.evaluation import coverage
from ropeval.evaluation.diagnosis.diagnose import diagnose
from ropeval.evaluation.diagnosis.evidence import Evidence, diverged_members
from ropeval.evaluation.fit import fit
from ropeval.evaluation.interval import DEFAULT_LEVEL, KINDS, WIDENED, Kind, make_interval
from ropeval.evaluation.methods import Method, make_method
from ropeval.evaluation.result import Coverage, Estimate, Interval, curve_rows, finite_or_none
from ropeval.learning.checkpoint import Checkpoint
from ropeval.learning.engine import Run, member_keys
from ropeval.learning.resample import Resamples
from ropeval.policies import Policy
from ropeval.settings import Overrides
from ropeval.version import __version__

Floats = NDArray[np.float64]
DEFAULT_GAMMA = 0.99
DEFAULT_MEMBERS = 10  # with ten, the interval is a fifth wider than with very many; with four, four fifths


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
    resample: bool = True,
    interval: Kind = "percentile",
    level: float = DEFAULT_LEVEL,
    report: Callable[[str, float], None] | None = None,
) -> Estimate:
    """Estimate what `policy` would earn, from `dataset` alone.

    members   repetitions, trained together, each from its own seed and its own resample of the log's episodes
    key       the seed: same key, same data, same device give the same bits
    settings  fields of the parts, for example {"fqe": {"steps": 50_000}, "rope": {"beta": 10}}
    preset    "default" (minutes on a laptop) or "paper" (the paper's settings: hours there, minutes on a GPU)
    draws     actions drawn per state from a stochastic policy (default 8)
    resample  False: all members see the log as it is; their spread is that of the seeds, and there is no interval
    interval  "percentile" or "bca"; with few members both become "t" (see evaluation/interval.py)
    level     of the interval
    report    called with (stage, fraction done) as the work goes on
    """
    problem = make_problem(dataset, policy, gamma, key, draws)
    trust = Trust(resample, interval, level)
    return answer(problem, make_method(method, settings, preset), members, key, trust, report=report)


@dataclass(frozen=True)
class Trust:
    """How the luck of the log is judged."""

    resample: bool = True
    interval: Kind = "percentile"
    level: float = DEFAULT_LEVEL

    def __post_init__(self) -> None:
        if self.interval not in KINDS:
            raise unknown_name("interval", self.interval, list(KINDS))
        if not 0.0 < self.level < 1.0:
            raise UserError(f"the level is {self.level}; it must lie between 0 and 1, for example 0.95")


def answer(
    problem: Problem,
    method: Method,
    members: int,
    key: int,
    trust: Trust | None = None,
    *,
    covered: Coverage | None = None,
    report: Callable[[str, float], None] | None = None,
    checkpoints: Path | None = None,
    shared: Path | None = None,
) -> Estimate:
    """One estimate for a problem that is laid out already, so that several methods can share it, and `covered`.

    checkpoints   where training is saved, of this question alone, and
    shared        what is prepared once for all policies of the log; None: there, too
    """
    trust = trust or Trust()
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
        "draws": problem.transitions.draws,
        "resample": trust.resample,
        **method.describe(),
    }
    checkpoint = Checkpoint(checkpoints, _fingerprint(problem, method.name, config)) if checkpoints else None
    resamples = Resamples(key, problem.dataset.num_episodes) if trust.resample else None
    prepared = Checkpoint(shared, _fingerprint_of_log(problem)) if shared else None
    run = Run(member_keys(key, members), report, checkpoint, prepared, resamples=resamples)

    raw, fitted = problem, fit(problem, method, run)
    problem, estimated, trained = fitted.problem, fitted.estimated, fitted.trained
    estimator = ESTIMATORS[method.estimator]

    values = estimated.values
    diverged = diverged_members(trained, values, problem.reward_bound)
    good = values[~diverged]
    value = float(good.mean()) if len(good) else None
    replicates = np.where(diverged, np.nan, values) if estimated.replicates is None else estimated.replicates
    if covered is None and estimator.sees_policy:
        covered = coverage.measure(raw)
    found = diagnose(
        Evidence(
            problem, value, diverged, trained, estimated, run, fitted.features,
            coverage=covered if estimator.sees_policy else None,
            remarks=fitted.remarks,
        )
    )  # fmt: skip
    return Estimate(
        policy=problem.policy.name,
        policy_kind=problem.policy.kind,
        method=method.name,
        value=value,
        low=float(good.min()) if len(good) else None,
        high=float(good.max()) if len(good) else None,
        members=[finite_or_none(v) for v in values],
        diverged=[int(i) for i in np.flatnonzero(diverged)],
        warnings=[finding.sentence for finding in found],
        config=config,
        data_sha256=problem.dataset.sha256,
        version=__version__,
        seconds=round(time.perf_counter() - began, 3),
        curves=curve_rows(trained),
        interval=_interval(value, replicates, resamples, trust, estimated.replicates is None),
        diagnosis=found,
        replicates=[finite_or_none(v) for v in replicates] if resamples else [],
    )


def _interval(
    value: float | None, replicates: Floats, resamples: Resamples | None, trust: Trust, learned: bool
) -> Interval | None:
    if resamples is None:
        return None
    counts = partial(resamples.counts, 0, len(replicates))
    widened = WIDENED["learned" if learned else "exact"]
    return make_interval(value, replicates, resamples.episodes, trust.level, trust.interval, counts, widened)


def _fingerprint_of_log(problem: Problem) -> str:
    """What a checkpoint belongs to. The device is part of it, since another one rounds differently."""
    about = [__version__, problem.dataset.sha256, problem.gamma, problem.protocol, jax.devices()[0].device_kind]
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()


def _fingerprint(problem: Problem, method: str, config: dict[str, Any]) -> str:
    about = {
        "log": _fingerprint_of_log(problem),
        "policy": [problem.policy.name, problem.policy.kind, problem.policy.sha256, _actions_hash(problem)],
        "method": method,
        "config": config,
    }
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _actions_hash(problem: Problem) -> str:
    """A function carries no hash of its own, but its answers on the initial states tell it apart."""
    return hashlib.sha256(problem.transitions.initial_block().tobytes()).hexdigest()
