"""The section that shows single episodes: of made-up results."""

from dataclasses import replace

import numpy as np

from ropeval.report.html import Section
from ropeval.report.run_page import Outcome, run_page
from ropeval.report.run_page.legend import policy_legend
from ropeval.report.run_page.may_happen import (
    add_may_happen,
    paths_chart,
    replay_chart,
    returns_chart,
    starts_chart,
    survival_chart,
    what_it_is,
)
from tests.report.outcomes import estimate, simulated

FOUND = [simulated("left"), simulated("right", 4.0)]
LEGEND = policy_legend(["left", "right"])


def test_every_picture_is_there():
    section = Section("What may happen")
    add_may_happen(section, Outcome(FOUND))
    charts = [block for block in section.blocks if not isinstance(block, str)]
    assert [chart.slug for chart in charts] == ["returns", "survival", "starts", "paths", "replays"]
    assert all(chart.drawn for chart in charts)
    assert "What may happen" in run_page(Outcome(FOUND)).html()


def test_without_rollouts_there_is_no_section():
    assert "What may happen" not in run_page(Outcome([estimate("left", "fqe", 1.0)])).html()


def test_it_says_whose_episodes_these_are_and_what_is_the_logs_own():
    words = what_it_is(FOUND)
    assert "not the world's" in words
    assert "left 2%, right 2%" in words
    assert "draws none" in words
    extras = FOUND[0].extras | {"stochastic": True, "noisy_rewards": True, "fallback": 0.0}
    noisy = what_it_is([replace(FOUND[0], extras=extras)])
    assert "draws the noise" in noisy
    assert "drawn from it" in noisy
    assert "log's own value" not in noisy


def test_the_threshold_is_a_line():
    asked, not_asked = returns_chart(FOUND, LEGEND), returns_chart([simulated("left", below=None)], LEGEND)
    assert [series.group for series in asked.panels[0].series] == ["policy left", "policy right", "threshold"]
    np.testing.assert_array_equal(asked.panels[0].series[-1].x, [-2.0, -2.0])
    assert [series.group for series in not_asked.panels[0].series] == ["policy left"]


def test_pictures_end_where_nobody_is_left():
    chart = survival_chart(FOUND, LEGEND)
    assert chart is not None
    assert chart.x_range == (0.0, 5.0)
    endless = replace(FOUND[0], extras=FOUND[0].extras | {"survival": None})
    assert survival_chart([endless], LEGEND) is None


def test_the_logs_band_lies_below_the_policies():
    chart = paths_chart(FOUND, LEGEND)
    assert chart is not None
    log, left = chart.panels[0].series[:2]
    assert log.group == "the log itself"
    assert np.isnan(log.y[-1])
    assert left.low is not None
    assert chart.x_range == (0.0, 20.0)
    many = [simulated(name) for name in "abcd"]
    crowded = paths_chart(many, policy_legend([*"abcd"]))
    assert crowded is not None
    assert [series.low is None for series in crowded.panels[0].series] == [False, True, True, True, True]


def test_one_first_state_is_no_picture():
    alone = replace(FOUND[0], extras=FOUND[0].extras | {"by_start": FOUND[0].extras["by_start"] | {"states": 1}})
    assert starts_chart([alone], LEGEND) is None
    chart = starts_chart(FOUND, LEGEND)
    assert chart is not None
    assert [panel.title for panel in chart.panels] == ["left: by age", "right: by age"]


def test_replays_are_told_per_step():
    chart = replay_chart(FOUND)
    assert chart is not None
    log, simulator = chart.panels[0].series
    np.testing.assert_allclose(log.y, [1.0, 1.0])
    np.testing.assert_allclose(simulator.y, [1.1, 1.1])
    assert "had not seen" in chart.caption
    assert "open loop" in chart.caption
    assert replay_chart([]) is None
