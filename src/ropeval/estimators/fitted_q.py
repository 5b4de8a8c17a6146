"""A q that was trained, of every member, and its values on the log."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int

from ropeval.arrays import Floats, Integers
from ropeval.data import Transitions, expected
from ropeval.estimators.estimator import Backups
from ropeval.learning.engine import Trained

Value = Callable[[Any, Array], Array]  # (model, features of pairs) -> their values


class Timed(NamedTuple):
    """A network and the steps to go, as one model to read out."""

    q: Any
    left: Array


@dataclass(frozen=True, eq=False)
class FittedQ:
    """Every member's q̄, and its values on the data that it was fitted to."""

    trained: Trained
    transitions: Transitions
    value: Value
    scale: float  # the unit of reward that it was trained in
    backups: Backups
    horizon: int | None = None

    @property
    def members(self) -> int:
        return len(jax.tree.leaves(self.trained.state.target)[0])

    def backup(self, rows: Int[Integers, " n"]) -> tuple[Float[Floats, "M n"], Float[Floats, "M n"]]:
        """q̄(s, a) and r + γ·E_{a'~π_e} q̄(s', a') of some logged steps, as if they were the first of an episode."""
        data = self.transitions.rows
        reward, discount = (np.asarray(a)[None, rows].astype(np.float64) for a in (data.reward, data.discount))
        return self._means("x", rows), reward + discount * self._means("next_x", rows, gone=1)

    def on_logged(self) -> Float[Floats, "M N"]:
        """q̄(s, a) of every logged step."""
        return self._in_time("x")

    def on_next(self) -> Float[Floats, "M N"]:
        """E_{a'~π_e} q̄(s', a') of every logged step, over the drawn actions."""
        return self._in_time("next_x")

    def _in_time(self, of: Literal["x", "next_x"]) -> Float[Floats, "M N"]:
        """Every step with what is left at its time; 0 beyond the horizon. One time after another, and always as many
        rows as there are episodes, so that one program serves all times."""
        if self.horizon is None:
            return self._means(of)
        starts = np.asarray(self.transitions.starts)
        lengths = np.diff(starts)
        result = np.zeros((self.members, self.transitions.size))
        for time in range(min(self.horizon, int(lengths.max()))):
            rows = (starts[:-1] + time)[lengths > time]
            filled = np.resize(rows, len(lengths))
            result[:, rows] = self._means(of, filled, gone=time + (of == "next_x"))[:, : len(rows)]
        return result

    def on_initial(self) -> Float[Floats, "M E"]:
        """E_{a~π_e} q̄(s₀, a) of every episode, over the drawn actions."""
        return self._means("initial_x")

    def _means(
        self, of: Literal["x", "next_x", "initial_x"], rows: Int[Integers, " n"] | None = None, gone: int = 0
    ) -> Float[Floats, "M n"]:
        """Over the draws where there are several. `gone`: steps of the horizon that lie behind."""
        models = self.trained.state.target
        if self.horizon is not None:
            models = Timed(models, jnp.full(self.members, self.horizon - gone))
        found = self.transitions.values(self.value, models, of, rows)
        values = np.asarray(found, np.float64) * self.scale
        if of == "x":
            return values
        weight = self.transitions.rows.next_weight if of == "next_x" else self.transitions.initial_weight
        if weight is not None:
            weight = np.asarray(weight, np.float64)[slice(None) if rows is None else rows]
        return np.stack([expected(own, weight) for own in values])  # of every member
