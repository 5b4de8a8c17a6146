"""What a study should hold and does not: settings and seeds that are missing, and the reasons where there are any."""

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from ropeval.bench.results.rows import BASELINES, CASE, Failure
from ropeval.bench.results.summary import study_cases
from ropeval.bench.results.together import Part
from ropeval.bench.run.study import Study


class Gap(NamedTuple):
    """Runs that are not there. `hyper` is empty where nothing of the method was run on the task."""

    task: str  # "task · policy" where it judges several
    method: str
    hyper: str
    present: int
    expected: int
    reason: str  # of a failed unit, or empty: not run yet
    refused: bool = False  # the method has no answer there, and trying again will not change that


def find_gaps_of_all(parts: Sequence[Part], rows: pl.DataFrame) -> list[Gap]:
    """What each of several studies asks for and none of the folders has; `rows` of one protocol, out of all of them.

    Study by study: nobody asked for the methods of one on the tasks of another.
    """
    (protocol,) = rows["protocol"].unique()
    failures = [failure for part in parts for failure in part.failures]
    found: dict[tuple[str, str, str], Gap] = {}
    for part in parts:
        own = part.rows.filter(protocol=protocol)
        if own.is_empty():
            continue
        tasks = list(study_cases(part.study, own))
        methods = {*BASELINES, *part.study.methods, *own["method"]}
        asked = rows.filter(pl.col("task").is_in(tasks), pl.col("method").is_in(methods))
        for gap in find_gaps(part.study, asked, failures):
            key = (gap.task, gap.method, gap.hyper)
            found[key] = max(found.get(key, gap), gap, key=lambda g: g.expected)
    return list(found.values())


def find_gaps(study: Study, rows: pl.DataFrame, failures: Sequence[Failure]) -> list[Gap]:
    """Compares with what study.json names, and with the settings and seeds that other tasks of the study have."""
    counts: dict[tuple[str, str, str], int] = {
        (task, method, _canonical(json.loads(hyper))): count
        for task, method, hyper, count in rows.group_by(CASE, "method", "hyper").agg(pl.len()).iter_rows()
    }
    tasks = [case for cases in study_cases(study, rows).values() for case in cases]
    methods = list(dict.fromkeys([*BASELINES, *study.methods, *sorted({m for _, m, _ in counts})]))
    wanted_of, seeds_of = {}, {}
    for method in methods:  # once, and not for every task: there may be hundreds
        of_method = {(hyper, count) for (_, name, hyper), count in counts.items() if name == method}
        wanted_of[method] = sorted({hyper for hyper, _ in of_method} | _grid(study, method))
        seeds_of[method] = 1 if method in BASELINES else _seeds(study, [count for _, count in of_method])
    found = []
    for task, method in itertools.product(tasks, methods):
        wanted, seeds = wanted_of[method], seeds_of[method]
        own = {hyper: counts.get((task, method, hyper), 0) for hyper in wanted}
        if not any(own.values()):
            found.append(Gap(task, method, "", 0, seeds * max(1, len(wanted)), *_reason(failures, task, method)))
            continue
        found += [
            Gap(task, method, hyper, count, seeds, *_reason(failures, task, method, hyper))
            for hyper, count in own.items()
            if count < seeds
        ]
    return found


def _grid(study: Study, method: str) -> set[str]:
    """The settings that the method's grid spans."""
    return {_canonical(setting) for setting in study.settings_of(method)} if method in study.grid else set()


def _canonical(setting: Mapping[str, Any]) -> str:
    return json.dumps(setting, sort_keys=True)


def _seeds(study: Study, counts: list[int]) -> int:
    """As many as the study asks for; a method without randomness has one everywhere and lacks none."""
    return 1 if study.resample or (counts and max(counts) == 1) else study.seeds


def _reason(failures: Sequence[Failure], task: str, method: str, hyper: str = "{}") -> tuple[str, bool]:
    """The first failure of the method on the task; a unit's `hyper` holds what its settings have in common."""
    wanted = json.loads(hyper)
    for failure in failures:
        if failure.method == method and failure.concerns(task):
            shared = json.loads(failure.hyper)
            if not wanted or shared.items() <= wanted.items():
                return failure.error, failure.refused
    return "", False
