"""One unit: all its members trained together, and what comes of it as rows and curves."""

import json
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from ropeval.bench.data.task_data import EVALUATED, TaskData
from ropeval.bench.run.study import Study, Unit, canonical, digest
from ropeval.data import Problem, make_problem
from ropeval.evaluation.diagnosis.about_fit import collapsed_members
from ropeval.evaluation.diagnosis.evidence import diverged_members
from ropeval.evaluation.fit import Fitted, fit
from ropeval.evaluation.methods import Method
from ropeval.learning.checkpoint import Checkpoint
from ropeval.learning.engine import Run, Trained, member_keys
from ropeval.version import __version__

Report = Callable[[float], None]  # fraction done


@dataclass(frozen=True, eq=False)
class UnitResult:
    """Frames of polars with the columns of `ropeval.bench.results.rows`."""

    rows: Any
    curves: Any


def problem_of(study: Study, data: TaskData) -> Problem:
    """The question that a task asks under the study's protocol. All seeds see the same draws of the policy."""
    gamma = study.gamma if study.gamma is not None else data.task.gamma
    return make_problem(data.dataset, data.judged[EVALUATED].policy, gamma, study.key, study.draws, study.protocol)


def member_config(study: Study, unit: Unit, place: int) -> str:
    """Everything that decides a member's numbers besides the data and the seed."""
    method = study.make(unit.method, unit.members[place].setting)
    about = {"draws": study.draws, "key": study.key, "preset": study.preset, "grid": unit.grid}
    return canonical({**method.describe(), **about})


def run_unit(
    study: Study, unit: Unit, data: TaskData, problem: Problem, checkpoints: Path | None, report: Report | None = None
) -> UnitResult:
    began = time.monotonic()
    method = study.make(unit.method, json.loads(unit.hyper))
    method.check(problem.dataset, problem.policy)
    varied = [name for name in unit.members[0].setting if name not in json.loads(unit.hyper)]
    settings = {name: [m.setting[name] for m in unit.members] for name in varied}
    seeds = np.array([m.seed for m in unit.members])
    checkpoint = Checkpoint(checkpoints, _fingerprint(unit, method, problem), began) if checkpoints else None
    run = Run(
        keys=member_keys(study.key, int(seeds.max()) + 1)[seeds],
        report=_overall(method, report),
        checkpoint=checkpoint,
        settings=settings,
        grid=unit.grid,
    )
    fitted = fit(problem, method, run)
    warnings = _warnings(fitted, len(unit.members))
    trained = fitted.trained
    values = np.broadcast_to(fitted.estimated.values, len(unit.members))  # one value where nothing is random
    seconds = checkpoint.seconds if checkpoint else time.monotonic() - began
    return UnitResult(
        _rows(study, unit, data, problem, values, trained, warnings, seconds), _curves(unit, problem, trained)
    )


def _warnings(fitted: Fitted, members: int) -> list[list[str]]:
    """[M] what is to be said of each member. Remarks speak of the log, or of all members together."""
    collapses = collapsed_members(fitted.features) if fitted.features is not None else []
    own = [[finding.sentence] if finding else [] for finding in collapses] or [[] for _ in range(members)]
    return [[*fitted.remarks, *words] for words in own]


def _rows(
    study: Study,
    unit: Unit,
    data: TaskData,
    problem: Problem,
    values: NDArray[np.float64],
    trained: dict[str, Trained],
    warnings: list[list[str]],
    seconds: float,
) -> Any:
    import polars

    from ropeval.bench.results.rows import ROWS

    diverged = diverged_members(trained, values, problem.reward_bound)
    when = np.full(len(values), -1)
    for stage in trained.values():
        when = np.where((when < 0) & (stage.diverged_at >= 0), stage.diverged_at, when)
    shared = {
        "study": study.name,
        "unit": unit.id,
        "task": unit.task,
        "method": unit.method,
        "protocol": study.protocol,
        "gamma": problem.gamma,
        **_truth(data),
        "data_sha256": problem.dataset.sha256,
        "policy_sha256": problem.policy.sha256,
        "version": __version__,
        "commit": commit(),
        "device": device(),
        "seconds": seconds,
    }
    rows = [
        shared
        | {
            "hyper": member.hyper,
            "default": study.is_default(unit.method, member.setting),
            "seed": member.seed,
            "config": member_config(study, unit, place),
            "estimate": float(values[place]) if np.isfinite(values[place]) else None,
            "diverged": bool(diverged[place]),
            "diverged_at": int(when[place]),
            "warnings": json.dumps(warnings[place], ensure_ascii=False),
        }
        for place, member in enumerate(unit.members)
    ]
    return polars.DataFrame(rows, schema=ROWS)


