"""How a policy's returns spread, not only their mean: from weighted returns, whoever weighed them.

    F(x) = Σ_i w_i 1{g_i ≤ x} / Σ_i w_i          quantile(p) = min{ x : F(x) ≥ p }
    cvar(α) = mean of the worst share α of the returns;      below(t) = P(g < t)

Rolled-out returns count alike; logged ones by their importance weights. Doubly robust, a model stands in for what the
weights leave out: it says that returns scatter around V(s₀) as the weighted log does, whatever the first state.

    F(x) = 1/E Σ_e H(x − V(s₀ᵉ)) + Σ_e w_e ( 1{g_e ≤ x} − H(x − V(s₀ᵉ)) ),     H the weighted law of g − V(s₀)

Its weights have both signs, so F is made a distribution again: cut to [0, 1], and never falling.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from ropeval.arrays import Floats

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
DEFAULT_LEVEL = 0.05
SCATTER = 64  # points that stand for H
ROUNDING = 1e-12  # of a sum of weights: a share of it is reached, though its last bits say not


def distribution(
    returns: Float[Floats, " N"], weights: Float[Floats, " N"], level: float = DEFAULT_LEVEL, below: float | None = None
) -> dict[str, Any]:
    """Mean, quantiles, the mean of the worst share `level`, and how likely a return lies below `below`.

    Weights need not sum to one, and some may be negative; together they must weigh something.
    """
    atoms, mass = _masses(returns, weights)
    reached = np.cumsum(mass)

    def quantile(share: float) -> float:
        return float(atoms[min(int(np.searchsorted(reached, share - ROUNDING)), len(atoms) - 1)])

    worst = np.diff(np.minimum(reached, level), prepend=0.0)  # [N] of every return, what is within the worst share
    return {
        "level": level,
        "quantile": quantile(level),
        "cvar": float(worst @ atoms / worst.sum()),
        "below": None if below is None else {"threshold": below, "probability": float(mass[atoms < below].sum())},
        "mean": float(mass @ atoms),
        "quantiles": {f"{share:g}": quantile(share) for share in QUANTILES},
    }


def doubly_robust_atoms(
    returns: Float[Floats, " E"], weights: Float[Floats, " E"], values: Float[Floats, " E"]
) -> tuple[Floats, Floats]:
    """The returns and weights that `distribution` takes, from logged returns, their weights and V(s₀): [E·(1 + 64)]."""
    share = weights / weights.sum()
    atoms, mass = _masses(returns - values, share)
    middles = (np.arange(SCATTER) + 0.5) / SCATTER
    scatter = atoms[np.minimum(np.searchsorted(np.cumsum(mass), middles), len(atoms) - 1)]  # [64] quantiles of H
    model = (1.0 / len(values) - share)[:, None] / SCATTER * np.ones(SCATTER)  # [E, 64]
    return np.concatenate([returns, (values[:, None] + scatter).ravel()]), np.concatenate([share, model.ravel()])


def _masses(returns: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """[N] in rising order and [N] what each carries, at least zero, one in all."""
    order = np.argsort(returns, kind="stable")
    reached = np.cumsum(weights[order])
    if not reached[-1] > 0.0 or not np.isfinite(reached[-1]):
        raise ValueError(f"the weights sum to {reached[-1]}: nothing is weighed")
    proper = np.maximum.accumulate(np.clip(reached / reached[-1], 0.0, 1.0))
    return returns[order], np.diff(proper, prepend=0.0)
