"""`ropeval data info | convert | check`: look at a log, write it in another form, or have it checked."""

import json as jsonlib
import sys
from pathlib import Path
from typing import Annotated

import typer

from ropeval.cli.format_help import LOGS
from ropeval.cli.model_options import shown
from ropeval.errors import UserError

app = typer.Typer(no_args_is_help=True, help="Look at logs, check them, convert them.")
EPILOG = """
Examples:

  ropeval data info log.npz --page log.html

  ropeval data info visits.csv --columns observations=age,dose* --columns episode_ids=patient --columns time=day

  ropeval data convert mujoco/hopper/medium-v0 hopper

  ropeval data check hopper
"""
LogArgument = Annotated[str, typer.Argument(metavar="LOG", help=f"One of: {LOGS}. The content decides, not the name.")]
ColumnsOption = Annotated[list[str] | None, shown("columns")]


@app.command(epilog=EPILOG)
def info(
    log: LogArgument,
    columns: ColumnsOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON and nothing else.")] = False,
    page: Annotated[Path | None, typer.Option(help="Also draw it, as one HTML file.", metavar="FILE.html")] = None,
) -> None:
    """What a log holds: episodes and how they end, ranges, odd columns, a histogram of the returns, warnings."""
    from ropeval.cli.screen import Screen, say, stderr
    from ropeval.data import load_dataset
    from ropeval.data.column_names import parse_columns, said_flags
    from ropeval.data.formats import recognise
    from ropeval.data.quality import summarise
    from ropeval.report.log_summary import print_summary, summary_json

    if page is not None and page.suffix != ".html":
        raise UserError(f"--page {page}: the page is HTML; give a name that ends in .html")
    mapped = parse_columns(columns or [])
    source = recognise(log)
    with stderr().status("reading the log"):
        dataset = load_dataset(log, mapped)
        summary = summarise(dataset, said_flags(mapped).get("terminations", False))
    if page is not None:
        from ropeval.files import write_alone
        from ropeval.report.log_page import log_page

        write_alone(page, log_page(dataset, summary).html())
    if json:
        print(jsonlib.dumps(summary_json(log, source.format.name, summary, dataset.notices), indent=1))
        return
    print_summary(log, source.format.name, summary, Screen())
    for notice in dataset.notices:
        say(f"note: {notice}")
    if page is not None:
        say(f"written: {page}")


@app.command(epilog=EPILOG)
def convert(
    source: LogArgument,
    target: Annotated[
        Path, typer.Argument(metavar="TARGET", help="What to write: a folder, FILE.npz or FILE.parquet.")
    ],
    to: Annotated[
        str | None,
        typer.Option(
            help="columns, npz, parquet or minari.  [default: by TARGET's ending; a folder of columns if none]"
        ),
    ] = None,
    columns: ColumnsOption = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace TARGET if it is a log of this form.")] = False,
) -> None:
    """Write a log in another form. Into ropeval's own form (a folder of columns, memory-mapped when read) it goes part
    by part, so that the log need not fit into memory."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from ropeval.cli.screen import say, stderr
    from ropeval.data.column_names import parse_columns
    from ropeval.data.columns import is_columns
    from ropeval.data.formats import recognise
    from ropeval.data.writers import FORMATS, format_for, write_log
    from ropeval.errors import unknown_name
    from ropeval.files import sole_writer

    kind = to or format_for(target)
    if kind not in FORMATS:
        raise unknown_name("format", kind, list(FORMATS))
    found = recognise(source)
    notices: dict[str, None] = {}
    waiting = Progress(
        SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=stderr(), transient=True
    )
    with sole_writer(target), waiting as bar:
        if target.exists() and not overwrite:
            raise UserError(f"{target}: exists already; choose another name, or replace it with --overwrite")
        if target.exists() and target.resolve() == found.path.resolve():
            raise UserError(f"{target}: source and target are the same")
        if target.is_dir() and not (kind == "columns" and is_columns(target)):
            raise UserError(f"{target}: this is a folder and not a log in ropeval's own form; choose another name")
        task = bar.add_task(f"reading {found.format.name}")

        def written(steps: int) -> None:
            bar.update(task, description=f"{steps:,} steps written")

        def parts():  # type: ignore[no-untyped-def]
            for part in found.parts(parse_columns(columns or [])):
                notices.update(dict.fromkeys(part.notices))
                yield part

        write_log(parts(), target, kind, written)
    from ropeval.data.dataset import merge_notices

    for notice in merge_notices(notices):
        say(f"note: {notice}", file=sys.stderr)
    say(f"written to {target} ({kind})")


@app.command(epilog=EPILOG)
def check(log: LogArgument, columns: ColumnsOption = None) -> None:
    """Read a log whole and say what is wrong with it. Exit code 0: nothing; 1: warnings; 2: it cannot be used."""
    from ropeval.cli.screen import say, stderr
    from ropeval.data import load_dataset
    from ropeval.data.column_names import parse_columns, said_flags
    from ropeval.data.quality import log_warnings

    mapped = parse_columns(columns or [])
    with stderr().status("reading the log"):
        dataset = load_dataset(log, mapped)
        warnings = log_warnings(dataset, said_flags(mapped).get("terminations", False))
    say(repr(dataset))
    for notice in dataset.notices:
        say(f"note: {notice}")
    for warning in warnings:
        say(f"warning: {warning}")
    print(f"{len(warnings)} warning{'s' * (len(warnings) > 1)}" if warnings else "no objections")
    sys.exit(1 if warnings else 0)
