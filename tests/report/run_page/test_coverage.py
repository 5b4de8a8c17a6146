"""Coverage as charts: the log's own curve beside the policies', and a map for each."""

import numpy as np
import pytest

from ropeval.report.run_page import Outcome, read_outcome
from ropeval.report.run_page.coverage import MOST_POLICIES, distance_chart, map_chart
from tests.report.outcomes import estimates, folder


@pytest.fixture
def outcome(tmp_path) -> Outcome:
    return read_outcome(folder(tmp_path))


def test_shares_of_pairs_by_distance(outcome):
    chart = distance_chart(outcome)
    log, left, right = chart.panels[0].series
    assert (log.group, left.group, left.label) == ("the log itself", "policy left", "left")
    np.testing.assert_array_equal(log.x, [0.1, 0.2, 0.4])
    np.testing.assert_array_equal(right.x, [1.1, 1.3, 1.9])
    np.testing.assert_array_equal(right.y, [0.05, 0.5, 0.95])
    assert chart.x_range == pytest.approx((0.0, 1.15 * 1.9))
    assert [cell.text for cell in chart.table.cells()[1]] == ["left", "0.25", "0.1", "0.3", "0.9"]


def test_a_map_for_each_policy_with_the_log_behind_it(outcome):
    chart = map_chart(outcome)
    assert [panel.title for panel in chart.panels] == ["left: 25% outside", "right: 25% outside"]
    logged, own = chart.panels[1].series
    assert (logged.kind, own.kind) == ("cloud", "dots")
    assert own.x.tolist() == [point[0] for point in outcome.coverage[1].policy_points]
    assert (chart.x_label, chart.y_label) == ("axis 1 (60%)", "axis 2 (30%)")


def test_maps_of_many_policies_and_of_none(tmp_path):
    many = read_outcome(folder(tmp_path, tuple(f"p{i}" for i in range(MOST_POLICIES + 3))))
    assert len(map_chart(many).panels) == MOST_POLICIES
    assert map_chart(Outcome(estimates())) is None
