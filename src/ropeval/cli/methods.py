"""`ropeval methods`: what can be put behind --method, and what can be set."""

from ropeval.cli.screen import Screen


def methods() -> None:
    """List the encoders and estimators, and every field that --set takes."""
    from ropeval.encoders import ENCODERS
    from ropeval.estimators import ESTIMATORS
    from ropeval.plugins import load_methods
    from ropeval.report.table import Cell, Table, Value
    from ropeval.report.typeset import to_terminal

    load_methods()
    console = Screen()
    rows: list[list[Cell | Value]] = []
    rules = []
    for kind, entries in (("estimators", ESTIMATORS), ("encoders", ENCODERS)):
        rules.append(len(rows))
        rows.append([Cell(kind, bold=True), "", ""])
        for name, entry in entries.items():
            fields = ", ".join(f"{f}={info.default}" for f, info in entry.config.model_fields.items())
            rows.append([f"  {name}", entry.summary, fields or "–"])
    console.print(to_terminal(Table(["name", "what it is", "settings and their defaults"], rows, rules=rules[1:])))
    console.print("A method is an estimator, or encoder+estimator where it takes features: fqe, rope+fqe.")
