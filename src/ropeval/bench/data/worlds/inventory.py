"""A shop's inventory: every day an order, a random demand that depends on the weekday, and what is left is stored.

Seen are the stock and the weekday. A day earns the price of what was sold, less the cost of the order (a fixed part and
one per piece) and of storing what is left. What cannot be sold is lost, and the log does not show it.
"""

from functools import cache

import numpy as np
from scipy.stats import poisson

from ropeval.bench.data.worlds.lineup import Lineup
from ropeval.bench.data.worlds.table import Table, make_table, softened

SHELF = 20  # pieces that fit
ORDERS = (0, 3, 6, 10, 15)  # pieces, delivered before the shop opens
DEMAND = (3.0, 3.0, 4.0, 4.0, 6.0, 9.0, 1.0)  # mean pieces wanted, Monday to Sunday
PRICE, PIECE, DELIVERY, STORAGE = 2.0, 1.0, 1.5, 0.15
GAMMA = 0.95
TIME_LIMIT = 100
RECIPE = {
    "weakest": (100.0, 0.0), "weak": (2.0, 0.3), "fair": (1.0, 0.1), "good": (0.4, 0.05), "strong": (0.2, 0.0),
    "best": (0.05, 0.0),
}  # fmt: skip


@cache
def world() -> Table:
    def outcomes(state: tuple[int, ...], action: int) -> dict[tuple[int, ...], tuple[float, float]]:
        stock, day = state
        available = min(SHELF, stock + ORDERS[action])
        bought = available - stock
        cost = PIECE * bought + (DELIVERY if ORDERS[action] else 0.0)
        chances = poisson.pmf(np.arange(available + 1), DEMAND[day])
        chances[-1] = poisson.sf(available - 1, DEMAND[day])  # all is sold, perhaps more was wanted
        return {
            (available - sold, (day + 1) % 7): (chance, PRICE * sold - cost - STORAGE * (available - sold))
            for sold, chance in enumerate(chances)
        }

    states = np.array([(stock, day) for stock in range(SHELF + 1) for day in range(7)])
    return make_table(states, len(ORDERS), outcomes, {(10, day): 1 / 7 for day in range(7)})


policies = Lineup(RECIPE, lambda: softened(world(), GAMMA, RECIPE))
