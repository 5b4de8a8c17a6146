"""The study as one page that needs nothing else: the same tables, and the same figures to point at and zoom into."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ropeval.bench.results.rows import TRUTHS
from ropeval.report.charts import Chart, shown
from ropeval.report.html import Note, Page, Section
from ropeval.report.html import Table as PageTable
from ropeval.report.html.chart import to_figure
from ropeval.report.typeset import Table

if TYPE_CHECKING:
    from ropeval.bench.results.report.write import Report


def as_page(report: "Report") -> Page:
    page = Page(
        report.title,
        lead="How far the estimates are from the truth, for every method, task and setting, and against both "
        "definitions of the truth.",
        details=[
            f"{len(report.summary.rows)} runs",
            f"{len(report.summary.tasks)} tasks",
            f"protocol {report.protocol}",
        ],
        footer=report.source,
    )
    charts = {chart.slug: chart for chart in report.charts}
    tables = {table.slug: table for table in report.tables}
    first = page.section("At a glance")
    for fact in report.facts:
        first.note(Note(*fact))
    first.table(_table(tables["overall"]))
    _figures(page.section("The two true values", "Which method looks good depends on what it is compared with."), [
        charts.get("two-truths"), charts.get("estimates")], report).table(_table(tables["both-truths"])).table(
        _table(tables["true-values"]))  # fmt: skip
    for truth, name in TRUTHS.items():
        slug = truth.replace("_", "-")
        section = page.section(f"Errors against the {name}").table(_table(tables[f"overview-{slug}"]))
        _figures(section, [c for s, c in charts.items() if s.startswith("errors-") and f"-{slug}-" in s], report)
        _figures(section, [charts.get(f"profiles-{slug}")], report)
        _figures(section, [c for s, c in charts.items() if s.startswith("sensitivity-") and s.endswith(slug)], report)
        section.table(_table(tables[f"scores-{slug}"]))
    training = [c for s, c in charts.items() if s.startswith(("loss-", "feature-"))]
    if training:
        _figures(page.section("Training", "Losses, and what became of the features."), training, report)
    if report.missing:
        section = page.section("What is missing")
        for table in report.missing:
            section.table(_table(table))
    return page


def _figures(section: Section, charts: "Sequence[Chart | None]", report: "Report") -> Section:
    for chart in charts:
        if chart is not None:
            section.heading(chart.title).figure(to_figure(chart, _ends(chart), report.source))
    return section


def _table(table: Table) -> PageTable:
    """Numbers stay in one line; reasons, the last column of what is missing, are sentences and may break."""
    words = table.left == len(table.columns)
    rows = [[c.text if words else shown(c.text, 60) + (" ★" if c.bold else "") for c in row] for row in table.cells()]
    caption = f"{table.title}. {table.caption.replace('bold', 'starred')} {table.source}"
    return PageTable([shown(c, 40) for c in table.columns], rows, caption, whole=not words)


def _ends(chart: Chart) -> PageTable:
    """Where every line ends and every point lies: panels down, series across."""
    drawn = [[*(s.group for s in panel.series), *(m.group for m in panel.marks)] for panel in chart.panels]
    groups = list(dict.fromkeys(group for panel in drawn for group in panel))
    rows: list[list[str | float | None]] = []
    for panel in chart.panels:
        ends: dict[str, float | str] = {}
        for mark in panel.marks:
            ends[mark.group] = mark.value if np.isfinite(mark.value) else "diverged"
        for series in panel.series:
            if series.kind != "faint" and len(series.y):
                value = float(series.x[-1] if chart.y_names is not None else series.y[-1])
                ends[series.group] = value if np.isfinite(value) else "diverged"
        rows.append([panel.title, *(ends.get(group) for group in groups)])
    last = "the last point of each series" if chart.y_names is None else "one point of each series"
    return PageTable(["panel", *groups], rows, f"{chart.title}: {last}. All points are in the CSV of the same name.")
