"""The curves of a unit, long."""

import numpy as np
import polars as pl

from ropeval.bench.run.schema import CURVES
from ropeval.bench.run.study import Unit
from ropeval.learning.engine import Trained


class Curves:
    """The curves of a unit. What was trained once for all policies is kept once, under no policy's name."""

    def __init__(self, unit: Unit, protocol: str):
        self._unit, self._protocol = unit, protocol
        self._trained: dict[str, Trained] = {}  # by stage, the first policy's
        self._frames: list[tuple[str, str, pl.DataFrame]] = []  # policy, stage
        self._shared: set[str] = set()

    def add(self, policy: str, trained: dict[str, Trained]) -> None:
        for stage, run in trained.items():
            if self._trained.get(stage) is run:  # the very same training as for the first policy
                self._shared.add(stage)
            else:
                self._trained.setdefault(stage, run)
                self._frames.append((policy, stage, _long(self._unit, run)))

    def frame(self) -> pl.DataFrame:
        named = [
            frame.with_columns(
                unit=pl.lit(self._unit.id),
                task=pl.lit(self._unit.task),
                policy=pl.lit("" if stage in self._shared else policy),
                method=pl.lit(self._unit.method),
                protocol=pl.lit(self._protocol),
                stage=pl.lit(stage),
            ).select(pl.col(name).cast(kind) for name, kind in CURVES.items())
            for policy, stage, frame in self._frames
        ]
        return pl.concat([pl.DataFrame(schema=CURVES), *named])


def _long(unit: Unit, run: Trained) -> pl.DataFrame:
    """Column by column: a study has millions of points, too many for a loop over them."""
    points, frames = len(run.steps), []
    for metric, values in run.curves.items():
        members = max(len(unit.members), values.shape[1])
        own = [unit.members[min(place, len(unit.members) - 1)] for place in range(members)]
        seeds = [m.seed for m in own] if members == len(unit.members) else list(range(members))  # or the resamples
        frames.append(
            pl.DataFrame(
                {
                    "hyper": np.repeat([m.hyper for m in own], points),
                    "seed": np.repeat(seeds, points),
                    "step": np.tile(run.steps, members),
                    "value": np.broadcast_to(values, (points, members)).T.reshape(-1).astype(np.float32),
                }
            ).with_columns(metric=pl.lit(metric))
        )
    return pl.concat(frames, how="vertical") if frames else pl.DataFrame()
