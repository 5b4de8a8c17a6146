"""Write the tables and pictures of docs/results/suite.md, from the rows in benchmarks/suite; the words stay.

    python -m benchmarks.suite_page
    python -m benchmarks.suite_page --study STUDY [STUDY…] --page PAGE.md

Reads rows and trains nothing; run it from the repository's root. `ropeval bench report benchmarks/suite/*` has all
tables, case by case.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.program import run

from ropeval.bench.results.report.suite_page import verdict
from ropeval.bench.results.report.write import Report, make_report
from ropeval.bench.results.together import load_results
from ropeval.errors import UserError
from ropeval.files import write_text
from ropeval.report.draw_paper import draw
from ropeval.report.escape import markdown
from ropeval.report.table import Table
from ropeval.report.typeset import to_markdown

ROOT = Path(__file__).resolve().parents[1]
ROWS, PAGE = ROOT / "benchmarks" / "suite", ROOT / "docs" / "results" / "suite.md"
BEGIN, END = "<!-- from here on: python -m benchmarks.suite_page -->", "<!-- to here -->"
TABLES = (
    "suite-glance", "suite-accuracy-test", "suite-ranking-test", "suite-answers-test", "suite-families-test",
    "suite-accuracy-dev", "suite-families-dev", "suite-logs-test", "refused",
)  # fmt: skip
PICTURES = {"suite-glance": "suite-seconds", "suite-families-test": "suite-errors-test"}  # below which table
PICTURES |= {"suite-accuracy-test": "suite-profile-test"}
NOTHING = "No rows are committed yet."


def studies(folder: Path) -> list[Path]:
    """The parts of the suite, wherever they were run: `folder` itself, or those below it."""
    return sorted(path.parent for path in [*folder.glob("study.json"), *folder.glob("*/study.json")])


def read(folders: Sequence[Path]) -> Report:
    results = load_results(folders)
    protocols = sorted(results.rows["protocol"].unique())
    if len(protocols) > 1:
        raise UserError(f"{', '.join(map(str, folders))}: rows of {' and '.join(protocols)}; the page is about one")
    report = make_report(results, None, protocols[0], lambda words, fraction: None)
    if report.suite is None:
        raise UserError(f"{', '.join(map(str, folders))}: no task with several policies, each of another value")
    return report


def tables(report: Report, pictures: str) -> str:
    """`pictures`: the folder of the figures, as the page calls it."""
    assert report.suite is not None
    facts = "\n".join(f"- {markdown(fact.sentence)}" for fact in report.facts)
    parts = [f"**{markdown(verdict(report.suite))}**", facts, markdown(report.source)]
    by_slug: dict[str, Table] = {table.slug: table for table in [*report.tables, *report.missing]}
    charts = {chart.slug: chart for chart in report.charts}
    for slug in (slug for slug in TABLES if slug in by_slug):
        parts.append(to_markdown(replace(by_slug[slug], source=""), level=3).strip())
        if chart := charts.get(PICTURES.get(slug, "")):
            parts.append(f"![{markdown(chart.title)}]({pictures}/{chart.slug}.png)")
    return "\n\n".join(parts)


def filled(page: str, words: str, begin: str = BEGIN, end: str = END) -> str:
    """The page with `words` between its two marks."""
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise UserError(f"the page must hold these two lines, once each and in this order: {begin} and {end}")
    return f"{page[: page.index(begin)]}{begin}\n\n{words}\n\n{page[page.index(end) :]}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--study", type=Path, nargs="+", default=studies(ROWS))
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args(arguments)
    page, folder = options.page, options.page.with_suffix("")
    words, report = NOTHING, read(options.study) if options.study else None
    if report is not None:
        words = tables(report, folder.name)
        wanted = [chart for chart in report.charts if chart.slug in PICTURES.values()]
        drawn = [path for chart in wanted for path in draw(chart, folder, ["png"], report.source)]
        print("\n".join(map(str, drawn)))
    write_text(page, filled(page.read_text(encoding="utf-8"), words))
    print(page)


if __name__ == "__main__":
    run(main)
