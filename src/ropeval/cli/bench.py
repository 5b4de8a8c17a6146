"""`ropeval bench …`: studies. Parses, calls one function, prints."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ropeval.cli import bench_report, bench_run
from ropeval.cli.bench_options import DEFAULT_DATA, Data, Policies

if TYPE_CHECKING:
    from ropeval.bench.data.truth import Truth


class Trainer(StrEnum):
    SAC = "sac"
    EVOLUTION = "evolution"


app = typer.Typer(
    no_args_is_help=True,
    help="Studies: tasks with known answers, their logs, runs of many methods, tables and figures.",
)


@app.command()
def tasks(data: Data = DEFAULT_DATA) -> None:
    """List the tasks by family: size of the log, policies to judge, who wrote it, whether it has been collected.

    Policies to judge are for choosing among methods (dev) or for testing the
    choice (test); nothing is ever tuned on the latter.

    A task of your own is one Python file that defines TASKS; name it in
    ROPEVAL_TASKS (several are separated like PATH), or call a task
    FILE.py:NAME. docs/guide/extending.md shows one.
    """
    from rich.markup import escape

    from ropeval.bench.data.task_data import is_collected
    from ropeval.bench.data.tasks import all_tasks
    from ropeval.cli.screen import Screen

    families: dict[str, list[str]] = {}
    found = all_tasks().values()
    widest = max(len(task.name) for task in found)
    for task in found:
        size, unit = task.size
        log = f"{size:,} {'steps' if unit == 'transitions' else unit}"
        splits = [task.split_of(policy) for policy in task.judged]
        judged = f"{splits.count('dev')} + {splits.count('test')}"
        done, version = "✓" if is_collected(task, data) else " ", f" (v{task.version})" if task.version > 1 else ""
        line = f"{done} {task.name:{widest}} {log:>15}  {judged}  {task.about}{version}"
        families.setdefault(task.family, []).append(line)
    console = Screen(highlight=False, soft_wrap=True)
    for family, lines in families.items():
        console.print(f"\n[bold]{escape(family)}[/]")
        for line in lines:
            console.print(line, markup=False)
    console.print(f"\n✓: collected in {data}; 3 + 2: so many policies to judge for choosing (dev), for testing (test)")


@app.command()
def collect(
    names: Annotated[
        list[str], typer.Argument(help="Tasks: names, patterns such as 'd4rl/*', or FILE.py:NAME.", metavar="TASK...")
    ],
    data: Data = DEFAULT_DATA,
    policies: Policies = None,
    processes: Annotated[
        int | None, typer.Option(help="Processes to play with.", min=1, show_default="all cores")
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides every episode, together with the task's name.", min=0)] = 0,
    overwrite: Annotated[bool, typer.Option(help="Collect again what is there already.")] = False,
) -> None:
    """Play a task's policies: write its log, and the true values of those to judge and of the random policy.

    The log is whole episodes, as many as fit in the task's number of
    transitions. The same seed gives the same bits with any number of
    processes. What was interrupted, even by kill -9, goes on where it was
    when the same command is given again. Of several tasks, those whose
    published policies are not at hand are skipped by name.

    Try it:

    \b
      ropeval bench collect tiny/pendulum
      ropeval bench collect 'suite/*'
      ropeval bench collect 'd4rl/hopper-*' --policies ~/deep_ope
    """
    from ropeval.bench.data.collect import collect as collect_task
    from ropeval.bench.data.policy_files import PoliciesMissing
    from ropeval.bench.data.task_data import is_collected, read_truth
    from ropeval.bench.data.tasks import find_tasks
    from ropeval.bench.data.workers import worker_pool
    from ropeval.cli.progress import collecting_progress
    from ropeval.cli.screen import Screen, stderr
    from ropeval.interrupts import interruptible

    console = Screen()
    asked, missing = find_tasks(names), []
    with interruptible("the same command"), worker_pool(processes) as pool:
        for task in asked:
            if is_collected(task, data) and not overwrite:
                folder = collect_task(task, data)  # clears up after one that was killed
                console.print(f"{task.name}: already in {folder} (--overwrite collects it again)")
                continue
            try:
                with collecting_progress(task.name, stderr()) as report:
                    folder = collect_task(task, data, policies, seed, overwrite=overwrite, report=report, pool=pool)
            except PoliciesMissing as error:
                if len(asked) == 1:
                    raise
                missing.append(task.name)
                console.print(f"skipped: {error}", soft_wrap=True, markup=False, highlight=False)
                continue
            console.print(f"{task.name}: {folder}", soft_wrap=True)
            _print_truth(read_truth(folder))
    if missing:
        console.print(f"{len(missing)} of {len(asked)} tasks skipped: give their policies with --policies DIR")


def _print_truth(truth: "Truth") -> None:
    from ropeval.cli.screen import Screen
    from ropeval.report.table import Table
    from ropeval.report.typeset import to_terminal

    rows = []
    for name, one in truth.policies.items():
        values = [f"{v.value:.4g} ± {v.standard_error:.2g}" for v in (one.discounted, one.mean_reward)]
        mark = "*" if name in truth.imprecise else ""
        file = "" if one.name == name else f"  {one.name}"
        rows.append([f"{name}{mark}{file}", *values, f"{one.mean_length:.0f}", str(one.episodes or "exact")])
    columns = ["policy", "discounted return", "mean reward/(1−γ)", "length", "episodes"]
    caption = f"γ = {truth.gamma:g}; ± standard error over episodes"
    if truth.imprecise:
        caption += "; * rough: more than half a percent of the range of the values"
    Screen().print(to_terminal(Table(columns, rows, caption=caption, left=1)))


@app.command()
def train(
    environment: Annotated[str, typer.Argument(help="Gymnasium's id, for example Hopper-v4.", metavar="ENV-ID")],
    out: Annotated[Path, typer.Option(help="Folder for checkpoints, learning curve and state.", metavar="DIR")] = Path(
        "ropeval-trained"
    ),
    by: Annotated[
        Trainer, typer.Option(help="sac: large tasks with continuous actions. evolution: small tasks, in minutes.")
    ] = Trainer.SAC,
    steps: Annotated[int, typer.Option(help="sac: steps in the environment.", min=1)] = 1_000_000,
    every: Annotated[int, typer.Option(help="sac: steps between checkpoints.", min=1)] = 10_000,
    generations: Annotated[int, typer.Option(help="evolution: how often the population is renewed.", min=1)] = 60,
    population: Annotated[int, typer.Option(help="evolution: draws per generation.", min=5)] = 40,
    keep: Annotated[int, typer.Option(help="evolution: policies to write, from weak to strong.", min=1)] = 6,
    gamma: Annotated[float, typer.Option(help="evolution: discount of what is maximised.", min=0, max=1)] = 0.99,
    episodes: Annotated[
        int | None, typer.Option(help="Episodes per checkpoint, or per draw.", min=1, show_default="5, or 2")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the training.", min=0)] = 0,
) -> None:
    """Train policies to evaluate: SAC (Stable-Baselines3's defaults), or the cross-entropy method for small tasks.

    SAC needs: pip install 'ropeval[train]'. Every checkpoint is a .npz with
    actor and critic that all verbs read; curve.jsonl holds what each earned.
    Give the same command again to go on after an interruption, or give more
    steps. The cross-entropy method needs Gymnasium only, and writes a line-up
    of policies from weak to strong: those of the suite's classic control came
    from it.

    Try it:

    \b
      ropeval bench train Pendulum-v1 --steps 5000 --every 1000
      ropeval bench train CartPole-v1 --by evolution
    """
    from ropeval.cli.progress import training_progress
    from ropeval.cli.screen import say, stderr

    folder = out / environment.replace("/", "-")
    if by is Trainer.EVOLUTION:
        from ropeval.bench.data.evolve import evolve

        with training_progress(environment, generations, "generations", stderr()) as report:
            evolve(environment, folder, generations, episodes or 2, population, seed, keep, gamma, report)
    else:
        from ropeval.bench.data.train import train as train_policy

        with training_progress(environment, steps, "steps", stderr()) as report:
            train_policy(environment, folder, steps, every, episodes or 5, seed, report=report)
    say(f"policies and curve.jsonl: {folder}")


app.command(epilog=bench_run.EPILOG)(bench_run.run)
app.command()(bench_run.status)
app.command(epilog=bench_report.EPILOG)(bench_report.report)


@app.command()
def pack(
    study: Annotated[Path, typer.Argument(help="The folder that `ropeval bench run` wrote.", metavar="STUDY")],
) -> None:
    """Put a study's many small files into a few, to share or keep it.

    Reports read them as before, and `bench run --resume` goes on from there.
    """
    from ropeval.bench.run.pack import pack as pack_study
    from ropeval.bench.run.study import read_study

    read_study(study)  # refuses what is no study
    before, after = pack_study(study)
    typer.echo(f"{study}: {before} files of units became {after}")
