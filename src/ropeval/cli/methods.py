"""`ropeval methods`: what can be put behind --method, and what can be set."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table


def methods() -> None:
    """List the encoders and estimators, and every field that --set takes."""
    from ropeval.encoders import ENCODERS
    from ropeval.estimators import ESTIMATORS
    from ropeval.plugins import load_methods

    load_methods()
    console = Console()
    table = Table(header_style="bold")
    for heading in ("name", "what it is", "settings and their defaults"):
        table.add_column(heading)
    for kind, entries in (("estimators", ESTIMATORS), ("encoders", ENCODERS)):
        table.add_row(f"[bold]{kind}[/bold]", "", "", end_section=False)
        for name, entry in entries.items():
            fields = ", ".join(f"{f}={info.default}" for f, info in entry.config.model_fields.items())
            table.add_row(f"  {name}", escape(entry.summary), escape(fields) or "–")
        table.add_section()
    console.print(table)
    console.print("A method is an estimator, or encoder+estimator where it takes features: fqe, rope+fqe.")
