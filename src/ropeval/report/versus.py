"""A policy against what the log earned, in a cell and in a sentence."""

from ropeval.evaluation.result import Estimate, Versus
from ropeval.report.labels import number
from ropeval.report.table import Cell

MOST_SHARE = 10.0  # of what the log earned, beyond which a percentage says less than the number
HEADING = "over the\nlog"


def versus_cell(estimate: Estimate) -> Cell:
    """`+12% p 0.97`, and the interval below."""
    found = estimate.versus_log
    if found is None:
        return Cell("")
    chance = "" if found.better is None else f" p {found.better:.2f}"
    return Cell(f"{gain(found)}{chance}", below=_ends(found, "…"))


def versus_sentence(found: Versus) -> str:
    """For the answer: how much more than the log, and how sure that is."""
    amount, log = gain(found), number(found.log_value)
    more = f"{amount} over" if found.difference >= 0.0 else f"{amount.lstrip('−')} below"
    words = f"{more} what the log earned ({log}"
    if found.low is not None and found.level is not None:
        words += f"; {found.level:.0%} interval {_ends(found, ' to ')}"
    if found.better is not None:
        words += f", probability of being better {_chance(found.better)}"
    return f"{words})"


def gain(found: Versus) -> str:
    """The difference, as a percentage where that is one of something."""
    return _amount(found, found.difference)


def _ends(found: Versus, between: str) -> str:
    if found.low is None or found.high is None:
        return ""
    return f"{_amount(found, found.low)}{between}{_amount(found, found.high)}"


def _amount(found: Versus, value: float) -> str:
    if found.share is not None and abs(found.share) <= MOST_SHARE:
        return f"{100.0 * value / found.log_value:+.3g}%".replace("-", "−")
    return f"{'+' if value >= 0 else '−'}{number(abs(value))}"


def _chance(probability: float) -> str:
    if 0.005 <= probability <= 0.995:
        return f"{probability:.2f}"
    return "above 0.99" if probability > 0.5 else "below 0.01"
