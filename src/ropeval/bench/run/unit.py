"""One unit: all its members trained together, for its policies; what comes of it as rows and curves."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
import polars as pl

from ropeval.bench.run.problems import Problems, encoded_bytes, feature_bytes
from ropeval.bench.run.schema import ROWS
from ropeval.bench.run.study import Study, Unit, digest
from ropeval.bench.run.unit_curves import Curves
from ropeval.bench.run.unit_rows import Row, judged_columns, member_rows, resampled_row
from ropeval.data import Problem
from ropeval.data.streaming import held_bytes
from ropeval.errors import UserError
from ropeval.evaluation.fit import fit
from ropeval.evaluation.methods import Method
from ropeval.interrupts import stop_if_pressed
from ropeval.learning.checkpoint import Checkpoint
from ropeval.learning.company import Seat, in_company
from ropeval.learning.engine import Run, Trained, member_keys
from ropeval.learning.resample import Resamples
from ropeval.provenance import commit
from ropeval.runtime import device, products_by_one_thread, sized_for
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


Judged = tuple[list[Row], dict[str, Trained]]  # the rows of one policy, and what was trained for them


@products_by_one_thread()
def run_unit(
    study: Study, unit: Unit, problems: Problems, checkpoints: Path | None, report: Report | None = None
) -> UnitResult:
    """Every policy, and as many at a time as train together. One that the method refuses, or fails on, does not stop
    the others."""
    method = study.make(unit.method, json.loads(unit.hyper))
    rows: list[Row] = []
    curves = Curves(unit, study.protocol)
    failed: dict[str, Failed] = {}
    began, many = time.monotonic(), _at_once(study, unit, method, problems)
    for first in range(0, len(unit.policies), many):
        some = unit.policies[first : first + many]
        tell = _overall(method, report, first / len(unit.policies), len(some) / len(unit.policies))
        judge = partial(_judge, study, unit, method, problems, checkpoints, tell, len(some))
        for policy, found in zip(some, _side_by_side(judge, some), strict=True):
            if isinstance(found, Failed):
                failed[policy] = found
            else:
                rows += [one | judged_columns(problems.data, policy) for one in found[0]]
                curves.add(policy, found[1])
    prepare = pl.lit(problems.log.seconds_since(began)).alias("seconds_prepare")
    return UnitResult(pl.DataFrame(rows, schema=ROWS).with_columns(prepare), curves.frame(), failed)


def _at_once(study: Study, unit: Unit, method: Method, problems: Problems) -> int:
    """Policies that train together: on an accelerator, which a few members leave mostly idle, as many as find room
    there, each twice; a CPU has its cores at work already."""
    if sized_for(jax.default_backend()) == "cpu" or len(jax.devices()) > 1:
        return 1
    problem, members = problems.first, study.seeds if study.resample else len(unit.members)
    own = feature_bytes(problem) + (members * encoded_bytes(problem) if method.encoder else 0)
    return max(1, held_bytes() // (2 * own))


def _side_by_side(judge: Callable[[str, Seat], Judged], policies: Sequence[str]) -> list[Judged | Failed]:
    """Each on its own: one that fails does not stop the others."""

    def one(policy: str, seat: Seat) -> Judged | Failed:
        try:
            return judge(policy, seat)
        except Exception as error:
            stop_if_pressed()  # to be interrupted is no failure
            return Failed.because(error)

    return in_company([partial(one, policy) for policy in policies])


def _judge(
    study: Study,
    unit: Unit,
    method: Method,
    problems: Problems,
    checkpoints: Path | None,
    report: Callable[[str, float], None],
    sharers: int,
    policy: str,
    seat: Seat,
) -> Judged:
    """`sharers`: policies at work at the same time, each of which takes its share of the seconds."""
    problem, began = problems[policy], time.monotonic()
    method.check(problem.dataset, problem.policy)
    about = _fingerprint(study, unit, method, problem)
    own = shared = None
    if checkpoints:
        own = Checkpoint(checkpoints / digest(policy), digest([about, problem.policy.sha256]), began)
        shared = Checkpoint(checkpoints / "log", about)
    run = replace(_run(study, unit, problem, own, shared), report=report, seat=seat)
    fitted = fit(problem, method, run)
    seconds = (own.seconds if own else time.monotonic() - began) - problems.log.seconds_since(began)
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
        "seconds": seconds / sharers,
    }
    return [common | row for row in rows], fitted.trained


def _run(
    study: Study,
    unit: Unit,
    problem: Problem,
    checkpoint: Checkpoint | None,
    shared: Checkpoint | None,
) -> Run:
    """Members are the unit's, on one log; where the study resamples, they are the resamples of its one setting."""
    if study.resample:
        resamples = Resamples(study.key, problem.dataset.num_episodes)
        return Run(member_keys(study.key, study.seeds), None, checkpoint, shared, grid=unit.grid, resamples=resamples)
    varied = [name for name in unit.members[0].setting if name not in json.loads(unit.hyper)]
    settings = {name: [m.setting[name] for m in unit.members] for name in varied}
    seeds = np.array([m.seed for m in unit.members])
    keys = member_keys(study.key, int(seeds.max()) + 1)[seeds]
    return Run(keys, None, checkpoint, shared, settings=settings, grid=unit.grid)


# --- how far, on what, from what ------------------------------------------------------------------------------


def steps_of(method: Method) -> int:
    """Gradient steps of a member, over all its parts: the measure of how much work it is."""
    return sum(method.stages.values())


def _overall(method: Method, report: Report | None, start: float, share: float) -> Callable[[str, float], None]:
    """A method's stages follow each other; each takes its share of the steps, and each policy its share of the unit.
    What was there already is skipped."""
    stages, total = method.stages, max(1, steps_of(method))

    def tell(stage: str, fraction: float) -> None:
        stop_if_pressed()  # which only the main thread hears of
        if report and stage in stages:
            before = sum(list(stages.values())[: list(stages).index(stage)])
            report(start + share * (before + fraction * stages[stage]) / total)

    return tell


def _fingerprint(study: Study, unit: Unit, method: Method, problem: Problem) -> str:
    """What a checkpoint belongs to, whatever the policy. Of the device, too, since another one rounds differently."""
    about = [unit.id, method.describe(), problem.protocol, problem.gamma, problem.dataset.sha256, study.resample]
    return digest([*about, __version__, jax.devices()[0].device_kind])
