"""One unit: all its members trained together, for one policy after the other; what comes of it as rows and curves."""

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import polars as pl
from numpy.typing import NDArray

from ropeval.bench.data.task_data import TaskData
from ropeval.bench.data.truth import PolicyTruth
from ropeval.bench.results.rows import CURVES, ROWS, TRUTHS
from ropeval.bench.run.problems import Problems
from ropeval.bench.run.study import Study, Unit, canonical, digest
from ropeval.data import Problem
from ropeval.errors import UserError
from ropeval.evaluation.diagnosis.about_fit import collapsed_members
from ropeval.evaluation.diagnosis.evidence import diverged_members
from ropeval.evaluation.fit import Fitted, fit
from ropeval.evaluation.interval import WIDENED, make_interval
from ropeval.evaluation.methods import Method
from ropeval.evaluation.result import Finding
from ropeval.interrupts import stop_if_pressed
from ropeval.learning.checkpoint import Checkpoint
from ropeval.learning.engine import Run, Trained, member_keys
from ropeval.learning.resample import Resamples
from ropeval.provenance import commit
from ropeval.version import __version__

Floats = NDArray[np.float64]
Report = Callable[[float], None]  # fraction done
Row = dict[str, Any]


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
    """Frames with the columns of `ropeval.bench.results.rows`."""

    rows: pl.DataFrame
    curves: pl.DataFrame
    failed: dict[str, Failed] = field(default_factory=dict)  # by policy


def run_unit(
    study: Study, unit: Unit, problems: Problems, checkpoints: Path | None, report: Report | None = None
) -> UnitResult:
    """Every policy in turn. One that the method refuses, or fails on, does not stop the others."""
    method = study.make(unit.method, json.loads(unit.hyper))
    rows: list[Row] = []
    curves = _Curves(unit, study.protocol)
    failed: dict[str, Failed] = {}
    for place, policy in enumerate(unit.policies):
        folder = checkpoints / digest(policy) if checkpoints else None
        tell = _overall(method, report, place / len(unit.policies), 1 / len(unit.policies))
        try:
            answer = _judge(study, unit, method, problems[policy], folder, tell)
        except Exception as error:
            stop_if_pressed()  # to be interrupted is no failure
            failed[policy] = Failed.because(error)
            continue
        rows += [{**one, **_about(problems, policy)} for one in answer.rows]
        curves.add(policy, answer.trained)
    return UnitResult(pl.DataFrame(rows, schema=ROWS), curves.frame(), failed)


class _Answer(NamedTuple):
    rows: list[Row]
    trained: dict[str, Trained]


def _judge(
    study: Study,
    unit: Unit,
    method: Method,
    problem: Problem,
    checkpoints: Path | None,
    report: Callable[[str, float], None] | None,
) -> _Answer:
    """One policy."""
    began = time.monotonic()
    method.check(problem.dataset, problem.policy)
    checkpoint = Checkpoint(checkpoints, _fingerprint(study, unit, method, problem), began) if checkpoints else None
    run = _run(study, unit, problem, checkpoint, report)
    fitted = fit(problem, method, run)
    rows = _resampled_row(study, unit, fitted, run) if study.resample else _member_rows(study, unit, fitted)
    shared = {
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
        "seconds": checkpoint.seconds if checkpoint else time.monotonic() - began,
        "seconds_prepare": 0.0,
    }
    return _Answer([shared | row for row in rows], fitted.trained)


def _run(
    study: Study,
    unit: Unit,
    problem: Problem,
    checkpoint: Checkpoint | None,
    report: Callable[[str, float], None] | None,
) -> Run:
    """Members are the unit's, on one log; where the study resamples, they are the resamples of its one setting."""
    if study.resample:
        resamples = Resamples(study.key, problem.dataset.num_episodes)
        return Run(member_keys(study.key, study.seeds), report, checkpoint, grid=unit.grid, resamples=resamples)
    varied = [name for name in unit.members[0].setting if name not in json.loads(unit.hyper)]
    settings = {name: [m.setting[name] for m in unit.members] for name in varied}
    seeds = np.array([m.seed for m in unit.members])
    keys = member_keys(study.key, int(seeds.max()) + 1)[seeds]
    return Run(keys, report, checkpoint, settings=settings, grid=unit.grid)


