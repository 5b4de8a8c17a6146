"""`ropeval evaluate`: what would these policies earn?"""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ropeval.cli.data import ColumnsOption, LogArgument
from ropeval.cli.format_help import POLICY_FILES, POLICY_WORDS
from ropeval.cli.progress import session_progress, stderr
from ropeval.errors import UserError
from ropeval.interrupts import interruptible

NOTED = 10_000  # logged states that the policies are asked about: do they look like those of their training?

EPILOG = """
Examples:

  ropeval evaluate log.npz policy.npz

  ropeval evaluate log.npz a.npz b.npz uniform --gamma 0.95 --members 8 --out result

  ropeval evaluate visits.csv policy.onnx --columns observations=age,dose* --columns episode_ids=patient

  ropeval evaluate log.npz ppo.zip+vecnormalize.pkl sac.zip@mean

  ropeval evaluate log.npz policy.npz@mean --method fqe --set fqe.layer_norm=true --json
"""

PoliciesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="POLICY",
        help=f"FILE[+STATISTICS][@stochastic|@mean|@offset]: {POLICY_FILES}; or {POLICY_WORDS}.",
    ),
]


def evaluate(
    log: LogArgument,
    policies: PoliciesArgument,
    gamma: Annotated[float | None, typer.Option(help="Discount factor, in [0, 1).  [default: 0.99]")] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help="Method; give it again for more.  [default: mean-reward, mean-return, fqe, rope+fqe]"),
    ] = None,
    members: Annotated[
        int | None,
        typer.Option(help="Repetitions, each with its own seed and resample of the episodes.  [default: 10]"),
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Training steps of everything that learns.")] = None,
    seed: Annotated[int | None, typer.Option(help="Same seed, data and device: same result.  [default: 0]")] = None,
    draws: Annotated[
        int | None, typer.Option(help="Actions drawn per state from a stochastic policy.  [default: 8]")
    ] = None,
    interval: Annotated[
        str | None,
        typer.Option(help="percentile or bca; either needs 100 members, and with fewer it is a t interval."),
    ] = None,
    level: Annotated[float | None, typer.Option(help="Level of the intervals.  [default: 0.95]")] = None,
    resample: Annotated[
        bool | None,
        typer.Option(
            "--resample/--no-resample",
            help="Whether every member sees its own resample of the episodes, or all see the log as it is and there "
            "are no intervals.  [default: resample]",
        ),
    ] = None,
    tune: Annotated[
        bool | None,
        typer.Option(
            "--tune",
            help="Choose β, d and learning rates of every method for every policy by a tournament of fitted values on "
            "the log. Takes as long as 3 (fqe) or 27 (rope+fqe) members more; what it is worth: docs/guide/ranking.md.",
        ),
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(help="JSON file {policy: true value}, where known: adds errors, rank correlation and regret."),
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help="default: minutes on a laptop. paper: the paper's settings, for a GPU.")
    ] = None,
    columns: ColumnsOption = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PART.FIELD=VALUE", help="Any field of any part, e.g. rope.beta=10."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="A TOML file with any of these options and a table per part, e.g. [fqe].")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results.  [default: ropeval-results/LOG-xxxxxxxx]")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the results as JSON and nothing else.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where the same command was interrupted.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what --out holds.")] = False,
) -> None:
    """Estimate what each POLICY would earn, judged only from LOG, and which is best. No simulator is needed.

    Prints a table with confidence intervals, the probability that each policy is the best, and what speaks against
    believing it. Writes report.html (all of it as one page), result.json (estimates, intervals, diagnosis,
    configuration), trust.json (ranking, coverage), curves.parquet (how training went) and curves.png. The intervals
    cover the luck of the log and of the seeds, not what a method gets wrong on every log: trust no method that the
    trivial baselines contradict without knowing why.
    """
    given = {
        "gamma": gamma, "method": method, "members": members, "steps": steps, "seed": seed, "draws": draws,
        "preset": preset, "interval": interval, "level": level, "resample": resample,
        "tune": tune, "columns": columns,
    }  # fmt: skip
    run(log, policies, given, set_ or [], config, truth, out, json, resume, overwrite)


def run(
    log: str,
    policies: list[str],
    given: dict[str, Any],
    assignments: list[str],
    config: Path | None,
    truth: Path | None,
    out: Path | None,
    as_json: bool,
    resume: bool,
    overwrite: bool,
) -> None:
    from ropeval.cli.options import build_session, read_truth
    from ropeval.cli.results import keep_results
    from ropeval.data.quality import log_warnings
    from ropeval.evaluation.session import check_folder, rankings, results_json, run_session
    from ropeval.report.terminal import print_ranking, print_results

    if resume and overwrite:
        raise UserError("--resume goes on with a run and --overwrite discards it; choose one")
    console = stderr()
    with console.status("reading the log and asking the policies"):
        session = build_session(log, policies, given, assignments, config)
    known = read_truth(truth, [p.name for p in session.policies]) if truth else None
    seen = session.dataset.observations[:NOTED]
    of_policies = [note for policy in session.policies for note in policy.notes(seen)]
    for notice in (*session.dataset.notices, *log_warnings(session.dataset), *of_policies):
        console.print(f"note: {notice}", highlight=False, markup=False)
    folder = out or Path("ropeval-results") / f"{Path(log).stem}-{session.fingerprint[:8]}"
    check_folder(session, folder, resume, overwrite)
    again = f"the same command with --out {folder} --resume"
    with interruptible(again), session_progress(session, console) as report:
        results = run_session(session, folder, report, resume, overwrite)
    ranking = rankings(session, results, folder, known)
    if as_json:
        print(results_json(results))
    else:
        print_results(results, Console(), known)
        print_ranking(ranking, Console())
    keep_results(results, ranking, folder, known)  # after printing: a full disk does not take the answer away
    if not as_json:
        print(f"written to {folder}: report.html, result.json, trust.json, curves.parquet, curves.png")
