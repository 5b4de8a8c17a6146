"""Options that the verbs of `ropeval bench` share."""

from pathlib import Path
from typing import Annotated

import typer

DATA_HELP = "Folder of collected tasks."
POLICIES_HELP = "Folder that holds, at any depth, the published policy files (deep_ope pickles, SAC zips, or .npz)."
Data = Annotated[Path, typer.Option(help=DATA_HELP, envvar="ROPEVAL_DATA", metavar="DIR")]
Policies = Annotated[Path | None, typer.Option(help=POLICIES_HELP, envvar="ROPEVAL_POLICIES", metavar="DIR")]
DEFAULT_DATA = Path("ropeval-data")
