"""Doubts about what was learned: one small function each."""

from functools import partial
from typing import NamedTuple

import numpy as np

from ropeval.arrays import Booleans, Floats, Integers
from ropeval.evaluation.diagnosis.about_training import too_short
from ropeval.evaluation.diagnosis.evidence import Evidence
from ropeval.evaluation.earned import earned_by
from ropeval.evaluation.result import Finding
from ropeval.evaluation.verdict.rule import BY_REASON
from ropeval.learning.engine import DIVERGED_AT_BOUNDS

NAMED = 5  # members whose estimates a sentence lists
DRIFT = 0.05  # of the estimate, over the last quarter of the training, beyond which it had not settled
OVERFITTED = 1.5  # rms of the residual on unseen episodes, against that on seen ones
RESIDUAL_SHARE, RESIDUAL_ERRORS = 0.1, 4.0  # what is worth so much of q's own size, and so many standard errors
RESIDUAL_ROWS = 4_000
FALLEN_BACK = (0.1, 0.5)  # share of an estimate that is the log's own: worth a warning, and a guess
REPLAYED, FAR_OFF = (10, 50), 0.25  # steps of a replay that a simulator is judged by, and how far off is too far
NOTHING = 0.05  # of what the log's returns differ by: where rewards come late, the first steps earn less, and all alike
SUPPORTED = (0.8, 0.3)  # share of the rollouts that the log speaks about, likewise
STRAYED = BY_REASON["strayed"]


def divergence(e: Evidence) -> Finding | None:
    if e.estimated.effective is not None and e.estimated.effective.size == 0.0:
        return None  # nothing ran away: there is nothing to weigh, as the finding about the weights says
    lost, count = int(e.diverged.sum()), len(e.diverged)
    if lost:
        kept = "there is no estimate" if lost == count else "they are left out of the estimate"
        return Finding(
            "divergence",
            "severe",
            f"{lost} of {count} members diverged (not finite, or beyond {DIVERGED_AT_BOUNDS:g} times max|r|/(1−γ)); "
            f"{kept}",
            "try fqe-ln or fqe-clip, or a smaller learning rate",
            {"diverged": lost, "members": count},
        )
    if e.estimated.replicates is None:
        return None
    lost, count = int((~np.isfinite(e.estimated.replicates)).sum()), len(e.estimated.replicates)
    if not lost:
        return None
    return Finding(
        "divergence",
        "severe" if lost > 0.1 * count else "warning",
        f"on {lost} of {count} resampled logs there is no estimate; the interval is that of the others",
        "believe a method that always has one",
        {"diverged": lost, "replicates": count},
    )


def out_of_bounds(e: Evidence) -> Finding | None:
    values, low, high = e.estimated.values, *e.bounds
    outside = e.bounds.outside(values) & ~e.diverged
    if not outside.any():
        return None
    allowed, (lost, count) = f"[{low:.4g}, {high:.4g}], all that the logged rewards allow", (outside.sum(), len(values))
    numbers = {"low": low, "high": high, "outside": int(lost), "members": count}
    if e.used[~outside].any():
        some = ", ".join(f"{value:.4g}" for value in values[outside][:NAMED]) + (", …" if lost > NAMED else "")
        return Finding(
            "out-of-bounds",
            "severe" if lost >= 0.5 * count else "warning",
            f"{lost} of {count} members ({some}) lie outside {allowed}, and are left out of the estimate",
            "be wary of the others; fqe-clip keeps to the bounds, and lspe or fqe-ln often do",
            numbers,
        )
    return Finding(
        "out-of-bounds",
        "severe",
        f"the estimate, {values[~e.diverged].mean():.4g}, lies outside {allowed}, and is cut to it",
        "do not use it; fqe-clip keeps to the bounds, and lspe or fqe-ln often do",
        numbers,
    )


