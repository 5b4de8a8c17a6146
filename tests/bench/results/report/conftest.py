"""A small study: its report, its page in a browser, and its charts by slug."""

import re

import pytest

from ropeval.bench.results.curve_bands import gather
from ropeval.bench.results.report import write_report
from ropeval.bench.results.report.charts import all_charts
from ropeval.bench.results.report.training import training_charts
from ropeval.bench.results.rows import BASELINES, load_curves, load_rows
from ropeval.bench.results.summary import summarise
from ropeval.bench.run.study import read_study
from ropeval.report.palette import Palette
from tests.bench.results.suites import REFUSAL, suite_rows
from tests.bench.studies import small_study, write_study
from tests.report.conftest import browser, open_page

__all__ = ["browser", "open_page"]  # fixtures of this folder, too
WORDS = ["md", "tex", "csv", "html"]


def charts_of(folder):
    summary = summarise(load_rows(folder), read_study(folder))
    palette = Palette(summary.methods, BASELINES)
    made = [
        *all_charts(summary, palette),
        *training_charts(summary, gather(load_curves(folder), load_rows(folder)), palette),
    ]
    return {chart.slug: chart for chart in made}


@pytest.fixture(scope="module")
def charts(tmp_path_factory):
    return charts_of(small_study(tmp_path_factory.mktemp("study")))


def series(chart, group, panel=0, kind=None):
    return next(s for s in chart.panels[panel].series if s.group == group and kind in (None, s.kind))


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """Its report in words, as a folder."""
    folder = small_study(tmp_path_factory.mktemp("study"))
    write_report(folder, folder / "report", WORDS)
    return folder / "report"


def words(folder):
    """What the report of a study says."""
    write_report(folder, folder / "report", ["md", "tex", "html"])
    return (folder / "report" / "report.md").read_text(encoding="utf-8")


def reported(folder, rows, formats=WORDS, **study):
    made = write_study(folder / "study", rows, failures={"far-d": REFUSAL}, seeds=1, resample=True, **study)
    write_report(made, folder / "report", formats)
    return folder / "report"


@pytest.fixture(scope="session")
def suite_report(tmp_path_factory):
    return reported(tmp_path_factory.mktemp("suite"), suite_rows())


def section(report, title):
    text = (report / "report.md").read_text(encoding="utf-8")
    (found,) = [part for part in re.split(r"^## ", text, flags=re.MULTILINE) if part.startswith(f"{title}\n")]
    return found
