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
    families: dict[str, list[str]] = {}
    for name in usual_methods():
        encoder, _, estimator = name.rpartition("+")
        families.setdefault(REPRESENTATIONS if encoder else ESTIMATORS[estimator].family, []).append(name)
    rows: list[list[Cell | Value]] = []
    rules = []
    for family, names in families.items():
        rules.append(len(rows))
        rows.append([Cell(family, bold=True), "", "", "", "", ""])
        for name in names:
            seen = known.get(name, {})
            rows.append(
                [f"  {name}", _summary(name), _needs(name), *(_percent(seen), seen.get("seconds"), seen.get("logs"))]
            )
    return Table(
        ["method", "what it is", "needs", "error", "seconds", "logs"],
        rows,
        rules=rules[1:],
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


def _percent(seen: dict[str, float]) -> str | None:
    return f"{100 * seen['error']:.3g} %" if seen else None


def _summary(name: str) -> str:
    encoder, _, estimator = name.rpartition("+")
    return ENCODERS[encoder].summary if encoder else ESTIMATORS[estimator].summary


def _needs(name: str) -> str:
    encoder, _, estimator = name.rpartition("+")
    needs: tuple[Need, ...] = (*(ENCODERS[encoder].needs if encoder else ()), *ESTIMATORS[estimator].needs)
    return "; ".join(need.words for need in needs) or "–"
