"""The numbers behind `ropeval methods`; that those kept are the committed rows', `test_suite_page.py` says."""

import pytest
from benchmarks import suite_medians, suite_page

from tests.bench.results.suites import REFUSAL, suite_rows
from tests.bench.studies import write_study


def test_medians_of_a_small_study(tmp_path):
    study = write_study(tmp_path / "study", suite_rows(), failures={"d": REFUSAL}, seeds=1, resample=True)
    suite = suite_page.read([study]).suite
    found = suite_medians.medians(suite)
    assert list(found) == sorted(found)
    errors = suite.part("test", "near").filter(outcome="answered")["error"]
    assert found["near"]["error"] == pytest.approx(errors.median(), rel=1e-2)
