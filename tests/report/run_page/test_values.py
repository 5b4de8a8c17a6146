"""The picture of all estimates, as data."""

from ropeval.report.run_page import Outcome
from ropeval.report.run_page.values import values_chart
from tests.report.outcomes import estimate, estimates


def test_a_panel_per_policy_a_row_per_method_and_the_truth_across():
    chart = values_chart(Outcome(estimates(), truth={"left": 9.0}))
    assert [panel.title for panel in chart.panels] == ["left", "right"]
    assert chart.y_names == ["mean-reward", "fqe", "rope+fqe"]
    fqe = chart.panels[0].series[1]
    assert (fqe.x[0], fqe.low[0], fqe.high[0], fqe.y[0]) == (10.0, 9.0, 12.0, 1.0)
    assert fqe.words == ["left, fqe: 10 (95% interval 9 … 12)"]
    assert [(mark.value, mark.axis) for mark in chart.panels[0].marks] == [(9.0, "x")]
    assert chart.panels[1].marks == []
    assert [entry.group for entry in chart.legend] == ["mean-reward", "fqe", "rope+fqe", "true value"]
    assert [(entry.style.dash, entry.marker) for entry in chart.legend[:3]] == [("solid", True)] * 3  # as bars are


def test_what_diverged_is_said_and_not_drawn():
    chart = values_chart(Outcome([estimate("left", "fqe", None), estimate("left", "lspe", 2.0)]))
    assert [series.group for series in chart.panels[0].series] == ["lspe"]
    assert chart.panels[0].series[0].y[0] == 1.0  # below the row of the one that diverged
    assert "Without an estimate, and therefore not drawn: left by fqe." in chart.caption
    assert [cell.text for cell in chart.table.cells()[0]] == ["left", "fqe", "diverged", *["–"] * 4]


def test_who_is_hidden_is_named():
    outcome = Outcome([estimate("p", m, v) for m, v in (("fqe", 1.0), ("lspe", 4.0), ("is", 1e6))])
    assert "Hidden at first, since its scale would flatten the rest: is." in values_chart(outcome).caption


def test_the_description_names_all_while_they_are_few():
    assert "left: mean-reward 5; fqe 10 (95% interval 9 … 12)" in values_chart(Outcome(estimates())).alt
    many = values_chart(Outcome(estimates(tuple(f"p{i}" for i in range(9))))).alt
    assert "fqe: from -1 for p7 to 10 for p0." in many
    assert many.endswith("The table below holds all of them.")
