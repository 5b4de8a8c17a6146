"""The methods by family: what each needs, and how near and how fast it is on the suite."""

import json
from importlib import resources

from ropeval.data.needs import Need
from ropeval.encoders import ENCODERS
from ropeval.estimators import ESTIMATORS
from ropeval.evaluation.methods import Method, usual_methods
from ropeval.report.table import Cell, Table, Value

KEPT = "suite_medians.json"  # made by `python -m benchmarks.suite_medians`, never by hand
REPRESENTATIONS = "representations"


def method_table() -> Table:
    """Every estimator, and every encoder before one."""
    known = suite_medians()
    families: dict[str, list[list[Cell | Value]]] = {}
    for name in usual_methods():
        encoder, _, estimator = name.rpartition("+")
        family = REPRESENTATIONS if encoder else ESTIMATORS[estimator].family
        seen = known.get(name, {})
        error = f"{100 * seen['error']:.3g} %" if seen else None
        families.setdefault(family, [[Cell(family, bold=True), "", "", "", "", ""]]).append(
            [f"  {name}", _summary(name), _needs(name), error, seen.get("seconds"), seen.get("logs")]
        )
    return Table.grouped(
        ["method", "what it is", "needs", "error", "seconds", "logs"],
        list(families.values()),
        left=3,
        caption=(
            "error, seconds: medians on the suite's test split, in % of the way from a log's worst policy to its best, "
            "and for all policies of a log; over as many logs as have been run, which are not the same for all."
        ),
    )


def settings_table(method: Method) -> Table:
    """Every field that --set takes, and its default."""
    rows: list[list[Cell | Value]] = [
        [f"{part}.{field}", str(value)] for part, fields in method.describe().items() for field, value in fields.items()
    ]
    return Table(["setting", "default"], rows, left=2, title=f"{method.name}: {_summary(method.name)}")


def suite_medians() -> dict[str, dict[str, float]]:
    """By method: error in units of the range, seconds, logs."""
    text = (resources.files("ropeval.report") / KEPT).read_text(encoding="utf-8")
    found: dict[str, dict[str, float]] = json.loads(text)["methods"]
    return found


def _summary(name: str) -> str:
    encoder, _, estimator = name.rpartition("+")
    return ENCODERS[encoder].summary if encoder else ESTIMATORS[estimator].summary


def _needs(name: str) -> str:
    encoder, _, estimator = name.rpartition("+")
    needs: tuple[Need, ...] = (*(ENCODERS[encoder].needs if encoder else ()), *ESTIMATORS[estimator].needs)
    return "; ".join(need.words for need in needs) or "–"
