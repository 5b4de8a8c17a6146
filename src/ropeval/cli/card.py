"""`ropeval card`: a run on one page of paper."""

from pathlib import Path
from typing import Annotated

import typer


def card(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="What `ropeval evaluate --out` wrote to.")],
    out: Annotated[Path | None, typer.Option(help="FILE.html or FILE.md.  [default: RUN/card.html]")] = None,
) -> None:
    """Write a run as a card for a decision meeting, one page to print.

    What was asked, the number with its interval, how it stands against what the log earned, what speaks against it, and
    what to do next.
    """
    from ropeval.cli.screen import say
    from ropeval.report.card import write_card

    say(f"written: {write_card(folder, out)}")
