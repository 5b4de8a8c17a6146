"""The orchestration: log, policy and method in, `Estimate` out."""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ropeval.data import Log, LogLike, Problem, load_dataset, make_problem
from ropeval.errors import UserError
from ropeval.estimators import ESTIMATORS, Estimated
from ropeval.estimators.return_distribution import DEFAULT_LEVEL, distribution
from ropeval.evaluation import coverage
from ropeval.evaluation.conclude import conclude
from ropeval.evaluation.diagnosis.diagnose import diagnose, evidence_of
from ropeval.evaluation.fit import fit
from ropeval.evaluation.forecast import fit_minutes
from ropeval.evaluation.groups import make_groups, value_by_group
from ropeval.evaluation.methods import ALL, Method, make_methods
from ropeval.evaluation.options import Options, make_options, takes_options
from ropeval.evaluation.result import Coverage, Estimate, curve_rows, finite_or_none
from ropeval.evaluation.tune import tune
from ropeval.evaluation.verdict.signs import read_signs
from ropeval.evaluation.verdict.verdict import give_verdicts
from ropeval.evaluation.versus_log import compare_with_log, logged_returns
from ropeval.learning.checkpoint import Checkpoint
from ropeval.learning.company import Seat
from ropeval.learning.engine import Aside, Run, member_keys
from ropeval.learning.resample import Resamples
from ropeval.notebook import progress_bar
from ropeval.policies.given import PolicyLike, as_policy
from ropeval.runtime import products_by_one_thread
from ropeval.version import __version__


