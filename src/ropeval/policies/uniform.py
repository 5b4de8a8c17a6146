"""Every action alike."""

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from ropeval.arrays import AnyArray, Floats, Singles
from ropeval.errors import UserError
from ropeval.policies.policy import Policy, Space

if TYPE_CHECKING:
    from ropeval.policies.compiled import CompiledPolicy


class UniformPolicy(Policy):
    """Uniform over a box, or over a discrete set. What is not given is the log's: the range of its actions, or their
    number."""

    deterministic = False

    def __init__(self, low: Any = None, high: Any = None, num_actions: int | None = None, name: str = "uniform"):
        self.name = name
        self._low, self._high = (None if bound is None else np.asarray(bound, np.float32) for bound in (low, high))
        if low is not None or high is not None:
            self.discrete = False
        if num_actions is not None:
            self.discrete, self.action_size = True, num_actions
        self._check_bounds()

    def _check_bounds(self) -> None:
        low, high = self._low, self._high
        if not all(bound is None or np.isfinite(bound).all() for bound in (low, high)):
            raise UserError(f"policy {self.name}: its bounds are {low} and {high}; expected finite numbers")
        if low is not None and high is not None and not (low <= high).all():
            raise UserError(f"policy {self.name}: its lower bound {low} is above its upper bound {high}")

    def _told(self, space: Space) -> "UniformPolicy":
        told = copy.copy(self)
        told.discrete, told.action_size = space.discrete, self.action_size or space.action_size
        if not space.discrete:
            told._low, told._high = (
                self._whole(own, logged, space.action_size)
                for own, logged in ((self._low, space.low), (self._high, space.high))
            )
            told._check_bounds()
        return told

    def _whole(self, own: Singles | None, logged: Any, size: int) -> Singles:
        """A bound [A]: its own, or else the log's."""
        bound = np.asarray(logged, np.float32) if own is None else own
        if bound.shape not in ((), (1,), (size,)):
            raise UserError(f"policy {self.name}: its bounds have {bound.size} numbers, but an action has {size}")
        return np.broadcast_to(bound, (size,))

    @property
    def bounds(self) -> tuple[Singles, Singles]:
        """The box, [A] each."""
        if self._low is None or self._high is None:
            raise UserError(f"policy {self.name}: it has no bounds yet; call fitted(space) before it acts")
        return self._low, self._high

    def sample(self, observations: Singles, rng: np.random.Generator) -> AnyArray:
        if self.discrete:
            assert self.action_size is not None
            return rng.integers(self.action_size, size=len(observations))
        low, high = self.bounds
        return rng.uniform(low, high, size=(len(observations), len(low)))

    def log_prob(self, observations: Singles, actions: AnyArray) -> Floats:
        if self.discrete:
            assert self.action_size is not None
            return np.full(len(observations), -np.log(self.action_size))
        low, high = self.bounds
        width = high.astype(np.float64) - low  # [A]
        if not (width > 0).all():
            raise UserError(
                f"policy {self.name}: its box has no width in dimension {int(np.argmin(width))}: no density"
            )
        inside = ((actions >= low) & (actions <= high)).all(axis=-1)
        return np.where(inside, -np.log(width).sum(), -np.inf)

    def compiled(self) -> "CompiledPolicy":
        from ropeval.policies.compiled import compile_uniform

        return compile_uniform(self)
