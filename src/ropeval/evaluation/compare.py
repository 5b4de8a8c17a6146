"""Many policies, many methods, one call: what `ropeval evaluate` answers, in Python."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ropeval.data import LogLike, load_dataset
from ropeval.errors import UserError
from ropeval.evaluation.lanes import Report
from ropeval.evaluation.options import DEFAULT_METHODS, make_options, takes_options
from ropeval.evaluation.rank import Truth, checked_truth
from ropeval.evaluation.result import Estimate, Ranking
from ropeval.evaluation.result_folder import ResultFolder
from ropeval.evaluation.session import Session, rankings, run_session
from ropeval.evaluation.verdict.one_answer import Answer, answers
from ropeval.notebook import ShownAsTables, progress_bar
from ropeval.policies.given import Policies, load_policies


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(ShownAsTables):
    """An estimate of every policy by every method, and by every method the policies in their order."""

    estimates: list[Estimate]
    rankings: list[Ranking]
    truth: Truth | None = None

    @property
    def answers(self) -> list[Answer]:
        """The one number to go by for each policy, with its verdict: the best policy first."""
        return sorted(answers(self.estimates), key=lambda one: -one.value)

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def rows(self) -> list[dict[str, Any]]:
        """One plain row per estimate, for a data frame."""
        return [
            {
                "policy": e.policy,
                "method": e.method,
                "value": e.value,
                "low": e.interval.low if e.interval else None,
                "high": e.interval.high if e.interval else None,
                "over_log": e.versus_log.difference if e.versus_log else None,
                "probability_better": e.versus_log.better if e.versus_log else None,
                "verdict": e.verdict.word if e.verdict else None,
                "warnings": len(e.warnings),
            }
            for e in self.estimates
        ]


@takes_options
def compare(
    log: LogLike,
    policies: Policies,
    methods: str | Sequence[str] = DEFAULT_METHODS,
    *,
    truth: Truth | None = None,
    report: Report | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Comparison:
    """Estimate what each of the policies would earn, from `log` alone, by each of the methods, and rank them.

    `policies` is one or a list of them, or a dict with their names; each a `Policy`, a function, or what `load_policy`
    takes.

    >>> rows = [{"obs": [t / 100], "action": t % 2, "pscore": 0.5, "reward": float(t % 2)} for t in range(100)]
    >>> log = ropeval.load_dataset(rows, {"terminations": "always"})
    >>> ones = lambda observations: np.ones(len(observations), int)
    >>> found = ropeval.compare(log, {"ones": ones, "dice": "uniform"}, ["mean-return", "wis"], gamma=0)
    >>> found.rankings[-1].policies
    ['ones', 'dice']

    `truth` are true values by policy, where known. `progress` shows a bar (in a notebook there is one unless it is
    False), and `report` is called with (number of the estimate, stage, fraction done). The options are those of the
    command line:
    """
    if "method" in options:
        raise UserError("method: compare takes methods, one or a list of them")
    chosen = make_options({**options, "method": methods})
    if chosen.columns:
        raise UserError("columns: give them to load_dataset")
    session = Session(load_dataset(log), load_policies(policies), chosen)
    known = checked_truth(truth, [policy.name for policy in session.policies], "truth") if truth is not None else None
    bar = progress_bar(progress if report is None else False, session.questions)
    with tempfile.TemporaryDirectory(prefix="ropeval-") as place, bar as shown:
        folder = ResultFolder(Path(place) / "run")
        with folder.writing(session.about()):
            results = run_session(session, folder, shown or report)
            return Comparison(results, rankings(session, results, folder, known), known)
