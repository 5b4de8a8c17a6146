"""The charts of a study, by slug."""

import pytest

from ropeval.bench.results.curve_bands import gather
from ropeval.bench.results.report.charts import all_charts
from ropeval.bench.results.report.training import training_charts
from ropeval.bench.results.rows import BASELINES, load_curves, load_rows
from ropeval.bench.results.summary import summarise
from ropeval.bench.run.study import read_study
from ropeval.report.palette import Palette
from tests.bench.studies import small_study


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
