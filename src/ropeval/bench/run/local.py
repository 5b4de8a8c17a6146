"""Running a study on this machine: group by group, unit by unit, keeping what is finished."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import jax
import polars as pl

from ropeval.bench.data.task_data import load_task
from ropeval.bench.run.problems import Problems, encoded_bytes
from ropeval.bench.run.store import Store
from ropeval.bench.run.study import Group, Member, Study, Unit, make_groups
from ropeval.bench.run.unit import Failed, UnitResult, run_unit, steps_of
from ropeval.data import Dataset, Problem
from ropeval.data.streaming import held_bytes
from ropeval.errors import UserError
from ropeval.interrupts import stop_if_pressed
from ropeval.runtime import sized_for

LARGEST_UNIT = {"cpu": 12, "gpu": 180}  # a CPU trains members one by one: small units lose less when they are killed

Report = Callable[[Unit, float], None]


@dataclass
class Outcome:
    """What one call of `run_study` did."""

    units: int = 0
    members: int = 0
    skipped: int = 0  # members that were there already
    failed: int = 0
    refused: int = 0  # units, for each policy that the method has no answer for
    elsewhere: int = 0  # groups that another process works on


def run_study(
    study: Study, tasks: Sequence[str], store: Store, data_folder: Path, report: Report | None = None
) -> Outcome:
    """Do what is left of a study. A unit that fails is recorded with its reason; the rest goes on."""
    outcome = Outcome()
    for task in tasks:
        problems: Problems | None = None  # one task's arrays at a time
        for group in make_groups(study, [task]):
            with store.claim(group) as ours:
                if not ours:
                    outcome.elsewhere += 1
                    continue
                if problems is None:
                    problems = Problems(study, load_task(task, data_folder))
                for unit in units_left(study, group, store, problems, device_limits(), outcome):
                    _attempt(study, unit, problems, store, report, outcome)
    return outcome


def units_left(
    study: Study, group: Group, store: Store, problems: Problems, limits: tuple[str, int], outcome: Outcome
) -> list[Unit]:
    """What is to be done of a group that is ours; what is not is counted."""
    left = work_left(group, store, problems.policies)
    outcome.skipped += len(group.members) - members_left(left)
    if not left:
        return []
    check_data(group, store, problems.data.dataset)
    store.clear_failures(group)
    largest = 1 if study.resample else largest_unit(group, problems.first, *limits)
    return [unit for part in left for unit in group.units(part.members, largest, part.policies)]


class Left(NamedTuple):
    """Members that have no row for any of some policies."""

    members: list[Member]
    policies: tuple[str, ...]


def work_left(group: Group, store: Store, policies: Sequence[str]) -> list[Left]:
    """What a group lacks; policies that lack the same members stand together, and most often all do."""
    done = store.done(group)
    by_places: dict[tuple[int, ...], list[str]] = {}
    for policy in policies:
        places = tuple(i for i, m in enumerate(group.members) if (m.hyper, m.seed, policy) not in done)
        by_places.setdefault(places, []).append(policy)
    return [Left([group.members[i] for i in places], tuple(names)) for places, names in by_places.items() if places]


def members_left(left: Sequence[Left]) -> int:
    """How many members are not done for every policy."""
    return len({(m.hyper, m.seed) for part in left for m in part.members})


def check_data(group: Group, store: Store, dataset: Dataset) -> None:
    """Rows of two different logs must never stand in one study, whatever method they are of."""
    if store.logs(group.task) - {dataset.sha256}:
        raise UserError(
            f"{store.folder}: its rows of {group.task} were made from other data than those in the data folder; "
            "choose another --out (`ropeval bench report` reads several folders together), or bring back the data"
        )


def _attempt(
    study: Study, unit: Unit, problems: Problems, store: Store, report: Report | None, outcome: Outcome
) -> None:
    last = 0.0

    def tell(fraction: float) -> None:
        nonlocal last
        last = store.note(unit, fraction, last)
        if report:
            report(unit, fraction)

    try:
        result = run_unit(study, unit, problems, store.checkpoints(unit), tell)
    except Exception as error:
        stop_if_pressed()  # to be interrupted is no failure
        record_failure(store, unit, error, outcome)
    else:
        keep(store, unit, result, outcome)
    if report:
        report(unit, 1.0)


def keep(store: Store, unit: Unit, result: UnitResult, outcome: Outcome) -> None:
    if len(result.rows):
        store.write(unit, result.rows, result.curves)
        outcome.units += 1
        outcome.members += len(unit.members)
    for policy, failed in result.failed.items():
        store.fail(unit, policy, *failed)
        outcome.refused += failed.refused
        outcome.failed += not failed.refused
    store.forget(unit.id)


def record_failure(store: Store, unit: Unit, error: BaseException, outcome: Outcome) -> None:
    """A unit that came to nothing, for all its policies."""
    failed = Failed.because(error)
    keep(store, unit, UnitResult(pl.DataFrame(), pl.DataFrame(), dict.fromkeys(unit.policies, failed)), outcome)


# --- how much fits --------------------------------------------------------------------------------------------


def largest_unit(group: Group, problem: Problem, backend: str, held: int) -> int:
    """How many members of a group train at once: as many as can keep their encoded features on the device."""
    largest = LARGEST_UNIT[sized_for(backend)]
    if "+" not in group.method:  # all members share the features of the log
        return largest
    return max(1, min(largest, held // encoded_bytes(problem)))


def device_limits() -> tuple[str, int]:
    """The backend, and how many bytes of features may be kept in the memory of its first device."""
    return jax.default_backend(), held_bytes()


# --- what a study has behind it -------------------------------------------------------------------------------


@dataclass(frozen=True)
class GroupStatus:
    group: Group
    steps: int  # behind one member, for all policies
    done: int  # members with a row for every policy
    running: bool
    ahead: float  # members' worth of work in units that are not finished
    refused: bool


def study_status(study: Study, tasks: Sequence[str], store: Store) -> Iterator[GroupStatus]:
    for task in tasks:
        policies = store.policies(task)
        for group in make_groups(study, [task]):
            steps = member_steps(study, group) * len(policies)
            done = len(group.members) - members_left(work_left(group, store, policies))
            running = store.claimed(group)
            yield GroupStatus(group, steps, done, running, store.notes(group), store.refused(group))


def member_steps(study: Study, part: Group | Unit) -> int:
    """Gradient steps behind a row of a group or unit."""
    steps = steps_of(study.make(part.method, part.members[0].setting))
    return steps * study.seeds if study.resample else steps
