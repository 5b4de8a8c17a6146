"""`ropeval report`: the page of a finished run, drawn again."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="What `ropeval evaluate --out` wrote to.")],
    out: Annotated[Path | None, typer.Option(help="The page to write.  [default: FOLDER/report.html]")] = None,
) -> None:
    """Draw the results in FOLDER as one page, without computing anything again.

    The page is a single file that needs neither network nor server: open it in a browser, send it to a colleague. It
    shows the answer, the intervals of all policies and methods, what speaks against them, training, coverage and
    configuration.
    """
    from ropeval.cli.screen import say
    from ropeval.report.run_page import write_page

    say(f"written: {write_page(folder, out=out)}")