def support(e: Evidence) -> Finding | None:
    """Where a simulator stops knowing, what it says is the log's own."""
    told = e.estimated.extras
    if "fallback" not in told:
        return None
    fallback, support, strayed = told["fallback"], told["support"], told.get("strayed", 0.0)
    if fallback <= FALLEN_BACK[0] and support >= SUPPORTED[0] and strayed <= STRAYED.harmless:
        return None
    severe = fallback > FALLEN_BACK[1] or support < SUPPORTED[1] or strayed > STRAYED.guess
    away = f"; for {strayed:.0%} of the time its states lie outside all logged ones" * (strayed > STRAYED.harmless)
    return Finding(
        "support",
        "severe" if severe else "warning",
        f"the log speaks about {support:.0%} of what the policy would do (by discounted time); "
        f"{fallback:.0%} of the number is what the log itself earned{away}",
        "read it as a guess" if severe else "read it with care, and log more of what the policy does",
        {"support": support, "fallback": fallback, "apart": told["apart"], "strayed": strayed},
    )


def replay(e: Evidence) -> Finding | None:
    """Logged episodes with their own actions must earn in a simulator what they earned, where the least error does not
    grow by itself."""
    for told in e.estimated.extras.get("replays", []):
        off = abs(told["predicted"] - told["logged"])
        size = max(told["logged_std"], abs(told["logged"]), NOTHING * earned_by(e.problem.log).scale)
        if told["steps"] in REPLAYED and told.get("steady", True) and off > FAR_OFF * size:
            which = "logged episodes that its members had not seen" if told.get("held_out") else "logged episodes"
            return Finding(
                "replay",
                "warning",
                f"{which}, replayed in it, earn {told['predicted']:.4g} in their first {told['steps']} steps, "
                f"where they earned {told['logged']:.4g}: the simulator has not learned the task",
                "train it longer (--steps), or believe another method",
                {name: float(told[name]) for name in ("steps", "predicted", "logged", "logged_std", "error")},
            )
    return None


def not_converged(e: Evidence) -> Finding | None:
    """The estimate's drift over the last quarter of its training, against its size."""
    if e.value is None or too_short(e) is not None:  # which says why it moves, and how many steps would do
        return None
    for run in e.trained.values():
        if "estimate" not in run.curves or not e.used.any():
            continue
        moved = drift(run.curves["estimate"][:, e.used].mean(axis=1))
        if moved is not None:
            before, after = moved
            return Finding(
                "not-converged",
                "warning",
                f"training had not settled: the estimate moved from {before:.4g} to {after:.4g} over the last quarter",
                "use more --steps",
                {"before": before, "after": after},
            )
    return None


def drift(curve: np.ndarray) -> tuple[float, float] | None:
    """From where to where a curve [C] moved over its last quarter; None if it had settled, or is too short to tell."""
    quarter = len(curve) // 4
    if quarter < 2:
        return None
    half = quarter // 2
    before, after = float(curve[-quarter:-half].mean()), float(curve[-half:].mean())
    return (before, after) if abs(after - before) > DRIFT * max(abs(after), 1e-12) else None


