"""`ropeval evaluate`: what would these policies earn?"""

from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ropeval.cli.data import LogArgument
from ropeval.cli.format_help import POLICY_FILES, POLICY_WORDS
from ropeval.cli.model_options import with_options
from ropeval.cli.ray_options import CoresOption, GpusOption, RayOption, asked_cluster
from ropeval.errors import UserError
from ropeval.evaluation.options import EFFORT, QUESTION, RESULTS, read_options
from ropeval.interrupts import interruptible

if TYPE_CHECKING:
    from ropeval.cluster import Cluster
    from ropeval.evaluation.rank import Truth
    from ropeval.evaluation.result import Estimate, Ranking
    from ropeval.evaluation.result_folder import ResultFolder
    from ropeval.evaluation.session import Session

NOTED = 10_000  # logged states that the policies are asked about: do they look like those of their training?

EPILOG = """
Examples:

  ropeval evaluate log.npz policy.npz

  ropeval evaluate log.npz a.npz b.npz uniform --gamma 0.95 --members 8 --out result

  ropeval evaluate visits.csv policy.onnx --columns observations=age,dose* --columns episode_ids=patient

  ropeval evaluate log.npz ppo.zip+vecnormalize.pkl old=runs/1/sac.zip@mean

  ropeval evaluate log.npz policy.npz --risk 0.05 --below -500

  ropeval evaluate log.npz policy.npz@mean --method fqe --set fqe.layer_norm=true --json

  ropeval evaluate log.npz policies/*.npz --ray auto --gpus 1
"""

PoliciesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="POLICY",
        help=f"[NAME=]FILE[+STATISTICS][@stochastic|@mean|@offset]: {POLICY_FILES}; or {POLICY_WORDS}.",
    ),
]


ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Go on where the same command was interrupted.", rich_help_panel=RESULTS)
]
OverwriteOption = Annotated[
    bool, typer.Option("--overwrite", help="Replace what --out holds.", rich_help_panel=RESULTS)
]


