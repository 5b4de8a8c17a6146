"""Finite Markov decision processes as arrays, validated once and canonical ever after.

Index convention of the whole room: a state-action pair x = (s, a) has number x = s·A + a, so that an array
[S, A] and its flattened form [N], N = S·A, name the same things in the same order.

Terminal states. Nothing happens after termination, and the arrays say so: whatever the caller stored in the rows
of a terminal state is replaced by a self-loop with reward 0. Its value is therefore 0, and a metric that compares
a finished trajectory with a running one keeps counting the rewards of the running one, which is what
|q(x) − q(y)| ≤ d(x, y) needs.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ropeval.errors import UserError

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

ROW_SUM_TOLERANCE = 1e-6  # float32 files pass; the rows are then normalised in float64


@dataclass(frozen=True, eq=False)
class TabularMDP:
    """P[s, a, s'], r[s, a] (expected reward), d0[s], γ in [0, 1), terminal[s]."""

    P: Array  # [S, A, S]
    r: Array  # [S, A]
    d0: Array  # [S]
    gamma: float
    terminal: BoolArray  # [S]

    def __init__(
        self, P: npt.ArrayLike, r: npt.ArrayLike, d0: npt.ArrayLike, gamma: float, terminal: npt.ArrayLike | None = None
    ) -> None:
        transition = numeric("P", P)
        if transition.ndim != 3 or transition.shape[0] != transition.shape[2] or 0 in transition.shape:
            raise UserError(f"P: shape {transition.shape} found; it must be [S, A, S] (state, action, next state)")
        S, A, _ = transition.shape
        reward = shaped("r", numeric("r", r), (S, A), "[S, A] (state, action)")
        finite("r", reward)
        start = distribution_rows("d0", shaped("d0", numeric("d0", d0), (S,), "[S]")[None], ("row",))[0]
        ends = terminal_mask(terminal, S)

        transition = transition.copy()
        reward = reward.copy()
        transition[ends], reward[ends] = 0.0, 0.0
        transition[ends, :, np.flatnonzero(ends)] = 1.0
        transition = distribution_rows("P", transition, ("state", "action"))

        for name, value in {"P": transition, "r": reward, "d0": start, "terminal": ends}.items():
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        object.__setattr__(self, "gamma", discount(gamma))

    @property
    def num_states(self) -> int:
        return int(self.P.shape[0])

    @property
    def num_actions(self) -> int:
        return int(self.P.shape[1])

    @property
    def num_pairs(self) -> int:
        return self.num_states * self.num_actions

    @property
    def pair_transitions(self) -> Array:
        """P̄[x, s']: the next-state distribution of each state-action pair. [N, S]"""
        return self.P.reshape(self.num_pairs, self.num_states)

    @property
    def live_pairs(self) -> IntArray:
        """The pairs of non-terminal states: those that are drawn, grouped and counted."""
        return np.flatnonzero(np.repeat(~self.terminal, self.num_actions)).astype(np.int64)

    def policy(self, probabilities: npt.ArrayLike, name: str = "policy") -> Array:
        """A validated π[s, a]. Rows of terminal states are ignored (nothing acts there) and become uniform."""
        pi = shaped(name, numeric(name, probabilities), (self.num_states, self.num_actions), "[S, A]").copy()
        pi[self.terminal] = 1.0 / self.num_actions
        return distribution_rows(name, pi, ("state",))

    def uniform_policy(self) -> Array:
        return np.full((self.num_states, self.num_actions), 1.0 / self.num_actions)

    @classmethod
    def from_gymnasium(cls, env: Any, gamma: float, d0: npt.ArrayLike | None = None) -> "TabularMDP":
        """From a toy-text environment's transition table (see `ropeval.tabular.estimated`)."""
        from ropeval.tabular.estimated import from_gymnasium

        return from_gymnasium(env, gamma, d0)


# ---- the checks; each message names the field, the row, what was found and what is wanted ----


def numeric(name: str, value: npt.ArrayLike) -> Array:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UserError(f"{name}: not an array of numbers ({error})") from error


def shaped(name: str, value: Array, shape: tuple[int, ...], meaning: str) -> Array:
    if value.shape != shape:
        raise UserError(f"{name}: shape {value.shape} found; P asks for {shape}, that is {meaning}")
    return value


def finite(name: str, value: Array) -> None:
    bad = np.argwhere(~np.isfinite(value))
    if len(bad):
        place = tuple(int(i) for i in bad[0])
        raise UserError(f"{name}: entry {place} is {value[place]}; every entry must be a finite number")


def distribution_rows(name: str, rows: Array, axes: tuple[str, ...]) -> Array:
    """The rows (last axis), checked to be distributions and normalised; `axes` names the leading axes."""
    finite(name, rows)

    def where(place: npt.NDArray[np.intp]) -> str:
        named = ", ".join(f"{axis} {int(i)}" for axis, i in zip(axes, place, strict=False))
        return name if name == "d0" else f"{name}: row of {named}"

    negative = np.argwhere(rows < 0)
    if len(negative):
        place = negative[0]
        entry = rows[tuple(place)]
        raise UserError(f"{where(place)} holds a negative probability ({entry:g} at position {place[-1]})")
    totals = rows.sum(axis=-1)
    wrong = np.argwhere(np.abs(totals - 1.0) > ROW_SUM_TOLERANCE)
    if len(wrong):
        more = f" (and {len(wrong) - 1} more such rows)" if len(wrong) > 1 else ""
        raise UserError(f"{where(wrong[0])} sums to {totals[tuple(wrong[0])]:.6g}; it must sum to one{more}")
    normalised: Array = rows / totals[..., None]
    return normalised


def discount(gamma: object) -> float:
    value = numeric("gamma", np.asarray(gamma))
    if value.size != 1:
        raise UserError(f"gamma: shape {value.shape} found; it must be one number")
    number = float(value.reshape(()))
    if not 0.0 <= number < 1.0:
        raise UserError(f"gamma: {number:g} found; it must lie in [0, 1) for values and metrics to exist")
    return number


def terminal_mask(terminal: npt.ArrayLike | None, S: int) -> BoolArray:
    """A boolean mask [S], from a mask, a 0/1 array [S], or nothing."""
    if terminal is None:
        return np.zeros(S, dtype=bool)
    mask = shaped("terminal", numeric("terminal", terminal), (S,), "[S], one flag for each state")
    other = np.flatnonzero((mask != 0) & (mask != 1))
    if len(other):
        raise UserError(f"terminal: entry {other[0]} is {mask[other[0]]:g}; flags are 0 or 1, one for each state")
    return mask.astype(bool)
