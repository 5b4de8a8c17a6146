"""The same units through Ray: one GPU or a set of cores each, on as many machines as the cluster has.

Only this process reads the data and writes results: nodes need ropeval and nothing else, no shared disk. Ray sends the
data once per node, and runs a unit again elsewhere when its node dies. Results are kept as they arrive.
"""

import contextlib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ropeval.bench.collected import TaskData, load_task
from ropeval.bench.run import Outcome, Report, check_data, keep, largest_unit, members_left, record_failure
from ropeval.bench.store import Store
from ropeval.bench.study import Study, Unit, make_groups
from ropeval.bench.unit import problem_of, run_unit
from ropeval.errors import UserError

RETRIES = 5  # of a unit, when its machine or its process dies


def run_on_ray(
    study: Study,
    tasks: Sequence[str],
    store: Store,
    data_folder: Path,
    address: str | None,
    gpus: float,
    cores: int,
    report: Report | None = None,
) -> Outcome:
    """Do what is left of a study on a Ray cluster; `address` None starts one on this machine."""
    ray = _start(address)
    try:
        return _run(ray, study, tasks, store, data_folder, {"num_gpus": gpus, "num_cpus": cores}, report)
    finally:
        ray.shutdown()


def _run(
    ray: Any,
    study: Study,
    tasks: Sequence[str],
    store: Store,
    data_folder: Path,
    needs: dict[str, float],
    report: Report | None,
) -> Outcome:
    outcome = Outcome()
    work = ray.remote(max_retries=RETRIES, **needs)(_remote_unit)
    with contextlib.ExitStack() as claims:
        running: dict[Any, Unit] = dict(_submit(ray, work, study, tasks, store, data_folder, needs, claims, outcome))
        while running:
            ready, _ = ray.wait(list(running), num_returns=1)
            for reference in ready:
                unit = running.pop(reference)
                try:
                    result = ray.get(reference)
                except Exception as error:  # the machine died once too often, or could not even start the unit
                    result = error
                if isinstance(result, Exception):
                    record_failure(store, unit, result, outcome)
                else:
                    keep(store, unit, result, outcome)
                if report:
                    report(unit, 1.0)
    return outcome


def _submit(
    ray: Any,
    work: Any,
    study: Study,
    tasks: Sequence[str],
    store: Store,
    data_folder: Path,
    needs: dict[str, float],
    claims: contextlib.ExitStack,
    outcome: Outcome,
) -> Iterator[tuple[Any, Unit]]:
    """Hand in every unit that is left. Groups stay claimed until all results are in."""
    limit = ray.get(ray.remote(max_retries=RETRIES, **needs)(_remote_limits).remote())
    for task in tasks:
        data: TaskData | None = None
        for group in make_groups(study, [task]):
            if not claims.enter_context(store.claim(group)):
                outcome.elsewhere += 1
                continue
            left = members_left(group, store)
            outcome.skipped += len(group.members) - len(left)
            if not left:
                continue
            if data is None:
                data = _in_memory(load_task(task, data_folder))
                problem, sent = problem_of(study, data), ray.put(data)
            check_data(group, store, problem)
            store.clear_failures(group)
            for unit in group.units(left, largest_unit(group, problem, *limit)):
                yield work.remote(study, unit, sent), unit


def _remote_limits() -> tuple[str, int]:
    """Of the kind of machine that units will run on: its backend and the memory that its device has."""
    from ropeval.bench.run import device_limits

    return device_limits()


def _remote_unit(study: Study, unit: Unit, data: TaskData) -> Any:
    """Runs on a node. An error of ours comes back as a value: Ray must not try it again."""
    from ropeval.runtime import prepare

    prepare()
    try:
        return run_unit(study, unit, data, problem_of(study, data), None)
    except Exception as error:
        return error if isinstance(error, UserError) else UserError(f"{type(error).__name__}: {error}")


def _in_memory(data: TaskData) -> TaskData:
    """Memory maps are files of this machine; plain arrays can be sent."""
    arrays: dict[str, Any] = {
        name: np.array(column) for name, column in vars(data.dataset).items() if isinstance(column, np.memmap)
    }
    return replace(data, dataset=replace(data.dataset, **arrays))


def _start(address: str | None) -> Any:
    try:
        import ray
    except ImportError:
        raise UserError("--ray needs Ray, which is not installed; run: pip install 'ropeval[ray]'") from None
    try:
        ray.init(address=address, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        where = address or "on this machine"
        raise UserError(
            f"--ray {where}: no cluster could be reached or started ({str(error).splitlines()[0]})"
        ) from None
    return ray
