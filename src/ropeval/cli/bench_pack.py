"""`ropeval bench pack`: a study in a few files."""

from pathlib import Path
from typing import Annotated

import typer


def pack(
    study: Annotated[Path, typer.Argument(help="The folder that `ropeval bench run` wrote.", metavar="STUDY")],
) -> None:
    """Put a study's many small files into a few, to share or keep it.

    Reports read them as before, and `bench run --resume` goes on from there.
    """
    from ropeval.bench.run.pack import pack as pack_study
    from ropeval.bench.run.study import read_study

    read_study(study)  # refuses what is no study
    before, after = pack_study(study)
    typer.echo(f"{study}: {before} files of units became {after}")
