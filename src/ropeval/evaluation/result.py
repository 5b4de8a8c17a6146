"""The answer to one question, with everything needed to read it, check it and ask it again.

What a folder of results holds, for whoever shows it:

result.json   a list with one object per policy and method: the fields of `Estimate` without `curves` and `replicates`.
              `interval` is null or an `Interval`, `diagnosis` a list of `Finding`s, worst first.
trust.json    one object: {"ranking": [`Ranking`, …], "coverage": [`Coverage`, …], "truth": {policy: value}}, a ranking
              per method that told at least two policies apart, a coverage per policy, and the true values if known.
curves.parquet  policy, method, stage, member, step, metric, value.

All of them are plain JSON: no NaN, None for what is not known. Fields are only ever added, with a default, so that
older files stay readable.
"""

from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ropeval.notebook import ShownInNotebook

if TYPE_CHECKING:  # reading results needs no JAX
    from ropeval.learning.engine import Trained

FITTED_Q, BASELINES = "fitted Q", "baselines"  # families that a verdict knows
Severity = Literal["note", "warning", "severe"]
RENAMED = {"low": "lowest", "high": "highest"}  # fields of an estimate, in older files
SEVERITIES: tuple[Severity, ...] = ("severe", "warning", "note")  # worst first


@dataclass(frozen=True)
class Interval:
    """A confidence interval for the value of the policy, from resampled episodes (see `interval.py`).

    It covers the luck of the log and of the seeds, and as much bias as methods were seen to have where the log
    supports them. It does not cover an environment that changed, or a state that no episode visited: the diagnosis and
    the verdict speak about those.
    """

    low: float
    high: float
    level: float  # 0.95: of so many logs out of all, the interval holds the value
    kind: str  # "percentile", "bca", "t" where replicates are too few for either, "bounds" where none can be right
    replicates: int  # resampled estimates behind it
    episodes: int  # that were resampled
    unseen: float = 0.0  # standard deviation of what is wrong on every log alike, in rewards; in both ends already


@dataclass(frozen=True)
class Versus:
    """A policy against what the log itself earned (see `versus_log.py`)."""

    log_value: float  # what the log earned
    difference: float  # how much more the policy would earn
    low: float | None = None  # confidence interval of the difference; None where nothing was resampled
    high: float | None = None
    level: float | None = None
    better: float | None = None  # probability that the policy is worth more than what was done

    @property
    def share(self) -> float | None:
        """The difference as a share of what the log earned; None where that is no gain to take a share of."""
        return self.difference / self.log_value if self.log_value > 0.0 else None


@dataclass(frozen=True)
class GroupValue:
    """The estimate for the episodes of one group, by their initial states (see `groups.py`)."""

    name: str  # "age = 3", "age < 41.5"
    episodes: int
    value: float | None
    interval: Interval | None = None
    versus_log: Versus | None = None


@dataclass(frozen=True)
class Finding(ShownInNotebook):
    """Something that speaks against believing an estimate, or that one should know when reading it."""

    code: str  # a name that does not change: see diagnose.py
    severity: Severity
    message: str  # a plain sentence
    advice: str  # what to do about it
    numbers: dict[str, float] = field(default_factory=dict)  # what the sentence is made of

    @property
    def sentence(self) -> str:
        return f"{self.message}; {self.advice}" if self.advice else self.message


@dataclass(frozen=True)
class Verdict:
    """How far an estimate can be relied on, without knowing the truth (see `verdict/rule.py`)."""

    word: str  # "supported", "partly" or "guess"
    reason: str  # one clause
    share: float | None = None  # nine of ten such estimates were off by less than this share of the range of values
    error: float | None = None  # the same in rewards, as far as the log's returns tell; half the interval at least

    @property
    def sentence(self) -> str:
        within = ""
        if self.error is not None:  # what a reader can hold it against
            within = f"{float(f'{self.error:.2g}'):,g}"
        elif self.share is not None:
            within = f"{self.share:.0%} of the range"
        often = f" (within about {within}, nine times in ten)" if within else ""
        return f"{self.word}{often}: {self.reason}"


@dataclass(frozen=True)
class Ranking(ShownInNotebook):
    """The policies by one method, best first. All lists are in that order.

    Policies are compared within the same resamples: what one log is lucky with, all policies are lucky with.
    """

    method: str
    policies: list[str]
    values: list[float]
    best: list[float]  # probability that the policy is the best of them; sums to 1
    beats: list[list[float]]  # beats[i][j]: probability that policy i is worth more than policy j; 0.5 for i = j
    replicates: int
    truth: dict[str, float] | None = None  # spearman, regret@1, regret@3, …, absolute_error where true values are known


@dataclass(frozen=True)
class Coverage:
    """How far a policy's actions lie from the logged ones (see `coverage.py`).

    Distances are to the nearest logged pair of another episode, in normalised state-action space: those of logged
    pairs say how dense the log is, those of the policy's pairs how far from it the policy goes.
    """

    policy: str
    levels: list[float]  # of the quantiles below
    log_distances: list[float]  # quantiles, of logged pairs
    policy_distances: list[float]  # quantiles, of the same states with the policy's actions
    outside: float  # share of the policy's pairs that lie further out than `spread_level` of the logged ones
    spread_level: float
    log_points: list[list[float]]  # [n, 2] some logged pairs on the two main axes of the log, for a picture
    policy_points: list[list[float]]  # [n, 2] pairs of the policy on the same axes
    explained: list[float]  # share of the log's variance on each of the two axes


