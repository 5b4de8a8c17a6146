"""The charts of a suite."""

import polars as pl
import pytest

from ropeval.bench.results.report.suite_charts import THRESHOLDS, suite_charts
from ropeval.bench.results.rows import BASELINES, ROWS, Failure
from ropeval.bench.results.suite_scores import score_suite
from ropeval.bench.results.summary import summarise
from ropeval.report.palette import Palette
from tests.bench.results.suites import LOGS, suite_rows


def test_the_profile_counts_what_never_arrives():
    told = Failure("u", LOGS[1], "far", "{}", "…", "d", refused=True)
    summary = summarise(pl.DataFrame(suite_rows(), schema=ROWS))
    suite = score_suite(summary, [told])
    charts = {c.slug: c for c in suite_charts(suite, Palette(summary.methods, BASELINES))}
    profile = charts["suite-profile-test"]
    assert [panel.title for panel in profile.panels] == ["all families", "bandit", "tabular"]
    (far,) = [series for series in profile.panels[0].series if series.group == "far"]
    assert far.y[-1] == pytest.approx(4 / 6)
    assert far.y[0] == pytest.approx(1 / 6)  # c of the first log is exact
    assert THRESHOLDS[0] < 0.05
    seconds = charts["suite-seconds"]
    (near,) = [series for series in seconds.panels[0].series if series.group == "near"]
    assert (near.x[0], near.y[0]) == (9.0, pytest.approx(0.075))
