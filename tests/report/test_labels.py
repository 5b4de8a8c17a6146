"""Numbers and names, shortened."""

import pytest

from ropeval.report.labels import counted, log_ticks, number, short_number, shown, slugs


def test_four_digits_without_needless_exponents():
    assert [number(v) for v in (12345.678, 0.123456, -3.0, 1e12)] == ["12,346", "0.1235", "-3", "1e+12"]


def test_file_names_are_safe_and_different():
    assert slugs(["a/b", "a b", "../..", "", "Ü"]) == {
        "a/b": "a-b",
        "a b": "a-b-2",
        "../..": "unnamed",
        "": "unnamed-2",
        "Ü": "unnamed-3",
    }


@pytest.mark.parametrize(
    ("limits", "ticks"), [((0.01, 10), [0.01, 0.1, 1, 10]), ((0.2, 0.9), [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])]
)
def test_logarithmic_ticks(limits, ticks):
    found = log_ticks(*limits)
    assert 3 <= len(found) <= 7
    assert all(any(abs(f - t) < 1e-9 for t in ticks) for f in found)


def test_numbers_are_short():
    texts = [short_number(v) for v in (300_000, 1e6, 0.05, -2.5, 0, 1e-6, 5e12)]
    assert texts == ["300K", "1M", "0.05", "−2.5", "0", "1e-6", "5e12"]


def test_names_are_shown_in_one_line():
    assert shown("a\nb\u202ec") == "a b c"
    assert len(shown("x" * 100)) == 34


def test_one_thing_and_several():
    assert [counted(n, "log") for n in (0, 1, 2)] == ["0 logs", "1 log", "2 logs"]
