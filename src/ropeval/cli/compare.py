"""`ropeval compare`: two runs side by side."""

import json as jsonlib
from pathlib import Path
from typing import Annotated

import typer


def compare(
    before: Annotated[Path, typer.Argument(metavar="RUN", help="A folder that `ropeval evaluate --out` wrote to.")],
    after: Annotated[Path, typer.Argument(metavar="RUN", help="Another.")],
    json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON and nothing else.")] = False,
) -> None:
    """Compare two runs: the same log, the same policies, and how far the estimates have moved.

    For every policy and method that both have, the difference with its interval, as if the two runs were independent.
    On one and the same log they share their luck, so the interval is wider than it need be.
    """
    from rich.console import Console

    from ropeval.evaluation.compare_runs import compare_runs
    from ropeval.report.changes import print_changes

    found = compare_runs(before, after)
    if json:
        print(jsonlib.dumps(found.to_json(), indent=1, ensure_ascii=False))
    else:
        print_changes(found, Console())