@takes_options
def evaluate(
    log: LogLike,
    policy: PolicyLike,
    method: str = "world",
    *,
    report: Callable[[str, float], None] | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Estimate:
    """Estimate what `policy` would earn, from `log` alone. Both may be given as they are, or as what loads them.

    >>> rows = [{"obs": [t / 100], "action": t % 2, "pscore": 0.5, "reward": float(t % 2)} for t in range(100)]
    >>> log = ropeval.load_dataset(rows, {"terminations": "always"})
    >>> found = ropeval.evaluate(log, lambda observations: np.ones(len(observations), int), "wis", gamma=0)
    >>> round(found.value, 3)
    1.0

    `progress` shows a bar (in a notebook there is one unless it is False), and `report` is called with (stage, fraction
    done) as the work goes on. `settings` are fields of the parts, for example
    {"fqe": {"steps": 50_000}, "rope": {"beta": 10}}. The options are those of the command line:
    """
    if "key" in options:  # what the seed was called before
        options["seed"] = options.pop("key")
    chosen = make_options({**options, "method": method})
    if len(chosen.method) > 1 or chosen.method[0].lower() == ALL:
        raise UserError(f"method is {method!r}; ask for one at a time; compare takes several")
    if chosen.columns:
        raise UserError("columns: this log has been read already; give them to load_dataset")
    dataset, judged = load_dataset(log), as_policy(policy)
    chosen = fit_minutes(chosen, dataset, [judged])
    (made,) = make_methods(chosen)
    problem = make_problem(
        dataset, judged, chosen.gamma, chosen.seed, chosen.draws, horizon=chosen.horizon, numbers=chosen.numbers
    )
    shown = progress_bar(progress if report is None else False, [(problem.policy, made)])
    with products_by_one_thread(), shown as bar:
        tuned = tune(problem, made, chosen.seed) if chosen.tune else None
        told = report if bar is None else partial(bar, 0)
        (found,) = give_verdicts([answer(problem, tuned.method if tuned else made, chosen, report=told, alone=True)])
        return found


def answer(
    problem: Problem,
    method: Method,
    options: Options,
    *,
    covered: Coverage | None = None,
    report: Callable[[str, float], None] | None = None,
    checkpoints: Path | None = None,
    shared: Path | None = None,
    aside: Aside | None = None,
    seat: Seat | None = None,
    alone: bool = False,
) -> Estimate:
    """One estimate for a problem that is laid out already, so that several methods can share it, and `covered`.

    checkpoints   where training is saved, of this question alone, and
    shared        what is prepared once for all policies of the log; None: there, too
    aside         a thread that may compile what comes next, if one is to spare
    seat          among other policies, with which it trains together
    alone         no other policy is judged: its verdict needs something else to measure lengths by
    """
    method.check(problem.dataset, problem.policy)
    groups = make_groups(problem.log.given, options.by) if options.by else []
    began = time.perf_counter()
    config = {
        "gamma": problem.gamma,
        **({"horizon": problem.horizon} if problem.horizon else {}),
        "members": options.members,
        "seed": options.seed,
        "draws": problem.answers.count,
        "resample": options.resample,
        **method.describe(),
    }
    checkpoint = Checkpoint(checkpoints, _fingerprint(problem, method.name, config)) if checkpoints else None
    run = replace(make_run(problem.log, options, report, checkpoint, shared), aside=aside, seat=seat)

    raw, fitted = problem, fit(problem, method, run)
    problem, estimated, trained = fitted.problem, fitted.estimated, fitted.trained
    taken = {
        stage: int(trained[stage].steps[-1]) for stage, steps in method.stages.items() if steps and stage in trained
    }
    config |= {"trained_steps": taken} if taken else {}  # a small log may ask for fewer than the settings say
    said = conclude(fitted, method, run.resamples, options.level, options.interval)

    sees_policy = ESTIMATORS[method.estimator].sees_policy
    returns = logged_returns(problem, estimated) if sees_policy else None
    if covered is None and sees_policy:
        covered = coverage.measure(raw)
    evidence = evidence_of(fitted, method, run, said, covered)
    found = diagnose(evidence)
    return Estimate(
        policy=problem.policy.name,
        policy_kind=problem.policy.kind,
        method=method.name,
        value=said.value,
        interval=said.interval,
        lowest=float(said.good.min()) if len(said.good) else None,
        highest=float(said.good.max()) if len(said.good) else None,
        members=[finite_or_none(v) for v in estimated.values],
        diverged=[int(i) for i in np.flatnonzero(said.diverged)],
        warnings=[finding.sentence for finding in found],
        config=config,
        data_sha256=problem.dataset.sha256,
        version=__version__,
        seconds=round(time.perf_counter() - began, 3),
        curves=curve_rows(trained),
        diagnosis=found,
        replicates=[finite_or_none(v) for v in said.replicates] if run.resamples else [],
        left_out=[int(i) for i in np.flatnonzero(said.left_out)],
        extras={**estimated.extras, **risk(estimated, options)},
        versus_log=compare_with_log(
            said.value, said.replicates, said.interval, returns, run.resamples, level=options.level
        ),
        groups=value_by_group(groups, fitted, said, run.resamples, options.level, sees_policy),
        signs=read_signs(evidence, said, alone),
        family=ESTIMATORS[method.estimator].family,
    )


def make_run(
    log: Log,
    options: Options,
    report: Callable[[str, float], None] | None = None,
    checkpoint: Checkpoint | None = None,
    shared: Path | None = None,
) -> Run:
    """The members that every question is put to."""
    resamples = Resamples(options.seed, log.dataset.num_episodes) if options.resample else None
    prepared = Checkpoint(shared, _fingerprint_of_log(log)) if shared else None
    return Run(member_keys(options.seed, options.members), report, checkpoint, prepared, resamples=resamples)


def risk(estimated: Estimated, options: Options) -> dict[str, Any]:
    """How returns spread, where that is asked and the method knows."""
    if estimated.returns is None or (options.risk is None and options.below is None):
        return {}
    return {"risk": distribution(*estimated.returns, options.risk or DEFAULT_LEVEL, options.below)}


def _fingerprint_of_log(log: Log) -> str:
    """What a checkpoint belongs to. The device is part of it, since another one rounds differently."""
    about = [__version__, log.dataset.sha256, log.gamma, log.horizon, log.protocol, jax.devices()[0].device_kind]
    about += ["names"] if log.states else []  # learners see another log then, under the same hash
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()


def _fingerprint(problem: Problem, method: str, config: dict[str, Any]) -> str:
    about = {
        "log": _fingerprint_of_log(problem.log),
        "policy": [problem.policy.name, problem.policy.kind, problem.policy.sha256, _actions_hash(problem)],
        "method": method,
        "config": config,
    }
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _actions_hash(problem: Problem) -> str:
    """A function carries no hash of its own, but its answers on the initial states tell it apart."""
    pairs, weight = problem.answers.initial
    chances = b"" if weight is None else weight.tobytes()
    return hashlib.sha256(np.asarray(pairs[:], np.float32).tobytes() + chances).hexdigest()
