"""`ropeval bench report`: a study's tables and figures."""

from pathlib import Path
from typing import Annotated

import typer

EPILOG = """
Examples:

  ropeval bench report ropeval-studies/smoke

  ropeval bench report ropeval-studies/paper --out paper-report --format md,png

  ropeval bench report ropeval-studies/mine benchmarks/suite/study
"""


def report(
    study: Annotated[
        list[Path],
        typer.Argument(help="The folder that `ropeval bench run` wrote; several are read together.", metavar="STUDY"),
    ],
    out: Annotated[Path | None, typer.Option(help="Folder for the report.  [default: STUDY/report]")] = None,
    formats: Annotated[
        str, typer.Option("--format", help="Some of md, tex, csv, png, pdf, html, separated by commas.")
    ] = "md,tex,csv,png,pdf,html",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Write into --out although it holds something else.")
    ] = False,
) -> None:
    """Write a study's tables and figures, from its result rows alone.

    Every error is an RMAE, |estimate − ρ(π_e)| / |ρ(π_e) − ρ(π_rand)|, against each of the two definitions of the true
    value in turn. Tables show the IQM over seeds with 95 % bootstrap intervals: of the default setting, of the grid's
    median, and of the setting that was best, which is chosen with the truth and marked †. The trivial baselines stand
    in all of them. A study that is not finished is reported as far as it is, with what is missing and why.

    Where tasks judge several policies each, as in suite.toml, methods are scored over logs instead: normalised error,
    order of the policies, coverage, refusals and seconds, for `test` and `dev` apart, and by family of tasks. `ropeval
    bench report MINE SUITE` sets your own method beside all others.

    report.html is one page with everything in it; report.md, report.tex and CSV files hold the same. A report that is
    there already is replaced. docs/guide/studies.md says what each table and figure means.
    """
    from ropeval.bench.results.report import write_report
    from ropeval.cli.progress import percent_bar
    from ropeval.cli.screen import Screen, stderr
    from ropeval.runtime import cores

    target = out or study[0] / "report"
    with percent_bar(stderr()) as bar:
        task = bar.add_task("reading", total=1.0)
        written = write_report(
            study,
            target,
            [word.strip() for word in formats.split(",") if word.strip()],
            lambda words, fraction: bar.update(task, description=f"{words:28.28}", completed=fraction),
            overwrite,
            processes=cores(),
        )
    pages = [path for path in written if path.stem == "report"] or written[:1]
    Screen().print(f"{len(written)} files in {target}; begin with {', '.join(map(str, pages))}", soft_wrap=True)
