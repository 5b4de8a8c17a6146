"""`ropeval bench …`: the paper's study. Parses, calls one function, prints."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ropeval.cli import bench_report, bench_run
from ropeval.cli.bench_options import DEFAULT_DATA, Data, Policies

if TYPE_CHECKING:
    from ropeval.bench.data.truth import Truth

app = typer.Typer(
    no_args_is_help=True,
    help="The paper's study: tasks with known answers, their logs, runs, tables and figures.",
)


@app.command()
def tasks(data: Data = DEFAULT_DATA) -> None:
    """List the tasks: environment, size, who wrote the log, and whether it has been collected.

    A task of your own is one Python file that defines TASKS; name it in
    ROPEVAL_TASKS (several are separated like PATH), or call a task
    FILE.py:NAME. docs/guide/extending.md shows one.
    """
    from rich.console import Console

    from ropeval.bench.data.task_data import is_collected
    from ropeval.bench.data.tasks import all_tasks
    from ropeval.report.table import Table, Value
    from ropeval.report.typeset import to_terminal

    rows: list[list[Value]] = []
    for task in all_tasks().values():
        name = f"{task.name} v{task.version}" if task.version > 1 else task.name
        about = f"{task.environment.rpartition(':')[2]}: {task.about}"
        rows.append([name, task.transitions, "✓" if is_collected(task, data) else "", about])
    columns = ["task", "transitions", "", "environment and log"]
    Console().print(to_terminal(Table(columns, rows, caption=f"✓: collected in {data}")))


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
    """Play a task's policies: write its log, and the true values of π_e, π_b and the random policy.

    The log is whole episodes, as many as fit in the task's number of
    transitions. The same seed gives the same bits with any number of
    processes. What was interrupted, even by kill -9, goes on where it was
    when the same command is given again.

    Try it:

      ropeval bench collect tiny/pendulum
      ropeval bench collect 'd4rl/hopper-*' --policies ~/deep_ope
    """
    from rich.console import Console

    from ropeval.bench.data.collect import collect as collect_task
    from ropeval.bench.data.task_data import is_collected, read_truth
    from ropeval.bench.data.tasks import find_tasks
    from ropeval.cli.progress import collecting_progress, stderr
    from ropeval.interrupts import interruptible

    console = Console()
    for task in find_tasks(names):
        if is_collected(task, data) and not overwrite:
            console.print(f"{task.name}: already in {data / task.folder} (--overwrite collects it again)")
            continue
        with interruptible("the same command"), collecting_progress(task.name, stderr()) as report:
            folder = collect_task(task, data, policies, seed, processes, overwrite=overwrite, report=report)
        console.print(f"{task.name}: {folder}", soft_wrap=True)
        _print_truth(read_truth(folder))


def _print_truth(truth: "Truth") -> None:
    from rich.console import Console

    from ropeval.report.table import Table
    from ropeval.report.typeset import to_terminal

    rows = []
    for role, one in (("π_e", truth.evaluated), ("π_b", truth.behaviour), ("random", truth.random)):
        values = [f"{v.value:.4g} ± {v.standard_error:.2g}" for v in (one.discounted, one.mean_reward)]
        rows.append([f"{role} {one.name}", *values, f"{one.mean_length:.0f}", str(one.episodes)])
    columns = ["policy", "discounted return", "mean reward/(1−γ)", "length", "episodes"]
    caption = f"γ = {truth.gamma:g}; ± standard error over episodes"
    Console().print(to_terminal(Table(columns, rows, caption=caption, left=1)))


@app.command()
def train(
    environment: Annotated[str, typer.Argument(help="Gymnasium's id, for example Hopper-v4.", metavar="ENV-ID")],
    out: Annotated[Path, typer.Option(help="Folder for checkpoints, learning curve and state.", metavar="DIR")] = Path(
        "ropeval-trained"
    ),
    steps: Annotated[int, typer.Option(help="Steps in the environment.", min=1)] = 1_000_000,
    every: Annotated[int, typer.Option(help="Steps between checkpoints.", min=1)] = 10_000,
    episodes: Annotated[int, typer.Option(help="Episodes played at each checkpoint.", min=1)] = 5,
    seed: Annotated[int, typer.Option(help="Of the training.", min=0)] = 0,
) -> None:
    """Train a policy with SAC (Stable-Baselines3's defaults): a π_e, and earlier, lower ones for π_b.

    Needs: pip install 'ropeval[train]'. Every checkpoint is a .npz with actor
    and critic that all verbs read; curve.jsonl holds what each earned. Give
    the same command again to go on after an interruption, or give more steps.

    Try it:

      ropeval bench train Pendulum-v1 --steps 5000 --every 1000
    """
    from ropeval.bench.data.train import train as train_policy
    from ropeval.cli.progress import stderr, training_progress

    with training_progress(environment, steps, stderr()) as report:
        folder = train_policy(
            environment, out / environment.replace("/", "-"), steps, every, episodes, seed, report=report
        )
    typer.echo(f"checkpoints and curve.jsonl: {folder}")


app.command(epilog=bench_run.EPILOG)(bench_run.run)
app.command()(bench_run.status)
app.command(epilog=bench_report.EPILOG)(bench_report.report)
