"""The rule: a table that says up to which size a sign is harmless, and from which size on it makes a guess.

An estimate is `supported` where no sign is larger than its first limit, a `guess` where one is larger than its second,
`partly` in between. Which signs are looked at depends on who speaks:

simulator   what the log shows of the policy's life in it: 1 − support, fallback, blurred, beyond, outside
beside      any other method, where a simulator was asked about the same policy: how far the two are apart. No method
            knows more than the log shows, so its verdict is never better than that of the simulator
alone       a method that learned q, and no simulator to compare it with: spread, outside, beyond, lost. Never better
            than `partly`: a wrong q is as calm as a right one
weights     importance weights, likewise: spread, how few episodes count (1/√effective), and how far the mean weight is
            from 1, where it should be (|log weight|)
blind       ignores the policy: a guess, unless a simulator says the same

Where there is a simulator, lengths are measured by what policies differ by (`verdict.py`), which luck does not stretch:
`blurred` is the spread in these units, and `disputed` the distance from the simulator.

`weights` with a severe finding (few episodes decide everything) are a guess, whatever their other signs are: of 193
such dev cases of importance sampling 41 were within a tenth of the range, 108 off by three. Beside a simulator the
distance from it tells more: of 64 such estimates called `partly` there (with doubly robust ones) 40 were within a
tenth, and none off by three.

All of them are also judged by signs whose limits stand here, in `BY_REASON`, and which no fit moves:

short       the share of what counts that cannot have been learned, since training was too short for it
            (`diagnosis/about_training.py`). What may be missing is what may be off, so its limits are what the others
            were chosen by: off by a tenth is right, by three tenths wrong
memory, foretold    of a simulator: the suite's tasks show their whole state, and cannot tell where the limits are.
            Where much is foretold, what earlier actions do is no part of the state, and another policy may be off by
            any amount
strayed     of a simulator: the share of the time in states outside all logged ones, where its members may agree and be
            wrong alike. Few of the suite's policies leave the logged states and stay away
few_members of a simulator: one of so many. Where the log is silent they disagree, and most other signs are made of
            that; one has nobody to disagree with, and two may agree by luck (docs/guide/trust.md)
alike       of a simulator: whether all members learned from the same log, and so agree on what is the log's luck
cut         the share of what counts that lies after episodes were cut off: more than half of it nobody has seen from a
            first state on, and the log does not tell what it is worth (`data/returns.py`). No task of the suite is so

The other limits were chosen on the suite's dev cases by `python -m benchmarks.verdict`, which writes `table.json`, and
measured on its test cases (docs/guide/trust.md). `expected` is what nine of ten dev cases of that kind stayed below.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from math import exp, inf
from typing import Literal, NamedTuple

from ropeval.data.returns import MOST_SUPPOSED

Word = Literal["supported", "partly", "guess"]
WORDS: tuple[Word, ...] = ("supported", "partly", "guess")  # best first
Kind = Literal["simulator", "beside", "alone", "weights", "blind"]
BEST: dict[Kind, Word] = {"alone": "partly", "weights": "partly", "blind": "guess"}  # what nothing can lift it above

SAID: dict[str, Callable[[float], str]] = {
    "unsupported": lambda x: f"the log shows only {1.0 - x:.0%} of what the policy would do",
    "fallback": lambda x: f"{x:.0%} of the number is what the log itself earned",
    "spread": lambda x: f"resampled logs differ by {x:.0%} of what returns in the log differ by",
    "blurred": lambda x: f"resampled logs differ by {x:.0%} of what policies differ by",
    "beyond": lambda _: "it lies beyond everything that the log ever earned",
    "outside": lambda x: f"{x:.0%} of the policy's actions are unlike all logged ones",
    "strayed": lambda x: f"{x:.0%} of the time its states lie outside all logged ones",
    "memory": lambda _: "the observations are not the whole state, or the simulator has not learned it",
    "foretold": lambda x: f"the observations are not the whole state: the step before tells {x:.1%} of what surprises",
    "lost": lambda x: f"{x:.0%} of its members failed",
    "few_members": lambda x: (
        f"members disagree where the log is silent, and {'two are few' if x < 1.0 else 'one has nobody to do so with'}"
    ),
    "alike": lambda _: "all members learned from the same log, so that they agree on its luck",
    "few": lambda x: f"the weights leave no more than {x**-2.0:.0f} episodes' worth",
    "unlike": lambda x: f"the mean weight, which should be 1, is off by a factor of {exp(x):.2g}",
    "short": lambda x: f"training was too short: about {x:.0%} of what counts cannot have been learned",
    "cut": lambda x: f"{x:.0%} of what counts comes after episodes were cut off",
    "disputed": lambda x: f"the simulator says otherwise ({x:.0%} of what policies differ by)",
    "decided": lambda x: f"{x:.0f} episodes' worth of weights decide everything",
}


class Limits(NamedTuple):
    harmless: float
    guess: float


BY_REASON = {
    "short": Limits(0.1, 0.3),
    "memory": Limits(0.6, inf),
    "foretold": Limits(0.01, 0.05),
    "strayed": Limits(0.15, 0.25),
    "few_members": Limits(1 / 3, 1 / 2),  # below three, below two
    "alike": Limits(0.5, inf),
    "cut": Limits(MOST_SUPPOSED, inf),
}


class Expected(NamedTuple):
    """What nine of ten estimates of this kind were off by, at most."""

    share: float  # of the range of the true values of the policies of a task
    scale: float  # of what lengths are measured by, from which it can be told in rewards
    cases: int


class Table(NamedTuple):
    limits: dict[Kind, dict[str, Limits]]
    expected: dict[Kind, dict[Word, Expected]]


@cache
def table() -> Table:
    found = json.loads((files("ropeval.evaluation.verdict") / "table.json").read_text(encoding="utf-8"))
    return Table(
        {kind: {sign: Limits(*both) for sign, both in signs.items()} for kind, signs in found["limits"].items()},
        {kind: {word: Expected(**one) for word, one in words.items()} for kind, words in found["expected"].items()},
    )


class Judged(NamedTuple):
    word: Word
    because: list[str]  # signs that are beyond a limit, the worst first


def judge(signs: Mapping[str, float], limits: Mapping[str, Limits], best: Word = "supported") -> Judged:
    """`signs` by the names of the limits; one that is missing says nothing."""
    known = {name: (signs[name], limit) for name, limit in limits.items() if name in signs}
    grave = [name for name, (value, limit) in known.items() if value > limit.guess]
    doubtful = [name for name, (value, limit) in known.items() if value > limit.harmless and name not in grave]
    word: Word = "guess" if grave else "partly" if doubtful else "supported"
    return Judged(worse(word, best), grave + doubtful)


def untrained(signs: Mapping[str, float]) -> bool:
    """Whether training was far too short, so that the number says nothing about any other."""
    return signs.get("short", 0.0) > BY_REASON["short"].guess


def worse(one: Word, other: Word) -> Word:
    return WORDS[max(WORDS.index(one), WORDS.index(other))]


def reason(name: str, value: float) -> str:
    """A sign that is beyond its limit, as a clause."""
    return SAID[name](value)
