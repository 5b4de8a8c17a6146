"""What an estimator is: a problem in, one estimate per member out."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ropeval.data import Dataset, Log, Problem
from ropeval.data.needs import Need
from ropeval.learning.engine import Run, Told, Trained
from ropeval.learning.prepare import prepared
from ropeval.policies import Policy
from ropeval.settings import PartConfig

Floats = NDArray[np.float64]
OTHERS = "others"
REPLICATES = 400  # resampled logs where an estimate costs next to nothing


class ActionValues(Protocol):
    """Every member's q, as far as a diagnosis looks into it."""

    def backup(self, rows: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """[M, n] q(s, a) and r + γ·E_{a'~π_e} q(s', a') of the given logged steps."""
        ...


class EffectiveSize(NamedTuple):
    """Of the episodes' weights; each the median of the members."""

    size: float  # (Σρ)²/Σρ²
    per_decision: bool  # a discounted mean over time
    mean: float = 1.0  # weight of an episode: 1, if the probabilities are right and all that weighs was seen
    largest: float = 0.0  # share of all weight that a hundredth of the episodes carry
    length: float = 1.0  # weighted mean length of an episode, in units of the log's own


class Backups(NamedTuple):
    """How often what was learned by bootstrapping has handed on what it knows.

    A moving average takes over a share τ of what is new at every training step. So n of them come to n·τ backups, one
    after the other, and each carries what a step earns to the step before it.
    """

    training: int  # steps of training
    tau: float
    ahead: float = 1.0  # logged steps that one backup looks over
    mended: bool = False  # whether importance weights add what the backups have not brought

    @property
    def seen(self) -> float:
        """Steps ahead."""
        return self.training * self.tau * self.ahead


@dataclass(frozen=True, eq=False)
class Estimated:
    values: Floats  # [M] each from the member's own log, or [1] from the log as it is where nothing is random
    trained: tuple[Trained, ...] = ()
    warnings: tuple[str, ...] = ()  # what only this method can know; what all share is diagnosed in `evaluation`
    replicates: Floats | None = None  # [B] from resampled logs; None: the members are the replicates
    q: ActionValues | None = None
    effective: EffectiveSize | None = None
    backups: Backups | None = None  # of what bootstraps from a moving average of itself
    extras: dict[str, Any] = field(default_factory=dict)  # what the method tells about its own answer, as in JSON
    returns: tuple[Floats, Floats] | None = None  # [n] what an episode may earn, and [n] how much each weighs
    value: float | None = None  # the estimate, where the members together know more than the mean of each on its own
    among: Callable[[NDArray[np.bool_]], "Estimated"] | None = None  # the same from some episodes' starts [E] alone
    at_random: Callable[[], float] | None = None  # what uniform actions would earn, by what was learned already

    def answer(self, diverged: NDArray[np.bool_]) -> tuple[float | None, Floats]:
        """The estimate, None if all members [M] diverged; and what resampled logs make of it, [M] or [B]."""
        good = self.values[~diverged & np.isfinite(self.values)]  # not finite: its log has none of the group's episodes
        if not len(good):
            return None, self.values * np.nan if self.replicates is None else self.replicates
        mean = float(good.mean())
        value = mean if self.value is None else self.value
        if self.replicates is not None:
            return value, self.replicates
        return value, np.where(diverged, np.nan, self.values + (value - mean))


Average = Callable[[NDArray[np.int64]], float]  # an estimate that is exact, given how often each episode counts [E]


def replicated(run: Run, held: NDArray[np.int64], average: Average) -> tuple[Floats, Floats | None]:
    """On the log as it is [1], and on its resamples [B]; `held` [E]: 1 for the episodes that take part."""
    value = np.array([average(held) if held.any() else np.nan])
    if run.resamples is None:
        return value, None
    counts = (held * run.resamples.counts(place, 1)[0] for place in range(REPLICATES))
    return value, np.array([average(own) if own.any() else np.nan for own in counts])


def exact(run: Run, episodes: int, average: Average, **told: Any) -> Estimated:
    """An estimate that costs next to nothing, of all episodes or of some."""

    def among(held: NDArray[np.bool_]) -> Estimated:
        with np.errstate(over="ignore", invalid="ignore"):
            values, replicates = replicated(run, held.astype(np.int64), average)
        return Estimated(values, replicates=replicates)

    values, replicates = replicated(run, np.ones(episodes, np.int64), average)
    return Estimated(values, replicates=replicates, among=among, **told)


def averaged(run: Run, values: Floats, **told: Any) -> Estimated:
    """The mean of every member's values [M, E] of the episodes' starts, over the member's own log."""
    return Estimated(run.mean_over_episodes(values), among=partial(mean_among, run, values), **told)


def mean_among(run: Run, values: Floats, held: NDArray[np.bool_]) -> Estimated:
    """The same over the episodes that are held; nan for a member whose log has none of them."""
    own = held[None] * run.held(len(held))  # [M, E]
    with np.errstate(invalid="ignore"):
        return Estimated((own * values).sum(axis=1) / own.sum(axis=1))


class _Rehearsed(Exception):
    pass


def _enough(stage: str, fraction: float) -> None:
    """An estimate that can tell how far it is has run its programs once."""
    raise _Rehearsed


@dataclass(frozen=True)
class Estimator:
    """An entry of the registry. Its name is that of its settings, its curves and its checkpoints, too."""

    name: str
    config: type[PartConfig]
    estimate: Callable[..., Estimated]  # (problem, config, run), and what `prepare` gave, if there is one
    summary: str
    takes_features: bool  # whether an encoder can stand before it
    presets: dict[str, dict[str, Any]] = field(default_factory=dict)  # by name; "cpu", "gpu": the default on one
    family: str = OTHERS  # under which `ropeval methods` lists it
    needs: tuple[Need, ...] = ()  # of the log and the policy: refused, before any work, where it is not there
    check: Callable[[Dataset, Policy], None] | None = None  # refuses what no need can say
    spread: tuple[str, ...] = ()  # fields of which the members of one run may have values of their own
    sees_policy: bool = True  # whether the answer depends on the policy at all
    tells_returns: bool = False  # whether it knows how returns spread, and not only their mean
    by_group: bool = False  # whether it can tell what the episodes of a group would earn: `Estimated.among`
    takes_horizon: bool = False  # whether it can answer for the first H steps alone, and so for γ = 1

    prepare: Callable[[Log, Any, Run], Any] | None = None  # done once for all policies: it does not see them

    def __call__(self, problem: Problem, config: PartConfig, run: Run) -> Estimated:
        own = run.of(self.name)
        if self.prepare is None:
            return self.estimate(problem, config, own)
        ready = self.ready(problem.log, config, self._rehearsing(problem, config, own))
        return self.estimate(problem, config, own, ready)

    def _rehearsing(self, problem: Problem, config: PartConfig, run: Run) -> Run:
        """The run that `prepare` is handed. What `prepare` rehearses (`Run.rehearse`) gives something of the same shape
        as it gives itself, and with that the estimate is rehearsed, too; but no policy is asked on the host for it."""
        if run.aside is None or problem.policy.compiled() is None:
            return run
        aside, alone = run.aside, replace(run, report=_enough, checkpoint=None, shared=None, aside=None)

        def further(work: Callable[[Told], Any]) -> None:
            aside(lambda told: self.estimate(problem, config, alone, work(told)))

        return replace(run, aside=further)

    def ready(self, log: Log, config: PartConfig, run: Run) -> Any:
        """What `prepare` makes of the log, made when it is first asked for."""
        assert self.prepare is not None, f"{self.name}: nothing is prepared for it"
        return prepared(self.prepare, log, config, run.of(self.name))
