"""The tables of a study: their numbers, worked out by hand, and what is said where there is none."""

import re

from ropeval.bench.results.report.tables import ACROSS
from tests.bench.results.report.conftest import words
from tests.bench.studies import runs, write_study


def test_the_baselines_stand_in_every_table_and_every_figure(small):
    text = (small / "report.md").read_text(encoding="utf-8")
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        if not section.startswith(("True values", "Figures")):
            assert "mean-reward" in section
            assert "mean-return" in section
    page = (small / "report.html").read_text(encoding="utf-8")
    for legend in re.findall(r'<fieldset class="legend">.*?</fieldset>', page):
        assert "mean-reward" in legend or "discounted return" in legend  # named on the axis instead


def test_the_table_has_the_numbers_worked_out_by_hand(small):
    text = (small / "report.md").read_text(encoding="utf-8")
    cells = [line for line in text.splitlines() if "rope+fqe" in line and "beta=0.1, dim=X/3" in line]
    assert len(cells) == 2  # one for each task, chosen with the discounted return
    assert re.search(r"\| 0\.315 .* \| 0\.170 .* \| 0\.025 .* \| 4 \| 16 \| 0 \|", cells[0])
    assert "| made/one | 0.100 | 0.400 | **0.025** | 0.315 · 0.025† |" in text
    assert "| made/one | 0.600 | 0.900 | 0.475 | **0.185 · 0.185†** |" in text
    assert "| fqe | **0.025 \\[0.015, 0.035\\]** | 2 | 2 of 2 | – |" in text
    assert "chosen with the true value, which nobody has in practice" in text


def test_more_methods_than_fit_a_page_stand_below_each_other(tmp_path):
    names = ["mean-reward", "mean-return", *(f"fqe-{n}" for n in range(ACROSS))]
    rows = [row for task in ("one", "two") for name in names for row in runs(task, name, [90.0])]
    text = words(write_study(tmp_path / "study", rows))
    assert "| method | one | two |" in text
    assert "| task | mean-reward |" not in text


def test_divergence_missing_seeds_failures_and_one_task(tmp_path):
    rows = runs("only", "mean-reward", [90.0]) + runs("only", "mean-return", [60.0])
    rows += runs("only", "fqe", [None, None, 110.0, 120.0]) + runs("only", "fqe-clip", [110.0, 120.0, None])
    failure = {"task": "only", "method": "critic+fqe", "hyper": "{}", "error": "the policy has no critic"}
    folder = write_study(
        tmp_path / "study", rows, failures={"bad": failure}, methods=["fqe", "fqe-clip", "critic+fqe"], seeds=4
    )
    text = words(folder)
    assert re.search(r"\|  \| fqe \| Diverged \| .* \| 1 \| 4 \| 2 \|", text)
    assert "| only | fqe-clip | – | 3 of 4 | not run |" in text
    assert "| only | critic+fqe | all | 0 of 4 | the policy has no critic |" in text
    assert "5 runs of the study are missing" in text
    assert "3 runs diverged" in text
    assert "| bad | only | critic+fqe |" in text


def test_an_undefined_error_is_said_and_nothing_is_made_up(tmp_path):
    changes = {"truth_discounted": 0.0, "random_discounted": 0.0}
    rows = runs("zero", "mean-reward", [90.0], **changes) + runs("zero", "fqe", [1.0, 2.0], **changes)
    text = words(write_study(tmp_path / "study", rows))
    assert "zero: RMAE is undefined: π\\_e and the random policy are worth the same, 0" in text
    assert "| zero | – | – |" in text  # against the discounted return
    assert "nan" not in text.lower()
    assert "inf" not in text.replace("infinite", "")
    assert "mean-return was not run, so nothing shows what a trivial answer earns" in text


def test_a_task_with_several_policies_has_a_line_for_each(tmp_path):
    rows = [
        one
        for p in ("a", "b")
        for m in ("mean-reward", "mean-return", "fqe")
        for one in runs("t", m, [110.0], policy=p)
    ]
    text = words(write_study(tmp_path / "study", rows))
    assert "6 runs of 3 methods on 1 task (2 cases of task and policy)" in text
    assert re.findall(r"^\| (t · \w) \| \**0\.100", text, flags=re.MULTILINE) == ["t · a", "t · b"]
    assert "Nothing of the study is missing" in text
