"""Running a study on this machine: group by group, unit by unit, keeping what is finished."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import jax

from ropeval.bench.data.task_data import TaskData, load_task
from ropeval.bench.run.store import Store
from ropeval.bench.run.study import Group, Member, Study, Unit, make_groups
from ropeval.bench.run.unit import UnitResult, problem_of, run_unit, steps_of
from ropeval.data import Problem
from ropeval.data.streaming import held_bytes
from ropeval.errors import UserError
from ropeval.interrupts import stop_if_pressed

LARGEST_UNIT = {"cpu": 12, "gpu": 180}  # a CPU trains members one by one: small units lose less when they are killed

Report = Callable[[Unit, float], None]


@dataclass
class Outcome:
    """What one call of `run_study` did."""

    units: int = 0
    members: int = 0
    skipped: int = 0  # members that were there already
    failed: int = 0
    refused: int = 0
    elsewhere: int = 0  # groups that another process works on


def run_study(
    study: Study, tasks: Sequence[str], store: Store, data_folder: Path, report: Report | None = None
) -> Outcome:
    """Do what is left of a study. A unit that fails is recorded with its reason; the rest goes on."""
    outcome = Outcome()
    open_data: tuple[TaskData, Problem] | None = None
    for group in make_groups(study, tasks):
        with store.claim(group) as ours:
            left = work_left(group, store, ours, outcome)
            if not left:
                continue
            if open_data is None or open_data[0].task.name != group.task:
                open_data = None  # let go of one task's arrays before the next one's are made
                data = load_task(group.task, data_folder)
                open_data = data, problem_of(study, data)
            data, problem = open_data
            check_data(group, store, problem)
            store.clear_failures(group)
            for unit in group.units(left, largest_unit(group, problem, *device_limits())):
                _attempt(study, unit, data, problem, store, report, outcome)
    return outcome


def work_left(group: Group, store: Store, ours: bool, outcome: Outcome) -> list[Member]:
    """What this process has to do of a group that it tried to claim; what it has not is counted."""
    if not ours:
        outcome.elsewhere += 1
        return []
    left = members_left(group, store)
    outcome.skipped += len(group.members) - len(left)
    return left


def members_left(group: Group, store: Store) -> list[Member]:
    done = store.done(group)
    return [m for m in group.members if (m.hyper, m.seed) not in done]


def check_data(group: Group, store: Store, problem: Problem) -> None:
    """Rows of two different logs must never stand in one study, whatever method they are of."""
    if store.logs(group.task) - {problem.dataset.sha256}:
        raise UserError(
            f"{store.folder}: its rows of {group.task} were made from other data than those in the data folder; "
            "choose another --out (`ropeval bench report` reads several folders together), or bring back the data"
        )


def _attempt(
    study: Study, unit: Unit, data: TaskData, problem: Problem, store: Store, report: Report | None, outcome: Outcome
) -> None:
    last = 0.0

    def tell(fraction: float) -> None:
        nonlocal last
        last = store.note(unit, fraction, last)
        if report:
            report(unit, fraction)

    try:
        result = run_unit(study, unit, data, problem, store.checkpoints(unit), tell)
    except Exception as error:
        stop_if_pressed()  # to be interrupted is no failure
        record_failure(store, unit, error, outcome)
    else:
        keep(store, unit, result, outcome)
    if report:
        report(unit, 1.0)


def keep(store: Store, unit: Unit, result: UnitResult, outcome: Outcome) -> None:
    store.write(unit, result.rows, result.curves)
    outcome.units += 1
    outcome.members += len(unit.members)


def record_failure(store: Store, unit: Unit, error: BaseException, outcome: Outcome) -> None:
    """A method that has no answer for a task says so (UserError); anything else is a failure."""
    refused = isinstance(error, UserError)
    store.fail(unit, str(error) if refused else f"{type(error).__name__}: {error}", refused)
    outcome.refused += refused
    outcome.failed += not refused


# --- how much fits --------------------------------------------------------------------------------------------


def largest_unit(group: Group, problem: Problem, backend: str, held: int) -> int:
    """How many members of a group train at once: as many as can keep their encoded features on the device."""
    largest = LARGEST_UNIT["cpu" if backend == "cpu" else "gpu"]
    if "+" not in group.method:  # all members share the features of the log
        return largest
    transitions = problem.transitions
    encoded = (
        transitions.size * (1 + transitions.draws) * transitions.dim * 4
    )  # features are at most as wide as the raw ones
    return max(1, min(largest, held // encoded))


def device_limits() -> tuple[str, int]:
    """The backend, and how many bytes of features may be kept in the memory of its first device."""
    return jax.default_backend(), held_bytes()


# --- what a study has behind it -------------------------------------------------------------------------------


@dataclass(frozen=True)
class GroupStatus:
    group: Group
    steps: int  # of one member
    done: int  # members with a row
    running: bool
    ahead: float  # members' worth of work in units that are not finished
    refused: bool


def study_status(study: Study, tasks: Sequence[str], store: Store) -> Iterator[GroupStatus]:
    for group in make_groups(study, tasks):
        done = store.done(group)
        known = sum((m.hyper, m.seed) in done for m in group.members)
        steps = steps_of(study.make(group.method, group.members[0].setting))
        running = store.claimed(group)
        yield GroupStatus(group, steps, known, running, store.notes(group), store.refused(group))
