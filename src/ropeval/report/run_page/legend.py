"""The same colour, sign and switch for the same method or policy in every picture; what is switched off at first."""

import math
from collections.abc import Sequence

from ropeval.evaluation.result import Estimate
from ropeval.report.chart import Entry
from ropeval.report.palette import GREY, INK, Palette, Style
from ropeval.report.run_page.headline import headline_method
from ropeval.report.run_page.outcome import BASELINES, Outcome

FLATTENS = 8.0  # a method that stretches the picture so many times is hidden at first
TRUTH = Entry("true value", Style(INK, "dash", "line-ns"))
LOG = Entry("the log itself", Style(GREY, "dash"))


def method_legend(outcome: Outcome) -> dict[str, Entry]:
    """One entry per method; the trivial ones in grey."""
    palette, hidden = Palette(outcome.methods, BASELINES), flattening(outcome)
    return {name: Entry(name, palette[name], shown=name not in hidden) for name in outcome.methods}


def policy_legend(policies: Sequence[str]) -> dict[str, Entry]:
    palette = Palette(policies)
    # A method may have the same name.
    return {name: Entry(f"policy {name}", palette[name], label=name) for name in policies}


def extent(estimate: Estimate) -> tuple[float, float] | None:
    """From where to where it is drawn."""
    if estimate.value is None:
        return None
    if estimate.interval is not None:
        return min(estimate.interval.low, estimate.value), max(estimate.interval.high, estimate.value)
    low, high = estimate.lowest, estimate.highest
    return (estimate.value if low is None else low), (estimate.value if high is None else high)


def flattening(outcome: Outcome) -> set[str]:
    """Methods whose estimates lie so far out that all others would look alike beside them.

    Never the one that the headline speaks of, nor one beside which there is but one other: that one loses nothing.
    """
    spans: dict[str, tuple[float, float]] = {}
    for estimate in outcome.estimates:
        ends = extent(estimate)
        if ends and all(map(math.isfinite, ends)):
            low, high = spans.get(estimate.method, ends)
            spans[estimate.method] = min(low, ends[0]), max(high, ends[1])
    spoken_of, hidden = headline_method(outcome), set[str]()
    while len(spans) > 2:
        without = {m: _width([s for other, s in spans.items() if other != m]) for m in spans if m != spoken_of}
        furthest = min(without, key=lambda m: without[m])
        if without[furthest] <= 0 or _width(list(spans.values())) < FLATTENS * without[furthest]:
            break
        hidden.add(furthest)
        del spans[furthest]
    return hidden


def _width(spans: list[tuple[float, float]]) -> float:
    return max(high for _, high in spans) - min(low for low, _ in spans)
