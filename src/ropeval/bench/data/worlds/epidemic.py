"""An epidemic in a village of 24: infections by chance (Reed and Frost's chain of binomials), and measures.

Seen are how many can still fall ill and how many are ill. Every day one of three measures is taken: none, masks, a
lockdown. Each costs something, and so does every new case. It is over when nobody is ill.
"""

from functools import cache

import numpy as np
from scipy.stats import binom

from ropeval.bench.data.worlds.lineup import Lineup
from ropeval.bench.data.worlds.table import Table, make_table, softened

VILLAGERS = 24
CONTACT = (0.10, 0.055, 0.015)  # chance that one who is ill infects a given other within a day: by measure
MEASURE = (0.0, 0.6, 2.0)  # what a day of it costs
CASE = 1.0  # what a new case costs
RECOVERY = 0.35  # per day
GAMMA = 0.98
TIME_LIMIT = 100
RECIPE = {"weakest": (20.0, 0.3), "weak": (1.5, 0.2), "fair": (0.7, 0.1), "good": (0.3, 0.05), "best": (0.05, 0.0)}


@cache
def world() -> Table:
    def outcomes(state: tuple[int, ...], action: int) -> dict[tuple[int, ...], tuple[float, float]]:
        healthy, ill = state
        fall_ill = binom.pmf(np.arange(healthy + 1), healthy, 1 - (1 - CONTACT[action]) ** ill)
        recover = binom.pmf(np.arange(ill + 1), ill, RECOVERY)
        return {
            (healthy - cases, ill - recovered + cases): (p * q, -CASE * cases - MEASURE[action])
            for cases, p in enumerate(fall_ill)
            for recovered, q in enumerate(recover)
        }

    counts = range(VILLAGERS + 1)
    states = np.array([(healthy, ill) for healthy in counts for ill in counts if healthy + ill <= VILLAGERS])
    start: dict[tuple[int, ...], float] = {(VILLAGERS - ill, ill): 1 / 3 for ill in (1, 2, 3)}
    return make_table(states, len(CONTACT), outcomes, start, terminal=lambda state: state[1] == 0)


policies = Lineup(RECIPE, lambda: softened(world(), GAMMA, RECIPE))
