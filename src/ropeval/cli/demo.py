"""`ropeval demo`: the whole job on a log that comes with the package, next to the truth."""

import json
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer

from ropeval.cli.evaluate import OverwriteOption, ResumeOption, answer
from ropeval.evaluation.options import make_options

METHODS = ["mean-return", "mean-reward", "world", "fqe", "rope+fqe"]
SETTINGS: dict[str, dict[str, Any]] = {  # small networks for a small task, so that it takes a minute or two
    "world": {"width": 128, "steps": 5_000},
    "fqe": {"width": 64, "steps": 10_000, "tau": 0.05, "learning_rate": 1e-3},
    "rope": {"width": 64, "steps": 5_000, "learning_rate": 1e-3},
}


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("demo-result"),
    members: Annotated[int, typer.Option(min=1, help="Repetitions: own seeds, own resamples.")] = 4,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same result.")] = 0,
    resume: ResumeOption = False,
    overwrite: OverwriteOption = False,
) -> None:
    """Evaluate four policies for swinging up a pendulum from an embedded log, and compare with the truth.

    The log mixes five behaviours, none of which is a candidate. The true values come from 20,000 rollouts of each
    candidate in the simulator; no method sees them.
    """
    from ropeval.cli.screen import stderr
    from ropeval.data import load_dataset
    from ropeval.evaluation.session import Session
    from ropeval.policies import load_policy

    with resources.as_file(resources.files("ropeval.demo")) as folder:
        known = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
        given = {"gamma": known["gamma"], "members": members, "seed": seed, "method": METHODS, "settings": SETTINGS}
        options = make_options({**given, "draws": 4}, "--")  # instead of 8, for the sake of the clock
        policies = [load_policy(folder / "policies" / f"{name}.npz") for name in known["policies"]]
        session = Session(load_dataset(folder / "log.npz"), policies, options)
    stderr().print(f"{session.dataset!r}", highlight=False, markup=False)
    truth = {name: about["value"] for name, about in known["policies"].items()}
    answer(session, out, truth, resume, overwrite)
