"""Many policies, many methods: what one run asks, and its answers, each kept as it comes.

Nothing is lost when the work is interrupted: `result_folder.py` says how.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import jax
import numpy as np

from ropeval.cluster import Cluster
from ropeval.data import Dataset, Log, Problem
from ropeval.data.horizon import horizon_note, resolved_horizon
from ropeval.data.numbered import numbered_states, numbers_note
from ropeval.data.problem import PolicyAnswers
from ropeval.errors import UserError
from ropeval.estimators import ESTIMATORS
from ropeval.evaluation import coverage
from ropeval.evaluation.diagnosis.diagnose import compare_methods
from ropeval.evaluation.evaluate import answer
from ropeval.evaluation.forecast import Forecast, fit_minutes, forecast
from ropeval.evaluation.groups import make_groups, without_groups
from ropeval.evaluation.lanes import Answers, Lane, Report, side_by_side
from ropeval.evaluation.methods import Applicable, Method, applicable_methods
from ropeval.evaluation.on_ray import answer_on_ray
from ropeval.evaluation.options import Options
from ropeval.evaluation.rank import Truth, rank, scores
from ropeval.evaluation.result import Coverage, Estimate, Ranking
from ropeval.evaluation.result_folder import ResultFolder, fingerprint
from ropeval.evaluation.tune import tune, with_settings
from ropeval.evaluation.verdict.verdict import give_verdicts
from ropeval.files import write_text
from ropeval.learning.checkpoint import Checkpoint
from ropeval.learning.company import Seat, in_company
from ropeval.learning.engine import Aside
from ropeval.policies import Policy
from ropeval.policies.policy import draw_actions
from ropeval.runtime import products_by_one_thread, sized_for
from ropeval.version import __version__

ABREAST = 4  # policies that a lane works on, at most
COMPANY = 32  # policies that train together, at most,
ANSWERED = 2 << 30  # and bytes of their actions in the log's states, which stay in memory until all have trained
PROBED = 256  # logged states whose actions stand for a policy that has no hash
ABSORBED = {"method", "preset", "steps", "minutes", "settings", "columns"}  # told by methods and hashes


@dataclass(frozen=True, eq=False)
class Session:
    """Everything that one call of `ropeval evaluate` asks for."""

    dataset: Dataset
    policies: Sequence[Policy]
    options: Options

    def __post_init__(self) -> None:
        names = [p.name for p in self.policies]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise UserError(
                f"two policies are named {twice[0]!r}; give one another name (NAME=POLICY, or in Python a dict), so "
                "that the rows can be told apart"
            )
        object.__setattr__(self, "policies", [policy.fitted(self.dataset.space) for policy in self.policies])
        for policy in self.policies:  # before anything is written: do they answer, and in the right shape?
            draw_actions(policy, self.dataset.observations[:2], 1, np.random.default_rng(0))
        object.__setattr__(self, "options", fit_minutes(self.options, self.dataset, self.policies))
        resolved_horizon(self.dataset, self.options.gamma, self.options.horizon)
        numbered_states(self.dataset, self.options.numbers)
        if self.options.by:
            make_groups(self.dataset, self.options.by)
        for policy, method in self.questions:  # before any training: the last question may be the impossible one
            method.check(self.dataset, policy)

    @cached_property
    def applicable(self) -> Applicable:
        return applicable_methods(self.options, self.dataset, self.policies)

    @property
    def methods(self) -> list[Method]:
        return self.applicable.methods

    @property
    def questions(self) -> list[tuple[Policy, Method]]:
        return [(policy, method) for policy in self.policies for method in self.methods]

    @property
    def alone(self) -> bool:
        return len(self.policies) == 1

    def forecast(self) -> Forecast:
        return forecast(self.methods, self.dataset, self.policies, self.options)

    def notes(self) -> list[str]:
        """What should be known before the work begins."""
        found = [
            horizon_note(self.dataset, self.options.gamma, self.options.horizon),
            numbers_note(self.dataset, self.options.numbers),
        ]
        minutes, expected = self.options.minutes, self.forecast()
        if minutes is not None and expected.total > 60.0 * minutes:
            found.append(f"{minutes:g} minutes are too few: the least that is worth it takes {expected}")
        silent = without_groups([m.estimator for m in self.methods]) if self.options.by else []
        if silent:
            found.append(f"no value by {self.options.by} from {', '.join(silent)}: only for all episodes together")
        return [note for note in found if note]

    def about(self) -> dict[str, Any]:
        """What is asked, without the answer."""
        return {
            "version": __version__,
            "log": self.dataset.name,
            "data_sha256": self.dataset.sha256,
            "policies": [{"name": p.name, "kind": p.kind, "sha256": self._hash(p)} for p in self.policies],
            "methods": {m.name: m.describe() for m in self.methods},
            **({"left_out": self.applicable.left_out} if self.applicable.left_out else {}),
            **self.options.model_dump(exclude=ABSORBED),
        }

    def _hash(self, policy: Policy) -> str:
        """A function carries no hash of its own; its answers to some logged states tell when it was changed."""
        if policy.sha256 is not None:
            return policy.sha256
        actions = draw_actions(policy, self.dataset.observations[:PROBED], 1, np.random.default_rng(0))
        return hashlib.sha256(actions.tobytes()).hexdigest()

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint(self.about())

    @property
    def log(self) -> Log:
        return Log(self.dataset, self.options.gamma, horizon=self.options.horizon, numbers=self.options.numbers)

    def lanes(self) -> list[list[int]]:
        """The methods, by their places, in as many lists as are worked on side by side.

        On an accelerator those that prepare something for all policies, and the others: while one list compiles, or
        asks a policy, the other one computes.
        """
        everyone = list(range(len(self.methods)))
        prepares = [which for which in everyone if self.methods[which].prepares]
        others = [which for which in everyone if which not in prepares]
        return [prepares, others] if prepares and others and self._leaves_idle else [everyone]

    @property
    def _leaves_idle(self) -> bool:
        """Whether one piece of work leaves much of the device idle; a CPU has its cores at work already."""
        return not self.options.tune and sized_for(jax.default_backend()) != "cpu"

    def at_once(self, log: Log, lane: Sequence[int]) -> int:
        """How many policies a lane works on: while some are asked, or read out, another one trains. As many as there is
        room for, up to a few."""
        if any(self.methods[which].encoder is not None for which in lane):
            return 1
        return min(answers.room_for(ABREAST) for answers in self._asked(log))

    def companies(self, log: Log, lane: Sequence[int]) -> list[list[int]]:
        """The policies, by their places, in lists that train together, since a few members alone leave most of an
        accelerator idle; each on its own where nothing is gained by it. Who is in a list does not depend on what is
        answered already: a resumed run rounds as one that was never interrupted."""
        places = range(len(self.policies))
        apart = any(self.methods[which].prepares or self.methods[which].encoder for which in lane)
        if apart or not self._leaves_idle or len(jax.devices()) > 1:
            return [[place] for place in places]
        # Each is held twice, alone and beside the others, and two companies are at work at a time.
        room = min(min(a.room_for(4 * COMPANY) // 4, ANSWERED // a.asked_bytes) for a in self._asked(log))
        return [list(places[first : first + max(1, room)]) for first in places[:: max(1, room)]]

    def _asked(self, log: Log) -> Iterator[PolicyAnswers]:
        return (log.problem(p, self.options.seed, self.options.draws).answers for p in self.policies)


@products_by_one_thread()
def run_session(
    session: Session, folder: ResultFolder, report: Report | None = None, cluster: Cluster | None = None
) -> list[Estimate]:
    """Answer every question, inside `folder.writing(session.about())`. `folder.write` then puts them in their place.
    The answers are the same, whether they come from this machine or from a cluster; but on an accelerator policies
    train together here, and apart there, which rounds otherwise."""
    if folder.answered:
        return folder.results()
    if cluster is None:
        results = _answer_here(session, folder, report)
    else:
        results = answer_on_ray(session, folder, cluster, report)
    blind = {name for name, entry in ESTIMATORS.items() if not entry.sees_policy}
    return give_verdicts(compare_methods(results, blind))


def _answer_here(session: Session, folder: ResultFolder, report: Report | None) -> list[Estimate]:
    log = session.log  # what is made of it alone is made once, whoever needs it first
    lanes = [_lane(session, folder, log, lane) for lane in session.lanes()]
    if len(lanes) > 1 or len(lanes[0].work) < len(session.policies):
        found = side_by_side(lanes, report)
    else:
        found = dict(one for answer_one in lanes[0].work for one in answer_one(report, None))
    return [found[number] for number in sorted(found)]


def _lane(session: Session, folder: ResultFolder, log: Log, lane: Sequence[int]) -> Lane:
    name = ", ".join(session.methods[which].name for which in lane)
    abreast, companies = session.at_once(log, lane), session.companies(log, lane)
    at_once = abreast if len(companies) == len(session.policies) else min(2, len(companies))
    each = max(1, abreast // at_once)
    return Lane(
        name, at_once, [partial(_answer_company, session, folder, log, lane, places, each) for places in companies]
    )


def _answer_company(
    session: Session,
    folder: ResultFolder,
    log: Log,
    lane: Sequence[int],
    places: Sequence[int],
    at_once: int,
    report: Report | None,
    aside: Aside | None,
) -> Answers:
    """Some policies by the methods of a lane. Where they train together, all do so again if one was not answered."""
    numbers = [place * len(session.methods) + which for place in places for which in lane]
    again = len(places) > 1 and any(folder.kept_estimate(number) is None for number in numbers)
    one = partial(_answer_policy, session, folder, log, lane, report, aside, again)
    return [found for own in in_company([partial(one, place) for place in places], at_once) for found in own]


def _answer_policy(
    session: Session,
    folder: ResultFolder,
    log: Log,
    lane: Sequence[int],
    report: Report | None,
    aside: Aside | None,
    again: bool,
    place: int,
    seat: Seat,
) -> Answers:
    """One policy by the methods of a lane. Its arrays go with it: those of all policies need not fit into memory."""
    problem = log.problem(session.policies[place], session.options.seed, session.options.draws)
    covered = log.once(("coverage", place), partial(_measured, problem, folder, place))
    found: Answers = []
    for which in lane:
        method, number = session.methods[which], place * len(session.methods) + which
        estimate = None if again else folder.kept_estimate(number)
        if estimate is None:
            estimate = answer(
                problem,
                _tuned(session, problem, method, folder, number, report) if session.options.tune else method,
                session.options,
                covered=covered,
                report=_numbered(report, number),
                checkpoints=folder.work / str(number),
                shared=folder.shared,
                aside=aside,
                seat=seat,
                alone=session.alone,
            )
            folder.keep_estimate(number, estimate)
        if report:
            report(number, "done", 1.0)
        found.append((number, estimate))
    return found


def _measured(problem: Problem, folder: ResultFolder, place: int) -> Coverage:
    covered = coverage.measure(problem)
    folder.keep_coverage(place, covered)
    return covered


def _tuned(
    session: Session, problem: Problem, method: Method, folder: ResultFolder, number: int, report: Report | None
) -> Method:
    """The method with its own settings for this policy; chosen once, then kept, like everything that takes long."""
    kept = folder.work / f"{number}-chosen.json"
    if kept.exists():
        return with_settings(method, json.loads(kept.read_text(encoding="utf-8"))["chosen"])
    checkpoint = Checkpoint(folder.work / f"{number}-tune", f"{session.fingerprint} {jax.devices()[0].device_kind}")

    def told(stage: str, fraction: float) -> None:
        if report:
            report(number, f"tuning {stage}", 0.0)  # the bar is about the estimate itself

    found = tune(problem, method, session.options.seed, report=told, checkpoint=checkpoint)
    if found is None:
        return method
    about = {"chosen": found.chosen, "candidates": found.candidates, "losses": found.losses, "values": found.values}
    write_text(kept, json.dumps(about))
    return found.method


def rankings(session: Session, results: Sequence[Estimate], folder: ResultFolder, truth: Truth | None) -> list[Ranking]:
    """From the results as they come from `run_session`; where they were read back, from `trust.json`."""
    if any(r.replicates for r in results) or not folder.has("trust.json"):
        return rank(results, session.dataset.num_episodes, truth)
    known = folder.trust().ranking
    return [replace(r, truth=scores(dict(zip(r.policies, r.values, strict=True)), truth or {})) for r in known]


def _numbered(report: Report | None, number: int) -> Callable[[str, float], None] | None:
    if report is None:
        return None
    return lambda stage, fraction: report(number, stage, fraction)
