"""A policy that sees normalised observations, although it is asked with raw ones."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ropeval.arrays import AnyArray, Floats, Singles
from ropeval.errors import UserError
from ropeval.policies.policy import Policy, Space

if TYPE_CHECKING:
    from ropeval.policies.compiled import CompiledPolicy


@dataclass(frozen=True, eq=False)
class Statistics:
    """What the policy's training normalised its observations by: clip((s − mean)/√(variance + ε), ±limit)."""

    mean: Floats  # [S]
    variance: Floats  # [S]
    epsilon: float = 1e-8
    limit: float = 10.0

    def apply(self, observations: Singles) -> Singles:
        scaled = (np.asarray(observations) - self.mean) / np.sqrt(self.variance + self.epsilon)
        return np.clip(scaled, -self.limit, self.limit).astype(np.float32)


class NormalisedPolicy(Policy):
    """π(a | normalised s), with everything else as in the policy inside."""

    def __init__(self, inside: Policy, statistics: Statistics):
        if inside.observation_size not in (None, len(statistics.mean)):
            raise UserError(
                f"policy {inside.name}: it takes observations of size {inside.observation_size}, but the statistics "
                f"given with it are of {len(statistics.mean)} numbers; are they from the same training?"
            )
        self.inside, self.statistics = inside, statistics
        self.name, self.deterministic, self.discrete = inside.name, inside.deterministic, inside.discrete
        self.observation_size, self.action_size = len(statistics.mean), inside.action_size

    def _told(self, space: Space) -> "NormalisedPolicy":
        return NormalisedPolicy(self.inside._told(space), self.statistics)

    def named(self, name: str) -> "NormalisedPolicy":
        return NormalisedPolicy(self.inside.named(name), self.statistics)

    def sample(self, observations: Singles, rng: np.random.Generator) -> AnyArray:
        return self.inside.sample(self.statistics.apply(observations), rng)

    def draws(self, observations: Singles, count: int, rng: np.random.Generator) -> Iterable[AnyArray]:
        return self.inside.draws(self.statistics.apply(observations), count, rng)

    @property
    def side_by_side(self) -> bool:
        return self.inside.side_by_side

    @property
    def has_log_prob(self) -> bool:
        return self.inside.has_log_prob

    def log_prob(self, observations: Singles, actions: AnyArray) -> Floats:
        return self.inside.log_prob(self.statistics.apply(observations), actions)

    def action_probabilities(self, observations: Singles) -> Floats | None:
        return self.inside.action_probabilities(self.statistics.apply(observations))

    def compiled(self) -> "CompiledPolicy | None":
        from ropeval.policies.compiled import compile_normalised

        inside = self.inside.compiled()
        return None if inside is None else compile_normalised(inside, self.statistics)

    @property
    def has_features(self) -> bool:
        return self.inside.has_features

    def features(self, observations: Singles, actions: AnyArray) -> AnyArray:
        return self.inside.features(self.statistics.apply(observations), actions)

    @property
    def box(self) -> tuple[Singles, Singles] | None:
        return self.inside.box

    def notes(self, observations: Singles) -> list[str]:
        """Raw observations should come out with a spread of about one; those that are normalised already do not."""
        scaled = self.statistics.apply(observations)
        spread = float(scaled.std(axis=0).mean())
        away = float(np.abs(scaled.mean(axis=0)).max(initial=0.0))
        if 0.2 <= spread <= 5.0 and away <= 5.0:
            return []
        return [
            f"policy {self.name}: normalised by its statistics, the logged observations spread by {spread:.2g} and "
            f"lie up to {away:.2g} from zero, where about 1 and 0 are usual; is the log normalised already (then "
            "+none), or of another task?"
        ]

    @property
    def sha256(self) -> str | None:
        if self.inside.sha256 is None:
            return None
        result = hashlib.sha256(f"{self.inside.sha256} {self.statistics.epsilon} {self.statistics.limit}".encode())
        result.update(self.statistics.mean.tobytes() + self.statistics.variance.tobytes())
        return result.hexdigest()

    def __repr__(self) -> str:
        return f"{self.inside!r}, on normalised observations"
