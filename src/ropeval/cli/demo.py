"""`ropeval demo`: the whole job on a log that comes with the package, next to the truth."""

import json
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ropeval.cli.progress import session_progress, stderr
from ropeval.interrupts import interruptible

SETTINGS: dict[str, dict[str, Any]] = {  # small networks for a small task, so that it takes a minute or two
    "fqe": {"width": 64, "steps": 10_000, "tau": 0.05, "learning_rate": 1e-3},
    "rope": {"width": 64, "steps": 5_000, "learning_rate": 1e-3},
}


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("demo-result"),
    members: Annotated[int, typer.Option(min=1, help="Repetitions: own seeds, own resamples.")] = 4,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same result.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where the demo was interrupted.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what --out holds.")] = False,
) -> None:
    """Evaluate four policies for swinging up a pendulum from an embedded log, and compare with the truth.

    The log mixes five behaviours, none of which is a candidate. The true values come from 20,000 rollouts of each
    candidate in the simulator; no method sees them.
    """
    from ropeval.cli.results import keep_results
    from ropeval.data import load_dataset
    from ropeval.evaluation.methods import DEFAULT_METHODS, make_method
    from ropeval.evaluation.session import Session, check_folder, rankings, run_session
    from ropeval.policies import load_policy
    from ropeval.report.terminal import print_ranking, print_results

    with resources.as_file(resources.files("ropeval.demo")) as folder:
        known = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
        session = Session(
            dataset=load_dataset(folder / "log.npz"),
            policies=[load_policy(folder / "policies" / f"{name}.npz") for name in known["policies"]],
            methods=[make_method(name, SETTINGS) for name in DEFAULT_METHODS],
            gamma=known["gamma"],
            members=members,
            seed=seed,
            draws=4,  # instead of 8, for the sake of the clock
        )
    truth = {name: about["value"] for name, about in known["policies"].items()}
    check_folder(session, out, resume, overwrite)
    console = stderr()
    console.print(f"{session.dataset!r}", highlight=False, markup=False)
    with interruptible("the same command with --resume"), session_progress(session, console) as report:
        results = run_session(session, out, report, resume, overwrite)
    ranking = rankings(session, results, out, truth)
    print_results(results, Console(), truth)
    print_ranking(ranking, Console())
    keep_results(results, ranking, out, truth)
    print(f"written to {out}: report.html, result.json, trust.json, curves.parquet, curves.png")
