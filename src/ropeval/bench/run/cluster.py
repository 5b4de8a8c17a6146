"""The same units through Ray: one GPU or a set of cores each, on as many machines as the cluster has.

Only this process reads the data and writes results: nodes need ropeval and nothing else, no shared disk. Ray sends the
data once per node, and runs a unit again elsewhere when its node dies. Results are kept as they arrive.
"""

import contextlib
import logging
import os
import socket
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ropeval.bench.data.task_data import TaskData, load_task
from ropeval.bench.run.local import Outcome, Report, keep, record_failure, units_left
from ropeval.bench.run.problems import Problems
from ropeval.bench.run.store import Store
from ropeval.bench.run.study import Study, Unit, digest, make_groups
from ropeval.bench.run.unit import run_unit
from ropeval.errors import UserError
from ropeval.files import write_text
from ropeval.interrupts import stop_if_pressed
from ropeval.policies import Policy

CONNECT_SECONDS = 5.0
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
    check_address(address)
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
                    stop_if_pressed()
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
    own = _own_methods()
    limit = ray.get(ray.remote(max_retries=RETRIES, **needs)(_remote_limits).remote())
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
        _send_code_of(ray, judged.policy)
    return ray.put(_in_memory(data))


def _remote_limits() -> tuple[str, int]:
    """Of the kind of machine that units will run on: its backend and the memory that its device has."""
    from ropeval.bench.run.local import device_limits

    return device_limits()


def _remote_unit(study: Study, unit: Unit, data: TaskData, own: dict[str, str]) -> Any:
    """Runs on a node. An error of ours comes back as a value: Ray must not try it again."""
    from ropeval.runtime import prepare

    prepare()
    try:
        _bring_methods(own)
        return run_unit(study, unit, Problems(study, data), None)
    except Exception as error:
        return error if isinstance(error, UserError) else UserError(f"{type(error).__name__}: {error}")


def _own_methods() -> dict[str, str]:
    """The user's files of methods, by name, as text: the nodes do not have them."""
    paths = [Path(word) for word in os.environ.get("ROPEVAL_METHODS", "").split(os.pathsep) if word]
    return {path.name: path.read_text(encoding="utf-8") for path in paths if path.is_file()}


def _bring_methods(own: dict[str, str]) -> None:
    folder = Path(tempfile.gettempdir()) / f"ropeval-methods-{digest(own)}"
    for name, text in own.items():
        write_text(folder / name, text)
    os.environ["ROPEVAL_METHODS"] = os.pathsep.join(str(folder / name) for name in own)


def _send_code_of(ray: Any, policy: Policy) -> None:
    """A policy that is the user's own function travels with its module, which the nodes do not have."""
    for part in (policy, *vars(policy).values()):
        module = sys.modules.get(getattr(part, "__module__", None) or "")
        if module is not None and not _installed(module):
            ray.cloudpickle.register_pickle_by_value(module)


def _installed(module: Any) -> bool:
    """Whether a node with ropeval has it, too: it is in a package folder, or part of Python or of ropeval."""
    path = getattr(module, "__file__", None)
    return path is None or module.__name__.partition(".")[0] == "ropeval" or "site-packages" in path


def _in_memory(data: TaskData) -> TaskData:
    """Memory maps are files of this machine; plain arrays can be sent."""
    arrays: dict[str, Any] = {
        name: np.array(column) for name, column in vars(data.dataset).items() if isinstance(column, np.memmap)
    }
    return replace(data, dataset=replace(data.dataset, **arrays))


def check_address(address: str | None) -> None:
    """Ray itself waits for minutes before it says that nobody answers."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if not colon:
        return  # local or auto
    try:
        socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
    except (OSError, ValueError, OverflowError) as error:
        raise UserError(f"--ray {address}: nobody answers there ({error}); is it HOST:PORT of a Ray cluster?") from None


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