def bellman_residual(e: Evidence) -> Finding | None:
    """δ = r + γq' − q on the episodes that a member's resample left out, about a third of them.

    A q that is too high by c everywhere leaves δ = −c·(1−γ) on average, and −c where an episode ends. So of all steps,
    weighed by γ^t, Σδ/Σ(1−γ) is −c, with γ = 0 at the ends: however long the episodes are, and where they were cut off.
    """
    if e.estimated.q is None or e.value is None or e.run.counts is None or e.estimated.replicates is not None:
        return None
    if e.problem.horizon is not None:  # an error of q_h does not carry over to q_{h−1} as it does to q
        return None
    log = e.problem.log
    rows, weight = log.once(discounted_rows, lambda: discounted_rows(log.dataset.starts, log.gamma))  # [n]
    episode = np.searchsorted(e.problem.dataset.starts, rows, side="right") - 1
    unseen = e.run.counts[e.used][:, episode] == 0  # [M, n]
    if not unseen.any(axis=1).all() or unseen.all(axis=1).any():
        return None
    values, backups = (each[e.used] for each in e.estimated.q.backup(rows))  # [M, n]
    errors, plain = backups - values, np.broadcast_to(weight, values.shape)
    scale = float(np.sqrt(np.average(values**2, weights=plain)))
    here = np.broadcast_to(weight * (1.0 - np.asarray(log.discount)[rows].astype(np.float64)), errors.shape)
    by_episode = partial(_sums, episode, e.problem.dataset.num_episodes)
    off = share(by_episode(weight * errors, unseen), by_episode(here, unseen))
    squares, weights = ([by_episode(v, of) for of in (unseen, ~unseen)] for v in (weight * errors**2, plain))
    held_out, seen = (float(np.sqrt(s.sum() / w.sum())) for s, w in zip(squares, weights, strict=True))
    numbers = {"worth": off.value, "error": off.error, "scale": scale, "held_out": held_out, "seen": seen}
    if abs(off.value) > max(RESIDUAL_SHARE * scale, RESIDUAL_ERRORS * off.error):
        return Finding(
            "bellman-residual",
            "warning",
            f"on episodes that it has not seen, q is too {'low' if off.value > 0.0 else 'high'} by "
            f"{abs(off.value):.3g} (± {off.error:.2g}) on average; its own size is {scale:.3g}",
            "train longer or with another representation; the estimate is probably off by a similar amount",
            numbers,
        )
    apart = np.sqrt(max(held_out**2 - seen**2, 0.0))
    if held_out > OVERFITTED * seen and apart > RESIDUAL_SHARE * scale and grown(*squares, *weights):
        return Finding(
            "bellman-residual",
            "warning",
            f"q has learned its episodes by heart: its Bellman residual is {held_out:.3g} on unseen and {seen:.3g} on "
            "seen ones",
            "use a smaller width, or more data" if too_short(e) else "use fewer --steps, a smaller width, or more data",
            numbers,
        )
    return None


def grown(unseen: Floats, seen: Floats, unseen_weight: Floats, seen_weight: Floats) -> bool:
    """Whether the squared residuals of an episode [E] are larger for members that have not seen it than for those that
    have, and not by chance. Logarithms, since one odd episode would outweigh all others."""
    both = (unseen > 0.0) & (seen > 0.0)
    if both.sum() < 2:
        return False
    ratio = np.log(unseen[both] / unseen_weight[both]) - np.log(seen[both] / seen_weight[both])
    return bool(ratio.mean() > RESIDUAL_ERRORS * ratio.std(ddof=1) / np.sqrt(len(ratio)))


def discounted_rows(starts: Integers, gamma: float) -> tuple[Integers, Floats]:
    """Logged steps and their weights, γ^t within an episode, as the estimate weighs them. Of a long log steps are drawn
    evenly along the sum of the weights, and count alike."""
    lengths = np.diff(starts)
    if starts[-1] <= RESIDUAL_ROWS:
        time = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)  # [N]
        return np.arange(starts[-1]), np.asarray(gamma ** time.astype(np.float64))
    upto = np.cumsum(gamma ** np.arange(lengths.max(), dtype=np.float64))  # [T] weight of so many steps
    whole = np.where(lengths > 0, upto[lengths - 1], 0.0)  # [E] of an episode,
    until = np.cumsum(whole)  # and of all up to its end
    asked = (np.arange(RESIDUAL_ROWS) + 0.5) / RESIDUAL_ROWS * until[-1]
    episode = np.searchsorted(until, asked)
    step = np.searchsorted(upto, asked - (until - whole)[episode])
    return starts[episode] + np.minimum(step, lengths[episode] - 1), np.ones(len(asked))


def _sums(episode: Integers, episodes: int, values: Floats, where: Booleans) -> Floats:
    """[E] over all members [M, n]: the steps of one episode hang together, and so do its members' errors."""
    return np.bincount(episode, np.where(where, values, 0.0).sum(axis=0), episodes).astype(np.float64)


class Share(NamedTuple):
    value: float
    error: float  # standard error, over episodes


def share(part: Floats, whole: Floats) -> Share:
    """Σ part / Σ whole of sums by episode [E]."""
    value, some = float(part.sum() / whole.sum()), whole != 0.0
    left = part[some] - value * whole[some]  # of the mean 0
    return Share(value, float(np.sqrt((left**2).sum() * len(left) / max(len(left) - 1, 1)) / whole.sum()))
