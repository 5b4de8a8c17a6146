"""`ropeval bench run` and `ropeval bench status`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ropeval.bench.run.studies import shipped_studies
from ropeval.cli.bench_options import DEFAULT_DATA, Data, Policies
from ropeval.cli.progress import percent_bar
from ropeval.cli.ray_options import CoresOption, GpusOption, RayOption, asked_cluster
from ropeval.cli.screen import Screen, stderr
from ropeval.errors import UserError, either
from ropeval.interrupts import interruptible, stop_if_pressed
from ropeval.report.labels import counted

if TYPE_CHECKING:
    from ropeval.bench.data.tasks import Task
    from ropeval.bench.run.local import GroupStatus
    from ropeval.bench.run.store import Store
    from ropeval.bench.run.study import Group, Study, Unit

EPILOG = """
Examples:

  ropeval bench run smoke.toml

  ropeval bench run suite-small.toml --methods fqe --methods world

  ropeval bench run paper.toml --policies DIR --tasks d4rl/hopper-medium --seeds 5

  ropeval bench run paper.toml --policies DIR --resume --ray auto --gpus 1
"""


def run(
    study_file: Annotated[
        Path,
        typer.Argument(
            metavar="STUDY.toml", help=f"A study file, or one that is shipped: {either(shipped_studies())}."
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="Folder of the study.  [default: ropeval-studies/NAME]")] = None,
    data: Data = DEFAULT_DATA,
    policies: Policies = None,
    tasks: Annotated[
        list[str] | None,
        typer.Option("--tasks", metavar="TASK", help="Only these tasks of the study (d4rl/* works); repeatable."),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option("--methods", metavar="METHOD", help="Only these methods of the study; repeatable."),
    ] = None,
    seeds: Annotated[int | None, typer.Option(help="Seeds per setting, instead of the study's.")] = None,
    steps: Annotated[int | None, typer.Option(help="Training steps of every part, instead of the study's.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with, or add to, the study in --out.")] = False,
    ray: RayOption = None,
    gpus: GpusOption = 0.0,
    cores: CoresOption = 1,
) -> None:
    """Run a study: every task, every method, every setting, every seed. Interrupt it whenever you like.

    Data that are not there yet are collected first. Each finished unit (members that train together) is kept at once;
    --resume does what is left. A unit that fails is recorded with its reason and does not stop the rest. Two processes
    may work on one study at the same time. `ropeval bench report` draws tables and figures from what is there.
    """
    from ropeval.bench.data.tasks import find_tasks
    from ropeval.bench.run.local import run_study
    from ropeval.bench.run.store import Store

    study = _narrowed(study_file, tasks, methods, seeds, steps)
    chosen = find_tasks(study.tasks)
    folder = out or Path("ropeval-studies") / study.name
    store = Store(folder)
    console = stderr()
    cluster = asked_cluster(ray, gpus, cores)
    store.check(study, resume)  # before hours of collecting; written only after it
    chosen = _collect_missing(chosen, data, policies, console)
    store.create(study, resume)
    names = [task.name for task in chosen]
    with interruptible("the same command with --resume"), _progress(study, names, store, console) as report:
        if cluster is None:
            outcome = run_study(study, names, store, data, report)
        else:
            from ropeval.bench.run.cluster import run_on_ray

            outcome = run_on_ray(study, names, store, data, cluster, report)
    said = [f"{outcome.members} members in {outcome.units} units done"]
    said += [f"{outcome.skipped} were there already"] if outcome.skipped else []
    said += [f"{outcome.refused} units refused"] if outcome.refused else []
    said += [f"{outcome.failed} units failed"] if outcome.failed else []
    said += [f"{outcome.elsewhere} groups are another process's"] if outcome.elsewhere else []
    Screen().print(f"{folder}: {'; '.join(said)}", markup=False, highlight=False)
    for line in complaints(store.failures()):
        console.print(line, markup=False, highlight=False)
    if outcome.units or outcome.skipped:
        Screen().print(f"tables and figures: ropeval bench report {folder}", markup=False, highlight=False)
    if outcome.failed:
        raise typer.Exit(1)


def complaints(failures: list[dict[str, Any]]) -> list[str]:
    """Every failure, and of every method that has no answer one reason: it may be a package that is not installed."""
    failed = [f"failed: {one['unit']}: {one.get('error')}" for one in failures if not one.get("refused")]
    refused = {one.get("method"): one.get("error") for one in failures if one.get("refused")}
    return [*failed, *(f"refused: {method}: {error}" for method, error in refused.items())]


def status(
    folder: Annotated[Path, typer.Argument(metavar="STUDY", help="The folder that `ropeval bench run` writes.")],
) -> None:
    """How far a study is: members done, running and failed, the rate, and the time left at that rate."""
    from ropeval.bench.data.tasks import find_tasks
    from ropeval.bench.run.local import study_status
    from ropeval.bench.run.store import Store

    store = Store(folder)
    study = store.study()
    rows = list(study_status(study, [t.name for t in find_tasks(study.tasks)], store))
    table = Table("task", "method", "members", "done", "state", box=None, pad_edge=False)
    for row in rows:
        total = len(row.group.members)
        shape = ", ".join(f"{k}={v}" for k, v in row.group.shape.items())
        state = "done" if row.done == total else "refused" if row.refused else "running" if row.running else "waiting"
        if row.running and row.ahead:
            state += f" ({row.ahead / max(1, total - row.done):.0%} of the rest)"
        method = row.group.method + (f" ({shape})" if shape else "")
        table.add_row(row.group.task, method, str(total), str(row.done), state)
    console = Screen()
    console.print(table)
    console.print(_summary(rows, store), markup=False, highlight=False)


def _summary(rows: "list[GroupStatus]", store: "Store") -> str:
    wanted = [row for row in rows if not row.refused]
    total, done = sum(len(r.group.members) for r in wanted), sum(r.done for r in wanted)
    work = sum(len(r.group.members) * r.steps for r in wanted)
    behind = sum((r.done + r.ahead) * r.steps for r in wanted)
    text = f"{done} of {total} members done"
    seconds, steps = store.effort()
    if seconds > 0 and steps > 0:
        rate = steps / seconds
        left = max(0.0, work - behind) / rate
        text += f"; {rate:,.0f} member-steps/s so far; about {_duration(left)} left for one process at that rate"
    failures = store.failures()
    failed, refused = sum(not f.get("refused") for f in failures), sum(bool(f.get("refused")) for f in failures)
    text += f"; {failed} units failed" if failed else ""
    text += f"; {refused} units refused" if refused else ""
    return text


def _duration(seconds: float) -> str:
    minutes, hours = seconds / 60, seconds / 3600
    return f"{seconds:.0f} s" if seconds < 120 else f"{minutes:.0f} min" if minutes < 120 else f"{hours:.1f} h"


def _narrowed(
    path: Path, tasks: list[str] | None, methods: list[str] | None, seeds: int | None, steps: int | None
) -> "Study":
    """The study of a file, cut down by the options."""
    from ropeval.bench.data.tasks import find_tasks
    from ropeval.bench.run.schema import BASELINES
    from ropeval.bench.run.study import load_study
    from ropeval.errors import unknown_name

    study = load_study(path)
    changes: dict[str, Any] = {}
    if tasks:
        allowed, chosen = [task.name for task in find_tasks(study.tasks)], dict[str, None]()
        for word in tasks:
            named = [task.name for task in find_tasks([word])]
            inside = [name for name in named if name in allowed]  # a pattern may fit other tasks, too
            if not inside:
                raise UserError(f"--tasks: {unknown_name('task of this study', named[0], allowed)}")
            chosen |= dict.fromkeys(inside)
        changes["tasks"] = list(chosen)
    if methods:
        outside = [name for name in methods if name not in [*study.methods, *BASELINES]]
        if outside:
            raise UserError(f"--methods: {unknown_name('method of this study', outside[0], study.methods)}")
        changes["methods"] = methods
        changes["grid"] = {name: fields for name, fields in study.grid.items() if name in methods}
    for name, value in (("seeds", seeds), ("steps", steps)):
        if value is not None:
            if value < 1:
                raise UserError(f"--{name} is {value}; at least 1 is needed")
            changes[name] = value
    narrowed = study.model_copy(update=changes)
    narrowed.check_size()
    return narrowed


def _collect_missing(tasks: "list[Task]", data: Path, policies: Path | None, console: Console) -> "list[Task]":
    """Collect what is not there yet; returns the tasks that can be run. A task whose policies are published elsewhere
    and not at hand is skipped, with a line that says what it needs."""
    from ropeval.bench.data.collect import collect
    from ropeval.bench.data.policy_files import PoliciesMissing, locate_all
    from ropeval.bench.data.task_data import is_collected
    from ropeval.bench.data.workers import worker_pool
    from ropeval.cli.progress import collecting_progress

    skipped: dict[str, UserError] = {}
    missing = [task for task in tasks if not is_collected(task, data)]
    for task in missing:  # what is not there is said before the first hour, not after it
        try:
            locate_all(task, policies)
        except PoliciesMissing as error:
            skipped[task.name] = error
    if len(skipped) == len(tasks):
        raise next(iter(skipped.values()))
    for name, why in skipped.items():
        console.print(f"skipped {name}: {why}", markup=False, highlight=False, soft_wrap=True)
    with interruptible("the same command"), worker_pool() as pool:
        for task in missing:
            if task.name not in skipped:
                with collecting_progress(task.name, console) as report:
                    collect(task, data, policies, report=report, pool=pool)
    return [task for task in tasks if task.name not in skipped]


@contextmanager
def _progress(
    study: "Study", tasks: list[str], store: "Store", console: Console
) -> "Iterator[Callable[[Unit, float], None]]":
    """One bar over all member-steps that are left, whoever does them."""
    from ropeval.bench.run.local import members_left, work_left
    from ropeval.bench.run.study import make_groups

    left = 0
    for task in tasks:
        policies = store.policies(task)
        left += sum(members_left(work_left(g, store, policies)) * _cost(study, g) for g in make_groups(study, [task]))
    with percent_bar(console) as bar:
        whole = bar.add_task("preparing", total=max(1, left))
        seen: dict[str, float] = {}

        def report(unit: "Unit", fraction: float) -> None:
            stop_if_pressed()
            seen[unit.id] = len(unit.members) * _cost(study, unit) * fraction
            count = counted(len(unit.members), "member")
            bar.update(whole, completed=sum(seen.values()), description=f"{unit.task}  {unit.method}  {count}")

        yield report


def _cost(study: "Study", part: "Group | Unit") -> int:
    """Of a member of a group or unit, in steps; what is not trained takes a little time, too."""
    from ropeval.bench.run.local import member_steps

    return max(100, member_steps(study, part))
