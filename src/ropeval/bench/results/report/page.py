"""The study as one page that needs nothing else: the same tables, and the same figures to point at and zoom into."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ropeval.bench.results.rows import TRUTHS
from ropeval.report.chart import Chart
from ropeval.report.html import Note, Page, Section
from ropeval.report.table import Table, Value

if TYPE_CHECKING:
    from ropeval.bench.results.report.write import Report


LEAD = (
    "How far the estimates are from the truth, for every method, task and setting, and against both definitions of the "
    "truth."
)


def begun(report: "Report", lead: str, *counts: str) -> tuple[Page, Section]:
    """A page and its first section, which says what everybody must know."""
    page = Page(report.title, lead, [*counts, f"protocol {report.protocol}"], report.source, wide=True)
    first = page.section("At a glance")
    for fact in report.facts:
        first.note(Note(*fact))
    return page, first


def as_page(report: "Report") -> Page:
    page, first = begun(report, LEAD, f"{len(report.summary.rows)} runs", f"{len(report.summary.tasks)} tasks")
    charts = {chart.slug: chart for chart in report.charts}
    tables = {table.slug: table for table in report.tables}
    show_tables(first, [tables["overall"]])
    section = page.section("The two true values", "Which method looks good depends on what it is compared with.")
    show_figures(section, [charts.get("two-truths"), charts.get("estimates")], report)
    show_tables(section, [tables["both-truths"], tables["true-values"]])
    for truth, name in TRUTHS.items():
        slug = truth.replace("_", "-")
        section = page.section(f"Errors against the {name}")
        show_tables(section, [tables[f"overview-{slug}"]])
        show_figures(section, [c for s, c in charts.items() if s.startswith("errors-") and f"-{slug}-" in s], report)
        show_figures(section, [charts.get(f"profiles-{slug}")], report)
        show_figures(
            section, [c for s, c in charts.items() if s.startswith("sensitivity-") and s.endswith(slug)], report
        )
        show_tables(section, [tables[f"scores-{slug}"]])
    training = [c for s, c in charts.items() if s.startswith(("loss-", "feature-"))]
    if training:
        show_figures(page.section("Training", "Losses, and what became of the features."), training, report)
    if report.missing:
        show_tables(page.section("What is missing"), report.missing)
    return page


def show_figures(section: Section, charts: "Sequence[Chart | None]", report: "Report") -> None:
    for chart in charts:
        if chart is not None:
            caption = f"{chart.caption} {report.source}"
            section.heading(chart.title).chart(replace(chart, caption=caption, table=_ends(chart)))


def show_tables(section: Section, tables: Sequence[Table]) -> None:
    """Numbers stay in one line; reasons, the last column of what is missing, are sentences and may break."""
    for table in tables:
        section.table(table, whole=table.left != len(table.columns))


def _ends(chart: Chart) -> Table:
    """Where every line ends and every point lies: panels down, series across."""
    drawn = [[*(s.group for s in panel.series), *(m.group for m in panel.marks)] for panel in chart.panels]
    groups = list(dict.fromkeys(group for panel in drawn for group in panel))
    rows: list[list[Value]] = []
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
    caption = f"{chart.title}: {last}. All points are in the CSV of the same name."
    return Table(["panel", *groups], rows, caption=caption)
