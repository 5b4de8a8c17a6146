"""The behaviour's probabilities of the logged actions: what can be one, and what can be the logarithm of one."""

import numpy as np

from ropeval.arrays import Singles
from ropeval.errors import UserError

ROUNDING = 1e-4  # by which a stored probability, or its logarithm, may exceed its bound


def from_propensities(values: Singles, discrete: bool, name: str) -> Singles:
    """[N] log-probabilities of probabilities, or of densities where actions are continuous."""
    odd = np.flatnonzero((values <= 0.0) | ((values > 1.0 + ROUNDING) & discrete))
    if len(odd):
        allowed = "more than 0 and at most 1" if discrete else "more than 0"
        hint = "; logarithms belong into log_probs" if values[odd[0]] < 0.0 else ""
        raise UserError(
            f"{name}: propensities is {values[odd[0]]:g} at row {odd[0]}; the probability of an action that was taken "
            f"is {allowed}{hint}"
        )
    return np.minimum(np.log(values), 0.0) if discrete else np.log(values)


def check_log_probs(values: Singles, discrete: bool, name: str) -> None:
    """Refuse what cannot be the logarithm of a probability. That of a density may be any number."""
    if not discrete or not (values > ROUNDING).any():
        return
    if looks_like_propensities(values):
        raise UserError(
            f"{name}: log_probs lies between {values.min():.3g} and {values.max():.3g}; these are probabilities, not "
            "their logarithms: call the column propensities, or say --columns propensities=COLUMN"
        )
    row = int(np.argmax(values))
    raise UserError(
        f"{name}: log_probs is {values[row]:g} at row {row}; the logarithm of a probability is at most 0 "
        "(probabilities belong into propensities)"
    )


def looks_like_propensities(values: Singles) -> bool:
    """Whether all lie in (0, 1], where the logarithm of no probability but 1 does."""
    return bool((values > 0.0).all() and (values <= 1.0 + ROUNDING).all())
