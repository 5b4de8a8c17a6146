"""The same units through Ray: one GPU or a set of cores each. Results are kept as they arrive."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ropeval.bench.data.task_data import TaskData, load_task
from ropeval.bench.run.local import Outcome, Report, keep, record_failure, units_left
from ropeval.bench.run.problems import Problems
from ropeval.bench.run.store import Store
from ropeval.bench.run.study import Study, Unit, make_groups
from ropeval.bench.run.unit import UnitResult, run_unit
from ropeval.cluster import Cluster, as_they_come, connected, own_methods, prepare_node, send_code_of


def run_on_ray(
    study: Study,
    tasks: Sequence[str],
    store: Store,
    data_folder: Path,
    cluster: Cluster,
    report: Report | None = None,
) -> Outcome:
    """Do what is left of a study on a Ray cluster."""
    outcome = Outcome()
    with connected(cluster) as ray, contextlib.ExitStack() as claims:
        running = dict(_submit(ray, study, tasks, store, data_folder, cluster, claims, outcome))
        for unit, result in as_they_come(ray, running):
            if isinstance(result, Exception):
                record_failure(store, unit, result, outcome)
            else:
                keep(store, unit, result, outcome)
            if report:
                report(unit, 1.0)
    return outcome


def _submit(
    ray: Any,
    study: Study,
    tasks: Sequence[str],
    store: Store,
    data_folder: Path,
    cluster: Cluster,
    claims: contextlib.ExitStack,
    outcome: Outcome,
) -> Iterator[tuple[Any, Unit]]:
    """Hand in every unit that is left. Groups stay claimed until all results are in."""
    work, own = cluster.remote(ray, _remote_unit), own_methods()
    limit = ray.get(cluster.remote(ray, _remote_limits).remote())
    for task in tasks:
        problems: Problems | None = None
        sent = None
        for group in make_groups(study, [task]):
            if not claims.enter_context(store.claim(group)):
                outcome.elsewhere += 1
                continue
            problems = problems or Problems(study, load_task(task, data_folder))
            for unit in units_left(study, group, store, problems, limit, outcome):
                sent = sent or _send(ray, problems.data)
                yield work.remote(study, unit, sent, own), unit


def _send(ray: Any, data: TaskData) -> Any:
    for judged in data.judged.values():
        send_code_of(ray, judged.policy)
    return ray.put(replace(data, dataset=data.dataset.in_memory()))


def _remote_limits() -> tuple[str, int]:
    """Of the kind of machine that units will run on: its backend and the memory that its device has."""
    from ropeval.bench.run.local import device_limits

    return device_limits()


def _remote_unit(study: Study, unit: Unit, data: TaskData, own: dict[str, str]) -> UnitResult:
    prepare_node(own)
    return run_unit(study, unit, Problems(study, data), None)
