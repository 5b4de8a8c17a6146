"""The chain: twenty places in a row, a small reward at the near end, a large one at the far end, slippery steps."""

from functools import cache

import numpy as np

from ropeval.bench.data.worlds.lineup import Lineup
from ropeval.bench.data.worlds.table import Table, make_table, softened

PLACES = 20
GAMMA = 0.95
TIME_LIMIT = 100
SLIP = 0.2  # of going the other way
NEAR, FAR, COST = 0.3, 5.0, 0.05
RECIPE = {"weakest": (50.0, 0.0), "weak": (3.0, 0.1), "fair": (1.2, 0.05), "good": (0.6, 0.0), "best": (0.1, 0.0)}


@cache
def world() -> Table:
    def outcomes(state: tuple[int, ...], action: int) -> dict[tuple[int, ...], tuple[float, float]]:
        """0: back, 1: on. Who stands at an end and pushes on collects there; the far end sends back to the start."""
        place = state[0]
        step = 1 if action else -1
        ends: dict[tuple[int, ...], tuple[float, float]] = {}
        for direction, probability in ((step, 1 - SLIP), (-step, SLIP)):
            target = place + direction
            if target < 0:
                ends[(0,)] = (probability, NEAR)
            elif target >= PLACES:
                ends[(0,)] = (probability, FAR)
            else:
                ends[(target,)] = (probability, -COST)
        return ends

    return make_table(np.arange(PLACES)[:, None], 2, outcomes, {(place,): 0.25 for place in range(4)})


policies = Lineup(RECIPE, lambda: softened(world(), GAMMA, RECIPE))