def _truth(data: TaskData) -> dict[str, float]:
    """Both definitions of the value, of the evaluated and of the random policy, with their standard errors."""
    found = {}
    for column, policy in (("truth", data.judged[EVALUATED].truth), ("random", data.random)):
        for definition in ("discounted", "mean_reward") if policy else ():
            true = getattr(policy, definition)
            found[f"{column}_{definition}"] = true.value
            found[f"{column}_{definition}_se"] = true.standard_error
    return found


def _curves(unit: Unit, problem: Problem, trained: dict[str, Trained]) -> Any:
    """Long, column by column: a study has millions of points, too many for a loop over them."""
    import polars

    from ropeval.bench.results.rows import CURVES

    frames = [polars.DataFrame(schema=CURVES)]
    hypers = [m.hyper for m in unit.members]
    for stage, run in trained.items():
        points, members = len(run.steps), len(unit.members)
        for metric, values in run.curves.items():
            frames.append(
                polars.DataFrame(
                    {
                        "hyper": np.repeat(hypers, points),
                        "seed": np.repeat([m.seed for m in unit.members], points),
                        "step": np.tile(run.steps, members),
                        "value": np.broadcast_to(values, (points, members)).T.reshape(-1).astype(np.float32),
                    }
                )
                .with_columns(
                    unit=polars.lit(unit.id),
                    task=polars.lit(unit.task),
                    method=polars.lit(unit.method),
                    protocol=polars.lit(problem.protocol),
                    stage=polars.lit(stage),
                    metric=polars.lit(metric),
                )
                .select(polars.col(name).cast(kind) for name, kind in CURVES.items())
            )
    return polars.concat(frames)


def steps_of(method: Method) -> int:
    """Gradient steps of a member, over all its parts: the measure of how much work it is."""
    return sum(getattr(config, "steps", 0) for config in method.configs.values())


def _overall(method: Method, report: Report | None) -> Callable[[str, float], None] | None:
    """A method's stages follow each other; each takes its share of the steps."""
    if report is None:
        return None
    total, before, current = max(1, steps_of(method)), 0.0, ""

    def tell(stage: str, fraction: float) -> None:
        nonlocal before, current
        if current and stage != current:
            before += getattr(method.configs.get(current), "steps", 0)
        current = stage
        report(min(1.0, (before + fraction * getattr(method.configs.get(stage), "steps", 0)) / total))

    return tell


def _fingerprint(unit: Unit, method: Method, problem: Problem) -> str:
    """What a checkpoint belongs to. The device is part of it, since another one rounds differently."""
    about = [unit.id, method.describe(), problem.protocol, problem.gamma, problem.dataset.sha256, problem.policy.sha256]
    return digest([*about, __version__, jax.devices()[0].device_kind])


@cache
def device() -> str:
    first = jax.devices()[0]
    if first.platform == "cpu":
        return f"{len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()} CPU cores"
    count = len(jax.devices())
    return first.device_kind if count == 1 else f"{count} × {first.device_kind}"


@cache
def commit() -> str:
    """Of this very code, where it is a checkout; ROPEVAL_COMMIT where it was copied from one."""
    if "ROPEVAL_COMMIT" in os.environ:
        return os.environ["ROPEVAL_COMMIT"]
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"
