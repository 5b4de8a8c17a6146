"""docs/results/suite.md holds what the committed rows give, and is made again by its command."""

import json

import pytest
from benchmarks import suite_medians, suite_page

from ropeval.errors import UserError
from tests.bench.results.suites import REFUSAL, suite_rows
from tests.bench.studies import runs, write_study


def test_the_page_is_what_the_rows_give():
    folders, page = suite_page.studies(suite_page.ROWS), suite_page.PAGE.read_text(encoding="utf-8")
    report = suite_page.read(folders)
    words = suite_page.tables(report, suite_page.PAGE.stem)
    assert suite_page.filled(page, words) == page, "run python -m benchmarks.suite_page"
    kept = json.loads(suite_medians.KEPT.read_text(encoding="utf-8"))["methods"]
    assert suite_medians.medians(report.suite) == kept, "run python -m benchmarks.suite_medians"


@pytest.fixture
def study(tmp_path):
    return write_study(tmp_path / "study", suite_rows(), failures={"d": REFUSAL}, seeds=1, resample=True)


def test_the_command_fills_the_page_and_leaves_its_words(study, tmp_path):
    page = tmp_path / "suite.md"
    page.write_text(f"# Before\n\n{suite_page.BEGIN}\nof yesterday\n{suite_page.END}\n\nAfter.\n", encoding="utf-8")
    suite_page.main(["--study", str(study), "--page", str(page)])
    first = page.read_text(encoding="utf-8")
    assert first.startswith("# Before\n")
    assert first.endswith(f"{suite_page.END}\n\nAfter.\n")
    assert "of yesterday" not in first
    assert "**near has the lowest error of the 3 methods" in first
    assert "### Accuracy, test split" in first
    assert "### What was refused" in first
    for name in ("suite-seconds", "suite-errors-test", "suite-profile-test"):
        assert f"(suite/{name}.png)" in first
        assert (tmp_path / "suite" / f"{name}.png").stat().st_size > 0
    suite_page.main(["--study", str(study), "--page", str(page)])
    assert page.read_text(encoding="utf-8") == first


def test_parts_are_found_below_the_folder(study):
    assert suite_page.studies(study.parent) == [study]
    assert suite_page.studies(study) == [study]
    assert suite_page.studies(study / "nowhere") == []


def test_what_is_no_suite_and_a_page_without_marks_are_refused(tmp_path):
    lone = write_study(tmp_path / "lone", runs("t", "fqe", [110.0]))
    with pytest.raises(UserError, match="no task with several policies"):
        suite_page.read([lone])
    both = write_study(tmp_path / "both", suite_rows() + [r | {"protocol": "paper"} for r in suite_rows()])
    with pytest.raises(UserError, match="rows of paper and standard"):
        suite_page.read([both])
    with pytest.raises(UserError, match="must hold these two lines"):
        suite_page.filled("# A page", "words")