# --- rows -----------------------------------------------------------------------------------------------------


def _member_rows(study: Study, unit: Unit, fitted: Fitted) -> list[Row]:
    """A row for each member."""
    members = len(unit.members)
    values = np.broadcast_to(fitted.estimated.values, members)  # one value where nothing is random
    diverged = diverged_members(fitted.trained, values, fitted.problem.reward_bound)
    when = _diverged_at(fitted.trained, members)
    collapses = (collapsed_members(fitted.features) if fitted.features is not None else []) or [None] * members
    return [
        _member(study, unit, place)
        | {
            "estimate": _finite(values[place]),
            "diverged": bool(diverged[place]),
            "diverged_at": int(when[place]),
            "warnings": _warnings(fitted, collapses[place : place + 1]),
            "extras": canonical(_extras(fitted)),
        }
        for place in range(members)
    ]


def _resampled_row(study: Study, unit: Unit, fitted: Fitted, run: Run) -> list[Row]:
    """One row: the mean of the members that did not diverge, and the interval that their resamples of the log give."""
    estimated = fitted.estimated
    values = np.broadcast_to(estimated.values, run.members)
    diverged = diverged_members(fitted.trained, values, fitted.problem.reward_bound)
    good = values[~diverged]
    value = float(good.mean()) if len(good) else None
    learned = estimated.replicates is None
    replicates = np.where(diverged, np.nan, values) if estimated.replicates is None else estimated.replicates
    widened = WIDENED["learned" if learned else "exact"]
    interval = make_interval(value, replicates, fitted.problem.dataset.num_episodes, widened=widened)
    about = {
        "members": len(values),
        "diverged": int(diverged.sum()),
        "spread": _finite(np.nanstd(replicates, ddof=1)) if np.isfinite(replicates).sum() > 1 else None,
    }
    collapses = collapsed_members(fitted.features) if fitted.features is not None else []
    return [
        _member(study, unit, 0)
        | {
            "estimate": value,
            "low": interval.low if interval else None,
            "high": interval.high if interval else None,
            "diverged": value is None,
            "diverged_at": int(_diverged_at(fitted.trained, run.members).max()),
            "warnings": _warnings(fitted, [c for c in collapses if c][:1]),
            "extras": canonical(about | _extras(fitted)),
        }
    ]


def _member(study: Study, unit: Unit, place: int) -> Row:
    member = unit.members[place]
    return {
        "hyper": member.hyper,
        "default": study.is_default(unit.method, member.setting),
        "seed": member.seed,
        "config": member_config(study, unit, place),
    }


def member_config(study: Study, unit: Unit, place: int) -> str:
    """Everything that decides a member's numbers besides the data and the seed."""
    method = study.make(unit.method, unit.members[place].setting)
    about = {"draws": study.draws, "key": study.key, "preset": study.preset, "grid": unit.grid}
    return canonical({**method.describe(), **about, **({"resamples": study.seeds} if study.resample else {})})


def _diverged_at(trained: dict[str, Trained], members: int) -> NDArray[np.int64]:
    """[M] the step at which a member diverged, in the first stage where it did; −1 where it did not."""
    when = np.full(members, -1)
    for stage in trained.values():
        when = np.where((when < 0) & (stage.diverged_at >= 0), stage.diverged_at, when)
    return when


def _warnings(fitted: Fitted, collapses: Sequence[Finding | None]) -> str:
    """What is to be said of a row. Remarks speak of the log, or of all members together."""
    found = [Finding("method", "warning", remark, "") for remark in fitted.remarks]
    found += [finding for finding in collapses if finding is not None]
    said = [{"code": one.code, "severity": one.severity, "message": one.sentence} for one in found]
    return json.dumps(said, ensure_ascii=False)


def _extras(fitted: Fitted) -> dict[str, Any]:
    """What a method says about itself."""
    effective = fitted.estimated.effective
    return {"effective_size": _finite(effective.size)} if effective is not None else {}


