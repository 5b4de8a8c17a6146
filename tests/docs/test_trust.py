"""docs/trust.md: every finding is explained there, and fires and keeps silent as the page says."""

import importlib.util
import re
from pathlib import Path

import pytest

from ropeval.evaluation.diagnosis import diagnose

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")


def load():
    spec = importlib.util.spec_from_file_location("trust_cases", ROOT / "scripts" / "trust_cases.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CASES = load()
CODES = re.findall(r"^([a-z-]+)  +\S", diagnose.__doc__, re.MULTILINE)[1:]  # below the line with the headings


def test_every_finding_has_a_case_and_a_place():
    assert len(CODES) >= 12
    assert set(CODES) == set(CASES.CASES)
    assert re.findall(r"^### `([a-z-]+)`", PAGE, re.MULTILINE) == list(CASES.CASES)


@pytest.mark.parametrize("code", CASES.CASES)
def test_it_fires_and_keeps_silent(code):
    """`told` refuses a case that does not. Numbers may differ in the last digits from one machine to another."""
    made = CASES.told(code, CASES.CASES[code]())
    kept = re.search(rf"<!-- case {code} -->\n(.*?)<!-- end -->", PAGE, re.DOTALL)[1]
    assert _words(made) == _words(kept)


@pytest.mark.parametrize("name", CASES.NUMBERS)
def test_tables_have_the_same_rows(name):
    made = CASES.NUMBERS[name]()
    kept = re.search(rf"<!-- case {name} -->\n(.*?)<!-- end -->", PAGE, re.DOTALL)[1]
    assert _words(made) == _words(kept)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]{2,}", text)