@with_options
def evaluate(
    log: LogArgument,
    policies: PoliciesArgument,
    truth: Annotated[
        Path | None,
        typer.Option(
            help="JSON file {policy: true value}, where known: adds errors, rank correlation and regret.",
            rich_help_panel=QUESTION,
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            help="A TOML file with any of these options and a table per part, e.g. [fqe].", rich_help_panel=EFFORT
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the results.  [default: ropeval-results/LOG-xxxxxxxx]", rich_help_panel=RESULTS),
    ] = None,
    json: Annotated[
        bool,
        typer.Option("--json", help="Print the results as JSON and nothing else.", rich_help_panel=RESULTS),
    ] = False,
    resume: ResumeOption = False,
    overwrite: OverwriteOption = False,
    ray: RayOption = None,
    gpus: GpusOption = 0.0,
    cores: CoresOption = 1,
    **given: Any,
) -> None:
    """Estimate what each POLICY would earn, judged only from LOG, and which is best. No simulator is needed.

    Prints a table with confidence intervals, the probability that each policy is the best, and what speaks against
    believing it. Writes report.html (all of it as one page), result.json (estimates, intervals, diagnosis,
    configuration), trust.json (ranking, coverage), curves.parquet (how training went) and curves.png. The intervals
    cover the luck of the log and of the seeds, not what a method gets wrong on every log: trust no method that the
    trivial baselines contradict without knowing why.
    """
    from ropeval.cli.screen import stderr
    from ropeval.cli.truth import read_truth
    from ropeval.data import load_dataset
    from ropeval.data.column_names import parse_columns, said_flags
    from ropeval.data.quality import log_warnings
    from ropeval.evaluation.session import Session
    from ropeval.policies.given import load_policies

    options = read_options({name: value for name, value in given.items() if value not in (None, [])}, config)
    cluster = asked_cluster(ray, gpus, cores)
    console = stderr()
    with console.status("reading the log and asking the policies"):
        mapped = parse_columns(options.columns)
        dataset = load_dataset(log, mapped)
        session = Session(dataset, load_policies(policies), options)
    known = read_truth(truth, [p.name for p in session.policies]) if truth else None
    seen = dataset.observations[:NOTED]
    of_policies = [note for policy in session.policies for note in policy.notes(seen)]
    single_steps = options.gamma == 0 or said_flags(mapped).get("terminations", False)
    left_out = [f"{name} is left out: {why}" for name, why in session.applicable.left_out.items()]
    for notice in (
        *dataset.notices, *log_warnings(dataset, single_steps), *of_policies, *left_out, *session.notes()
    ):  # fmt: skip
        console.print(f"note: {notice}", highlight=False, markup=False)
    folder = out or Path("ropeval-results") / f"{Path(log).stem}-{session.fingerprint[:8]}"
    answer(session, folder, known, resume, overwrite, as_json=json, cluster=cluster)


def answer(
    session: "Session",
    out: Path,
    truth: "Truth | None",
    resume: bool,
    overwrite: bool,
    as_json: bool = False,
    cluster: "Cluster | None" = None,
) -> None:
    """Run a session, here or on a cluster, print what it found, and leave it in the folder."""
    from ropeval.cli.progress import questions_progress
    from ropeval.cli.screen import Screen, heard_or_not, say, stderr
    from ropeval.evaluation.forecast import WORTH_SAYING
    from ropeval.evaluation.result_folder import ResultFolder, results_json
    from ropeval.evaluation.session import rankings, run_session
    from ropeval.report.risk import print_risk
    from ropeval.report.terminal import print_groups, print_ranking, print_results
    from ropeval.runtime import device, idle_gpu

    if resume and overwrite:
        raise UserError("--resume goes on with a run and --overwrite discards it; choose one")
    folder, expected = ResultFolder(out), session.forecast()
    if overwrite or not folder.answered:
        where = f"{device()}{idle_gpu()}" if cluster is None else f"the machines of Ray ({cluster.address})"
        stderr().print(f"computing on {where}", highlight=False, markup=False)
        if cluster is None and expected.total >= WORTH_SAYING:  # a forecast is about this machine
            stderr().print(str(expected), highlight=False, markup=False)
    with folder.writing(session.about(), resume, overwrite):
        Thread(target=_get_ready_to_draw).start()
        with (
            interruptible(f"the same command with --out {out} --resume"),
            questions_progress(session.questions, stderr()) as report,
        ):
            results = run_session(session, folder, report, cluster)
        ranking = rankings(session, results, folder, truth)
        with heard_or_not() as lost:
            if as_json:
                print(results_json(results))
            else:
                print_results(results, Screen(), truth)
                print_risk(results, Screen())
                print_groups(results, Screen())
                print_ranking(ranking, Screen())
        keep(results, ranking, folder, truth)  # after printing: a full disk does not take the answer away
    if lost:
        raise UserError(f"standard output cannot be written ({lost[0].strerror}); the results are in {out}")
    if not as_json:
        with heard_or_not():
            say(f"written to {out}: {', '.join(folder.written)}")


def _get_ready_to_draw() -> None:
    """A second or more of imports, while what takes long is at work."""
    import matplotlib.backends.backend_agg
    import matplotlib.figure  # noqa: F401

    import ropeval.report.run_page  # noqa: F401


def keep(results: "list[Estimate]", ranking: "list[Ranking]", folder: "ResultFolder", truth: "Truth | None") -> None:
    """Write the answers of a new run, tell a finished one its true values, and draw what is not drawn."""
    from ropeval.files import write_text
    from ropeval.report.run_page import draw_curves, write_page

    if not folder.answered:
        folder.write(results, ranking, truth)
    elif truth:
        folder.curves()  # before anything is changed: they may not be readable
        folder.add_truth(ranking, truth)
    if not folder.has("curves.png"):
        draw_curves(folder.path)
    if not folder.has("report.html"):
        write_page(folder.path, write=write_text)  # the folder is ours already
    folder.finish()