def _finite(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def _about(problems: Problems, policy: str) -> Row:
    """Who is judged, and the truth about it: both definitions of the value, with their standard errors."""
    data: TaskData = problems.data
    judged = data.judged[policy]
    truths = {"truth": judged.truth, "random": data.random}
    columns = [_values(whose, truth) for whose, truth in truths.items() if truth is not None]
    return {"policy": policy, "split": judged.split} | {name: value for one in columns for name, value in one.items()}


def _values(whose: str, truth: PolicyTruth) -> dict[str, float]:
    found = {}
    for definition in TRUTHS:
        true = getattr(truth, definition)
        found[f"{whose}_{definition}"] = true.value
        found[f"{whose}_{definition}_se"] = true.standard_error
    return found


# --- curves ---------------------------------------------------------------------------------------------------


class _Curves:
    """The curves of a unit. What was trained once for all policies is kept once, under no policy's name."""

    def __init__(self, unit: Unit, protocol: str):
        self._unit, self._protocol = unit, protocol
        self._trained: dict[str, Trained] = {}  # by stage, the first policy's
        self._frames: list[tuple[str, str, pl.DataFrame]] = []  # policy, stage
        self._shared: set[str] = set()

    def add(self, policy: str, trained: dict[str, Trained]) -> None:
        for stage, run in trained.items():
            if self._trained.get(stage) is run:  # the very same training as for the first policy
                self._shared.add(stage)
            else:
                self._trained.setdefault(stage, run)
                self._frames.append((policy, stage, _long(self._unit, run)))

    def frame(self) -> pl.DataFrame:
        named = [
            frame.with_columns(
                unit=pl.lit(self._unit.id),
                task=pl.lit(self._unit.task),
                policy=pl.lit("" if stage in self._shared else policy),
                method=pl.lit(self._unit.method),
                protocol=pl.lit(self._protocol),
                stage=pl.lit(stage),
            ).select(pl.col(name).cast(kind) for name, kind in CURVES.items())
            for policy, stage, frame in self._frames
        ]
        return pl.concat([pl.DataFrame(schema=CURVES), *named])


def _long(unit: Unit, run: Trained) -> pl.DataFrame:
    """Column by column: a study has millions of points, too many for a loop over them."""
    points, frames = len(run.steps), []
    for metric, values in run.curves.items():
        members = max(len(unit.members), values.shape[1])
        own = [unit.members[min(place, len(unit.members) - 1)] for place in range(members)]
        seeds = [m.seed for m in own] if members == len(unit.members) else list(range(members))  # or the resamples
        frames.append(
            pl.DataFrame(
                {
                    "hyper": np.repeat([m.hyper for m in own], points),
                    "seed": np.repeat(seeds, points),
                    "step": np.tile(run.steps, members),
                    "value": np.broadcast_to(values, (points, members)).T.reshape(-1).astype(np.float32),
                }
            ).with_columns(metric=pl.lit(metric))
        )
    return pl.concat(frames, how="vertical") if frames else pl.DataFrame()


# --- how far, on what, from what ------------------------------------------------------------------------------


def steps_of(method: Method) -> int:
    """Gradient steps of a member, over all its parts: the measure of how much work it is."""
    return sum(getattr(config, "steps", 0) for config in method.configs.values())


def _overall(method: Method, report: Report | None, start: float, share: float) -> Callable[[str, float], None] | None:
    """A method's stages follow each other; each takes its share of the steps, and each policy its share of the unit."""
    if report is None:
        return None
    total, before, current = max(1, steps_of(method)), 0.0, ""

    def tell(stage: str, fraction: float) -> None:
        nonlocal before, current
        if current and stage != current:
            before += getattr(method.configs.get(current), "steps", 0)
        current = stage
        done = (before + fraction * getattr(method.configs.get(stage), "steps", 0)) / total
        report(start + share * min(1.0, done))

    return tell


def _fingerprint(study: Study, unit: Unit, method: Method, problem: Problem) -> str:
    """What a checkpoint belongs to. The device is part of it, since another one rounds differently."""
    about = [unit.id, method.describe(), problem.protocol, problem.gamma, problem.dataset.sha256, problem.policy.sha256]
    return digest([*about, study.resample, __version__, jax.devices()[0].device_kind])


@cache
def device() -> str:
    first = jax.devices()[0]
    if first.platform == "cpu":
        return f"{len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()} CPU cores"
    count = len(jax.devices())
    return first.device_kind if count == 1 else f"{count} × {first.device_kind}"
