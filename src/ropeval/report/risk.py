"""How returns spread, in words and as a table: what --risk and --below ask for."""

from collections.abc import Sequence

from rich.console import Console

from ropeval.evaluation.result import Estimate
from ropeval.report.labels import number
from ropeval.report.table import Table, Value


def print_risk(results: Sequence[Estimate], console: Console) -> None:
    told = [sentence for result in results if (sentence := risk_sentence(result))]
    for sentence in told:
        console.print(sentence, highlight=False, markup=False, soft_wrap=True)
    if told:
        console.print()


def risk_sentence(estimate: Estimate) -> str:
    """Empty where nobody asked, or the method does not know."""
    risk = estimate.extras.get("risk")
    if not risk:
        return ""
    words = (
        f"{estimate.policy}, {estimate.method}: the worst {_percent(risk['level'])} of its episodes earn at most "
        f"{number(risk['quantile'])}, and {number(risk['cvar'])} on average"
    )
    below = risk["below"]
    return words + (
        f"; {_percent(below['probability'])} of all earn less than {number(below['threshold'])}" if below else ""
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"


def risk_table(results: Sequence[Estimate]) -> Table | None:
    """A row for every estimate that tells it; all of one run were asked the same."""
    known = [(result, result.extras["risk"]) for result in results if result.extras.get("risk")]
    if not known:
        return None
    first = known[0][1]
    shares = list(first["quantiles"])
    columns = ["policy", "method", "mean", *(f"{float(share):.0%} earn at most" for share in shares)]
    columns.append(f"mean of the worst {_percent(first['level'])}")
    columns += [f"share below {number(first['below']['threshold'])}"] if first["below"] else []
    rows: list[list[Value]] = []
    for result, risk in known:
        rows.append([result.policy, result.method, risk["mean"], *risk["quantiles"].values(), risk["cvar"]])
        if risk["below"]:
            rows[-1].append(risk["below"]["probability"])
    return Table(columns, rows, caption="What single episodes earn. The mean is that of this distribution.")
