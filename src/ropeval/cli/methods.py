"""`ropeval methods`: what can be put behind --method, and what can be set."""

from typing import Annotated

import typer
from rich.console import Console


def methods(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[METHOD]…", help="Show what can be set of these.")
    ] = None,
) -> None:
    """List the methods by family, with what each needs and its error and seconds on the suite.

    With a METHOD, list every field of it that --set takes instead.
    """
    from ropeval.evaluation.methods import make_method
    from ropeval.report.method_list import method_table, settings_table
    from ropeval.report.typeset import to_terminal

    console = Console()
    if names:
        for name in names:
            console.print(to_terminal(settings_table(make_method(name))))
        return
    console.print(to_terminal(method_table()))
    console.print(
        "A method is an estimator, or any encoder+estimator where the estimator takes features: fqe, rope+fqe, "
        "bcrl+lspe. --method all runs all of these that apply. ropeval methods METHOD lists what --set takes."
    )