@dataclass(frozen=True, eq=False)
class Estimate(ShownInNotebook):
    """What `policy` would earn according to `method`, how sure that is, and what speaks against it.

    `value` is the mean of the members that can be right: those that did not diverge (None if all did) and do not lie
    beyond what the logged rewards allow (if all do, `value` is cut to that). `interval` is the confidence interval: how
    far another log and other seeds could have moved it. `lowest` and `highest` are merely the ends of those members.
    Members of `world` know more together than on their own, and its `value` is what they say together.
    """

    policy: str
    policy_kind: str  # "deterministic" or "stochastic"
    method: str
    value: float | None
    interval: Interval | None
    lowest: float | None  # of the members that count
    highest: float | None
    members: list[float | None]  # every member's estimate; None where it is not a finite number
    diverged: list[int]  # which members diverged
    warnings: list[str]  # the diagnosis in sentences, worst first
    config: dict[str, Any]
    data_sha256: str
    version: str
    seconds: float
    curves: list[dict[str, Any]] = field(default_factory=list, repr=False)  # rows: stage, member, step, metric, value
    diagnosis: list[Finding] = field(default_factory=list)
    replicates: list[float | None] = field(default_factory=list, repr=False)  # estimates from resampled logs
    left_out: list[int] = field(default_factory=list)  # which other members lie beyond what the rewards allow
    extras: dict[str, Any] = field(default_factory=dict, repr=False)  # what the method tells about its own answer
    versus_log: Versus | None = None  # None for baselines, and where there is nothing to compare
    groups: list[GroupValue] = field(default_factory=list, repr=False)  # where groups were asked for
    signs: dict[str, float] = field(default_factory=dict, repr=False)  # what a verdict is made of: verdict/signs.py
    family: str = ""  # of the method, as `ropeval methods` lists it
    verdict: Verdict | None = None  # None: nothing is known, as of an estimate that diverged

    @property
    def support_in_words(self) -> str:
        """How far the log speaks about what the policy does; empty where the method cannot tell."""
        if "fallback" not in self.extras:
            return ""
        return f"support {self.extras['support']:.2f}, {self.extras['fallback']:.0%} from the log"

    @property
    def without_value(self) -> str:
        """The word for an estimate that is not there."""
        weightless = any(f.code == "effective-sample-size" and f.numbers.get("effective") == 0 for f in self.diagnosis)
        return "none" if weightless else "diverged"

    def to_json(self, everything: bool = False) -> dict[str, Any]:
        """The row of `result.json`; with `everything`, also what is kept elsewhere or needed only on the way."""
        row = asdict(self)
        return row if everything else {k: v for k, v in row.items() if k not in ("curves", "replicates")}

    @staticmethod
    def from_json(row: dict[str, Any]) -> "Estimate":
        return Estimate(
            **{RENAMED.get(name, name): value for name, value in row.items()}
            | {
                "interval": _made(Interval, row.get("interval")),
                "diagnosis": [Finding(**finding) for finding in row.get("diagnosis", [])],
                "versus_log": _made(Versus, row.get("versus_log")),
                "groups": [_group(group) for group in row.get("groups", [])],
                "verdict": _made(Verdict, row.get("verdict")),
            }
        )

    def __repr__(self) -> str:
        value = self.without_value if self.value is None else f"{self.value:.5g}"
        lines = [f"{self.policy} ({self.policy_kind}), {self.method}: {value}"]
        if self.interval is not None:
            lines[0] += f"  ({self.interval.level:.4g} interval {self.interval.low:.5g} … {self.interval.high:.5g})"
        elif self.lowest is not None and self.highest is not None and len(self.members) > 1:
            lines[0] += f"  (members {self.lowest:.5g} … {self.highest:.5g})"
        if self.support_in_words:
            lines.append(f"  {self.support_in_words}")
        if self.versus_log is not None:
            log, better = self.versus_log, self.versus_log.better
            chance = "" if better is None else f", better with probability {better:.2f}"
            lines.append(f"  {log.difference:+.4g} over what the log earned, {log.log_value:.5g}{chance}")
        return "\n".join(lines + [f"  ! {warning}" for warning in self.warnings])


def _made(kind: type[Any], row: dict[str, Any] | None) -> Any:
    """Fields that only earlier versions had are passed over."""
    return kind(**{f.name: row[f.name] for f in fields(kind) if f.name in row}) if row else None


def _group(row: dict[str, Any]) -> GroupValue:
    parts = {"interval": _made(Interval, row.get("interval")), "versus_log": _made(Versus, row.get("versus_log"))}
    return GroupValue(**row | parts)


def curve_rows(trained: "dict[str, Trained]") -> list[dict[str, Any]]:
    """All curves in long form, ready for a data frame."""
    return [
        {"stage": stage, "member": member, "step": int(step), "metric": metric, "value": float(values[c, member])}
        for stage, run in trained.items()
        for metric, values in run.curves.items()
        for c, step in enumerate(run.steps)
        for member in range(values.shape[1])
    ]


def finite_or_none(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
