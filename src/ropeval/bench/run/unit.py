"""One unit: all its members trained together, for one policy after the other; what comes of it as rows and curves."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
import polars as pl

from ropeval.bench.run.problems import Problems
from ropeval.bench.run.schema import ROWS
from ropeval.bench.run.study import Study, Unit, digest
from ropeval.bench.run.unit_curves import Curves
from ropeval.bench.run.unit_rows import Row, judged_columns, member_rows, resampled_row
from ropeval.data import Problem
from ropeval.errors import UserError
from ropeval.evaluation.fit import fit
from ropeval.evaluation.methods import Method
from ropeval.interrupts import stop_if_pressed
from ropeval.learning.checkpoint import Checkpoint
from ropeval.learning.engine import Run, Trained, member_keys
from ropeval.learning.resample import Resamples
from ropeval.provenance import commit
from ropeval.runtime import device
from ropeval.version import __version__

Report = Callable[[float], None]  # fraction done


class Failed(NamedTuple):
    """Why a policy has no rows."""

    error: str
    refused: bool  # the method has no answer for it (UserError); anything else is a failure

    @staticmethod
    def because(error: BaseException) -> "Failed":
        refused = isinstance(error, UserError)
        return Failed(str(error) if refused else f"{type(error).__name__}: {error}", refused)


@dataclass(frozen=True, eq=False)
class UnitResult:
    """Frames with the columns of `ropeval.bench.run.schema`."""

    rows: pl.DataFrame
    curves: pl.DataFrame
    failed: dict[str, Failed] = field(default_factory=dict)  # by policy


def run_unit(
    study: Study, unit: Unit, problems: Problems, checkpoints: Path | None, report: Report | None = None
) -> UnitResult:
    """Every policy in turn. One that the method refuses, or fails on, does not stop the others."""
    method = study.make(unit.method, json.loads(unit.hyper))
    rows: list[Row] = []
    curves = Curves(unit, study.protocol)
    failed: dict[str, Failed] = {}
    made = len(problems.log.seconds)
    for place, policy in enumerate(unit.policies):
        tell = _overall(method, report, place / len(unit.policies), 1 / len(unit.policies))
        try:
            found, trained = _judge(study, unit, method, problems, policy, checkpoints, tell)
        except Exception as error:
            stop_if_pressed()  # to be interrupted is no failure
            failed[policy] = Failed.because(error)
            continue
        rows += [one | judged_columns(problems.data, policy) for one in found]
        curves.add(policy, trained)
    prepare = pl.lit(float(sum(problems.log.seconds[made:]))).alias("seconds_prepare")
    return UnitResult(pl.DataFrame(rows, schema=ROWS).with_columns(prepare), curves.frame(), failed)


def _judge(
    study: Study,
    unit: Unit,
    method: Method,
    problems: Problems,
    policy: str,
    checkpoints: Path | None,
    report: Callable[[str, float], None] | None,
) -> tuple[list[Row], dict[str, Trained]]:
    """The rows of one policy, and what was trained for them."""
    problem, made, began = problems[policy], len(problems.log.seconds), time.monotonic()
    method.check(problem.dataset, problem.policy)
    about = _fingerprint(study, unit, method, problem)
    own = shared = None
    if checkpoints:
        own = Checkpoint(checkpoints / digest(policy), digest([about, problem.policy.sha256]), began)
        shared = Checkpoint(checkpoints / "log", about)
    run = _run(study, unit, problem, own, shared, report)
    fitted = fit(problem, method, run)
    seconds = own.seconds if own else time.monotonic() - began
    if study.resample:
        rows = resampled_row(study, unit, method, fitted, run, problems.coverage(policy))
    else:
        rows = member_rows(study, unit, fitted)
    common = {
        "study": study.name,
        "unit": unit.id,
        "task": unit.task,
        "method": unit.method,
        "protocol": study.protocol,
        "gamma": problem.gamma,
        "data_sha256": problem.dataset.sha256,
        "policy_sha256": problem.policy.sha256,
        "version": __version__,
        "commit": commit(),
        "device": device(),
        "seconds": seconds - sum(problems.log.seconds[made:]),
    }
    return [common | row for row in rows], fitted.trained


def _run(
    study: Study,
    unit: Unit,
    problem: Problem,
    checkpoint: Checkpoint | None,
    shared: Checkpoint | None,
    report: Callable[[str, float], None] | None,
) -> Run:
    """Members are the unit's, on one log; where the study resamples, they are the resamples of its one setting."""
    if study.resample:
        resamples = Resamples(study.key, problem.dataset.num_episodes)
        return Run(member_keys(study.key, study.seeds), report, checkpoint, shared, grid=unit.grid, resamples=resamples)
    varied = [name for name in unit.members[0].setting if name not in json.loads(unit.hyper)]
    settings = {name: [m.setting[name] for m in unit.members] for name in varied}
    seeds = np.array([m.seed for m in unit.members])
    keys = member_keys(study.key, int(seeds.max()) + 1)[seeds]
    return Run(keys, report, checkpoint, shared, settings=settings, grid=unit.grid)


# --- how far, on what, from what ------------------------------------------------------------------------------


def steps_of(method: Method) -> int:
    """Gradient steps of a member, over all its parts: the measure of how much work it is."""
    return sum(method.stages.values())


def _overall(method: Method, report: Report | None, start: float, share: float) -> Callable[[str, float], None] | None:
    """A method's stages follow each other; each takes its share of the steps, and each policy its share of the unit.
    What was there already is skipped."""
    if report is None:
        return None
    stages, total = method.stages, max(1, steps_of(method))

    def tell(stage: str, fraction: float) -> None:
        if stage in stages:
            before = sum(list(stages.values())[: list(stages).index(stage)])
            report(start + share * (before + fraction * stages[stage]) / total)

    return tell


def _fingerprint(study: Study, unit: Unit, method: Method, problem: Problem) -> str:
    """What a checkpoint belongs to, whatever the policy. Of the device, too, since another one rounds differently."""
    about = [unit.id, method.describe(), problem.protocol, problem.gamma, problem.dataset.sha256, study.resample]
    return digest([*about, __version__, jax.devices()[0].device_kind])
