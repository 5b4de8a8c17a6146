"""What a unit found, as rows: estimates, intervals, warnings, and the truth about the policy that was judged."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropeval.bench.data.task_data import TaskData
from ropeval.bench.run.schema import TRUTHS
from ropeval.bench.run.study import Study, Unit, canonical
from ropeval.evaluation.conclude import conclude
from ropeval.evaluation.diagnosis.about_features import collapsed_members
from ropeval.evaluation.diagnosis.diagnose import diagnose, evidence_of
from ropeval.evaluation.diagnosis.evidence import diverged_members
from ropeval.evaluation.fit import Fitted
from ropeval.evaluation.methods import Method
from ropeval.evaluation.result import Coverage, Finding
from ropeval.evaluation.verdict.signs import read_signs
from ropeval.learning.engine import Run, Trained

Row = dict[str, Any]


def member_rows(study: Study, unit: Unit, fitted: Fitted) -> list[Row]:
    """A row for each member, as it came out: to be compared with others, it is neither left out nor cut to bounds."""
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


def resampled_row(study: Study, unit: Unit, method: Method, fitted: Fitted, run: Run, covered: Coverage) -> list[Row]:
    """One row: the estimate, the interval and the findings that `evaluate` would give."""
    said = conclude(fitted, method, run.resamples)
    evidence = evidence_of(fitted, method, run, said, covered)
    replicates = said.replicates
    with np.errstate(over="ignore"):  # replicates of one that diverged may be as large as numbers get
        spread = _finite(np.nanstd(replicates, ddof=1)) if np.isfinite(replicates).sum() > 1 else None
    about = {
        "members": run.members,
        "diverged": int(said.diverged.sum()),
        "left_out": int(said.left_out.sum()),
        "spread": spread,
        "signs": read_signs(evidence, said, alone=True),
    }
    return [
        _member(study, unit, 0)
        | {
            "estimate": said.value,
            "low": said.interval.low if said.interval else None,
            "high": said.interval.high if said.interval else None,
            "diverged": said.value is None,
            "diverged_at": int(_diverged_at(fitted.trained, run.members).max()),
            "warnings": _as_json(diagnose(evidence)),
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
    return _as_json(found + [finding for finding in collapses if finding is not None])


def _as_json(found: Sequence[Finding]) -> str:
    said = [{"code": one.code, "severity": one.severity, "message": one.sentence} for one in found]
    return json.dumps(said, ensure_ascii=False)


def _extras(fitted: Fitted) -> dict[str, Any]:
    """What a method says about itself."""
    effective = fitted.estimated.effective
    return fitted.estimated.extras | ({"effective_size": _finite(effective.size)} if effective is not None else {})


def _finite(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def judged_columns(data: TaskData, policy: str) -> Row:
    """Who is judged, and the truth about it: both definitions of the value, with their standard errors."""
    judged = data.judged[policy]
    columns: Row = {"policy": policy, "split": judged.split}
    for whose, truth in (("truth", judged.truth), ("random", data.random)):
        for definition in TRUTHS if truth is not None else ():
            true = getattr(truth, definition)
            columns |= {f"{whose}_{definition}": true.value, f"{whose}_{definition}_se": true.standard_error}
    return columns
