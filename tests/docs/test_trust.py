"""The cases of docs/guide: every finding is explained, and fires, keeps silent and counts as the pages say."""

import importlib.util
import re
from pathlib import Path

import pytest

from ropeval.evaluation.diagnosis import diagnose

ROOT = Path(__file__).resolve().parents[2]


def load():
    spec = importlib.util.spec_from_file_location("trust_cases", ROOT / "scripts" / "trust_cases.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CASES = load()
CODES = re.findall(r"^([a-z-]+)  +\S", diagnose.__doc__, re.MULTILINE)[1:]  # below the line with the headings
# What is trained ends elsewhere on a machine that rounds elsewhere. The rest is the same to the last printed digit.
TRAINED = {
    "divergence", "support", "replay", "collapse", "too-short", "not-converged", "bellman-residual", "disagreement",
}  # fmt: skip
NUMBER = r"-?\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?"
ESTIMATE = re.compile(rf"estimate ({NUMBER}) \(({NUMBER}) … ({NUMBER})\)")


def test_every_finding_has_a_case_and_a_place():
    page = (ROOT / "docs" / "guide" / "trust.md").read_text(encoding="utf-8")
    assert len(CODES) >= 12
    assert set(CODES) == set(CASES.CASES)
    assert re.findall(r"^### `([a-z-]+)`", page, re.MULTILINE) == list(CASES.CASES)


@pytest.mark.parametrize("name", [*CASES.NUMBERS, *CASES.CASES])
@pytest.mark.training
def test_the_page_says_what_is_computed(name):
    """`block` refuses a case that does not fire, or that does not keep silent."""
    assert differences(CASES.block(name), CASES.kept(name), name in TRAINED) == []


def test_stale_pages_are_noticed():
    """The comparison itself: words, counts, estimates and the numbers of a message."""
    kept = "- Fires: fqe, 40 episodes; estimate 5 (4 … 6).\n  > **severe**: rank 1.9 in 4 of 4 members."
    assert differences(kept, kept, trained=False) == []
    stale = [("fqe", "lspe"), ("40", "41"), ("4 of", "3 of"), ("1.9", "2.2"), ("5 (", "5.4 ("), ("… 6", "… 7.1")]
    assert all(differences(kept.replace(*change), kept, trained=True) for change in stale)
    elsewhere = [("5 (", "5.1 ("), ("… 6", "… 6.5"), ("1.9", "1.8")]
    assert not any(differences(kept.replace(*change), kept, trained=True) for change in elsewhere)
    assert differences(kept.replace("5 (4", "5.01 (4"), kept, trained=False)


def differences(made: str, kept: str, trained: bool) -> list[str]:
    """What the page has otherwise than it was computed: words, or numbers beyond their tolerance.

    Trained: an estimate may move by a fifth of half its interval's width, an end by that half (there are four
    members), the numbers of a message by 5 %. Everywhere: by one in the last printed digit; counts by nothing.
    """
    words = [re.sub(NUMBER, "#", text) for text in (made, kept)]
    if words[0] != words[1]:
        return [f"{words[0]!r} instead of {words[1]!r}"]
    found = []
    if trained:
        for ours, theirs in zip(ESTIMATE.findall(made), ESTIMATE.findall(kept), strict=True):
            half = (_value(theirs[2]) - _value(theirs[1])) / 2
            found += [
                f"estimate {a}, the page has {b}"
                for a, b, share in zip(ours, theirs, (0.2, 1.0, 1.0), strict=True)
                if abs(_value(a) - _value(b)) > share * half + 1e-3 * abs(_value(b))
            ]
        made, kept = ESTIMATE.sub("", made), ESTIMATE.sub("", kept)
    for a, b in zip(re.findall(NUMBER, made), re.findall(NUMBER, kept), strict=True):
        whole = re.fullmatch(r"[\d,]+", b)
        allowed = 0.0 if whole else _last_digit(b) + 0.05 * trained * abs(_value(b))
        if abs(_value(a) - _value(b)) > allowed * (1 + 1e-9):
            found.append(f"{a}, the page has {b}")
    return found


def _value(text: str) -> float:
    return float(text.replace(",", ""))


def _last_digit(text: str) -> float:
    mantissa, _, exponent = text.partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
