"""`ropeval methods`: every method once, by family, with its needs, and with the suite's numbers where there are any."""

from ropeval.evaluation.methods import make_method, usual_methods
from ropeval.report.method_list import method_table, settings_table, suite_medians


def test_every_method_stands_below_its_family():
    rows = [[cell.text for cell in row] for row in method_table().cells()]
    assert [row[0].strip() for row in rows if row[0].startswith("  ")] == usual_methods()
    by_name = {row[0].strip(): row for row in rows}
    assert by_name["wis"][2].startswith("propensities, logged or fitted; a stochastic policy or discrete actions")
    assert by_name["critic+fqe"][2] == "the policy's critic"
    assert by_name["fqe"][2] == "–"
    families = [row[0] for row in rows if not row[0].startswith("  ")]
    assert len(families) == len(set(families))
    assert families[-1] == "representations"


def test_numbers_are_those_of_the_suite_and_a_dash_where_there_are_none(monkeypatch):
    monkeypatch.setattr(
        "ropeval.report.method_list.suite_medians", lambda: {"fqe": {"error": 0.1234, "seconds": 2.5, "logs": 7}}
    )
    by_name = {row[0].text.strip(): [cell.text for cell in row[3:]] for row in method_table().cells()}
    assert by_name["fqe"] == ["12.3 %", "2.5", "7"]
    assert by_name["lspe"] == ["–", "–", "–"]


def test_the_kept_numbers_are_of_known_methods():
    assert set(suite_medians()) <= set(usual_methods())


def test_settings_of_every_part():
    names = [row[0].text for row in settings_table(make_method("rope+fqe")).cells()]
    assert "rope.beta" in names
    assert "fqe.steps" in names
