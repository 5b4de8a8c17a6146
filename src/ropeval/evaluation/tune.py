"""Settings chosen from the log alone: a tournament between fitted value functions.

Candidates differ in learning rate and, where an encoder stands before the estimator, in its β and d. Each is fitted
once, all of them as members of one run. Which q is nearest to the truth cannot be read off its own Bellman residual:
that also counts the noise of the task, which a q that follows the noise seems to get rid of. The batch value-function
tournament (Xie and Jiang 2021, "Batch value-function approximation with only realizability"; for choosing settings:
Zhang and Jiang 2021, "Towards hyperparameter-free policy selection for offline reinforcement learning") averages the
noise out instead. For candidates i and j the logged pairs are grouped by (q_i, q_j), both rounded, and

    loss(i, j)  =  rms over the log of  q_i − mean over the group of ( r + γ·E_{a'~π_e} q_i(s', a') )

If q_j is the truth, the backup of q_i can be expressed on these groups, so a q_i that is wrong shows a loss there; and
if q_i is the truth, it has none, whoever the opponent is. The winner is the candidate with the smallest largest loss.

Rounding is to `BINS` groups of equal size on each side, and losses come from rows of the log that are evenly spaced.
What it buys is measured in docs/results/tuning.md.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ropeval.arrays import Floats, Integers
from ropeval.data import Problem
from ropeval.evaluation.diagnosis.evidence import diverged_members
from ropeval.evaluation.fit import fit
from ropeval.evaluation.methods import Method
from ropeval.learning.checkpoint import Checkpoint
from ropeval.learning.engine import Run, member_keys

Candidate = dict[str, Any]  # "part.field" -> value
RATES = (1e-4, 3e-4, 1e-3)
BETAS = (0.1, 1.0, 10.0)
DIMS = ("X/3", "X/2", "X")
BINS = 12  # on each side: 144 groups
ROWS = 20_000


@dataclass(frozen=True, eq=False)
class Tuned:
    """What the tournament chose."""

    method: Method
    chosen: Candidate
    candidates: list[Candidate]
    losses: list[float | None]  # the largest of each candidate; None where it diverged
    values: list[float | None]  # what each would have estimated


def candidates(method: Method) -> list[Candidate]:
    """Every combination of β, d and one learning rate for encoder and estimator; empty where nothing can be chosen."""
    grids: list[list[Candidate]] = []
    rated = [name for name in method.spread if name.endswith(".learning_rate")]
    if rated:
        grids.append([dict.fromkeys(rated, rate) for rate in RATES])
    if method.encoder is not None:
        for field, values in (("beta", BETAS), ("dim", DIMS)):
            if f"{method.encoder}.{field}" in method.spread:
                grids.append([{f"{method.encoder}.{field}": value} for value in values])
    if not grids:
        return []
    return [{name: value for part in chosen for name, value in part.items()} for chosen in itertools.product(*grids)]


def tune(
    problem: Problem,
    method: Method,
    key: int,
    *,
    report: Callable[[str, float], None] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Tuned | None:
    """Fit every candidate, let them play, and return the method with the winner's settings; None: nothing to choose."""
    options = candidates(method)
    if len(options) < 2:
        return None
    run = Run(
        member_keys(key, len(options)),
        report,
        checkpoint,
        settings={name: [option[name] for option in options] for name in options[0]},
    )
    fitted = fit(problem, method, run)
    estimated = fitted.estimated
    if estimated.q is None:
        return None
    diverged = diverged_members(fitted.trained, estimated.values, problem.reward_bound)
    rows = np.arange(0, len(problem.dataset), max(1, len(problem.dataset) // ROWS))
    losses = np.full(len(options), np.inf)
    if not diverged.all():
        values, backups = estimated.q.backup(rows)
        losses[~diverged] = tournament(values[~diverged], backups[~diverged])
    chosen = options[int(np.argmin(losses))] if np.isfinite(losses).any() else {}
    return Tuned(
        with_settings(method, chosen),
        chosen,
        options,
        [float(loss) if np.isfinite(loss) else None for loss in losses],
        [float(value) if np.isfinite(value) else None for value in estimated.values],
    )


def tournament(values: Floats, backups: Floats) -> Floats:
    """[C] the largest loss of each candidate against any other: q [C, n] and r + γ·E q' [C, n] of logged rows."""
    places = np.stack([_rounded(q) for q in values])  # [C, n]
    worst = np.zeros(len(values))
    for i, j in itertools.product(range(len(values)), repeat=2):
        group = places[i] * BINS + places[j]
        size = np.maximum(np.bincount(group, minlength=BINS * BINS), 1)
        mean = np.bincount(group, backups[i], BINS * BINS) / size
        worst[i] = max(worst[i], float(np.sqrt(np.mean((values[i] - mean[group]) ** 2))))
    return worst


def _rounded(values: Floats) -> Integers:
    """[n] which of `BINS` groups of equal size each value falls into; equal values fall into one."""
    edges = np.quantile(values, np.arange(1, BINS) / BINS)
    return np.searchsorted(edges, values, side="right")


def with_settings(method: Method, chosen: Candidate) -> Method:
    """The same method with other values of some fields."""
    configs = dict(method.configs)
    for name, value in chosen.items():
        part, _, field = name.partition(".")
        configs[part] = configs[part].model_copy(update={field: value})
    return replace(method, configs=configs)
