"""The page of a study that judges several policies per log: the answer first, then families, logs and true values."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ropeval.bench.results.report.page import begun, show_figures, show_tables
from ropeval.bench.results.report.tables import error_text
from ropeval.bench.results.rows import BASELINES, TRUTHS
from ropeval.bench.results.suite_scores import MOST, SPLITS, Suite
from ropeval.report.html import Page, Section
from ropeval.report.table import Table

if TYPE_CHECKING:
    from ropeval.bench.results.report.write import Report


def suite_page(report: "Report", suite: Suite) -> Page:
    cases = suite.cases.unique(["task", "policy"]).height
    counts = f"{len(suite.methods)} methods", f"{len(suite.tasks)} logs", f"{cases} cases"
    page, first = begun(report, verdict(suite), *counts)
    charts = {chart.slug: chart for chart in report.charts}
    tables = {table.slug: table for table in report.tables}
    _titled(first, [tables["suite-glance"]])
    show_figures(first, [charts.get("suite-seconds")], report)
    for split in suite.splits:
        word = split or "all"
        section = page.section(SPLITS[split].capitalize(), ABOUT[split])
        show_figures(section, [charts.get(f"suite-errors-{word}")], report)
        _titled(section, [tables[f"suite-{name}-{word}"] for name in ("accuracy", "ranking", "answers", "families")])
        show_figures(section, [charts.get(f"suite-profile-{word}")], report)
        _titled(section, [tables[f"suite-logs-{word}"]])
    _titled(page.section("True values"), [tables["suite-truths"]])
    section = page.section("Case by case", "The same runs in units of the distance to the random policy.")
    _titled(section, [table for slug, table in tables.items() if slug.startswith("overview-")])
    if report.missing:
        _titled(page.section("What is missing"), report.missing)
    return page


def _titled(section: Section, tables: Sequence[Table]) -> None:
    """Each below a heading of its own, so that a wall of tables can be found one's way in."""
    for table in tables:
        show_tables(section.heading(table.title), [replace(table, title="")])


ABOUT = {
    "test": "Policies and logs on which nothing was ever tuned.",
    "dev": "Policies and logs that may be used to choose among methods and settings: what they say is the more hopeful "
    "the more was chosen with them.",
    "": "These tasks do not say what may be tuned on them.",
}


def verdict(suite: Suite) -> str:
    """Who has the lowest error on the first split, and what a trivial answer has."""
    split = suite.splits[0]
    lines = {method: suite.line(method, split) for method in suite.methods}
    best, where = lines[suite.methods[0]], f"{SPLITS[split]}, {TRUTHS[suite.truth]}"
    if not best.compared:
        return f"No method answered {MOST:.0%} of the cases ({where})."
    trivial = [name for name in BASELINES if name in lines and name != best.method]
    beside = "".join(f"; {name} has {error_text(lines[name].iqm.value)}" for name in trivial)
    value, low, high = map(error_text, best.iqm)
    compared = sum(line.compared for line in lines.values())
    return (
        f"{best.method} has the lowest error of the {compared} methods that answered at least {MOST:.0%} of the cases: "
        f"{value} [{low}, {high}] of the range of true values{beside} ({where})."
    )
