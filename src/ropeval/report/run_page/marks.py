"""The same colour, sign and switch for the same thing in every picture."""

import math
from collections.abc import Sequence

from ropeval.evaluation.result import Estimate
from ropeval.report.html import Series
from ropeval.report.html.blocks import SYMBOLS
from ropeval.report.run_page.outcome import BASELINES, Outcome

GREY = 7
COLOURS = tuple(c for c in range(1, 9) if c != GREY)
LEARNED = [s for s in SYMBOLS if s not in ("x", "cross", "line-ns")]  # the baselines' and the truth's
DASHES = ("solid", "dash", "dot", "dashdot")
FLATTENS = 8.0  # a method that stretches the picture so many times is hidden at first
LONGEST = 44  # characters of a name inside a picture
TRUTH = Series("true value", 0, "line-ns", "truth")


def method_group(method: str) -> str:
    return f"method {method}"  # a policy may have the same name


def policy_group(policy: str) -> str:
    return f"policy {policy}"


def method_series(outcome: Outcome) -> dict[str, Series]:
    """One entry per method; the trivial ones in grey."""
    looks, learned, trivial = {}, 0, 0
    hidden = flattening(outcome)
    for method in outcome.methods:
        if method in BASELINES:
            colour, symbol, trivial = GREY, ("x", "cross")[trivial % 2], trivial + 1
        else:
            colour, symbol = COLOURS[learned % len(COLOURS)], LEARNED[learned % len(LEARNED)]
            learned += 1
        looks[method] = Series(method, colour, symbol, method_group(method), method not in hidden)
    return looks


def policy_series(policies: Sequence[str]) -> dict[str, Series]:
    return {
        policy: Series(policy, COLOURS[i % len(COLOURS)], LEARNED[i % len(LEARNED)], policy_group(policy))
        for i, policy in enumerate(policies)
    }


def extent(estimate: Estimate) -> tuple[float, float] | None:
    """From where to where it is drawn."""
    if estimate.value is None:
        return None
    if estimate.interval is not None:
        return min(estimate.interval.low, estimate.value), max(estimate.interval.high, estimate.value)
    low, high = estimate.low, estimate.high
    return (estimate.value if low is None else low), (estimate.value if high is None else high)


def flattening(outcome: Outcome) -> set[str]:
    """Methods whose estimates lie so far out that all others would look alike beside them."""
    spans: dict[str, tuple[float, float]] = {}
    for estimate in outcome.estimates:
        ends = extent(estimate)
        if ends and all(map(math.isfinite, ends)):
            low, high = spans.get(estimate.method, ends)
            spans[estimate.method] = min(low, ends[0]), max(high, ends[1])
    hidden: set[str] = set()
    while len(spans) > 1:
        without = {m: _width([s for other, s in spans.items() if other != m]) for m in spans}
        furthest = min(without, key=lambda m: without[m])
        if without[furthest] <= 0 or _width(list(spans.values())) < FLATTENS * without[furthest]:
            break
        hidden.add(furthest)
        del spans[furthest]
    return hidden


def _width(spans: list[tuple[float, float]]) -> float:
    return max(high for _, high in spans) - min(low for low, _ in spans)


def short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
