"""The paper's didactic gridworld, 3×3 and larger.

The agent starts in the bottom left cell; the top right cell ends the episode. Moves are deterministic, and a move
into the wall stays. The reward is minus the Manhattan distance to the top right cell. π_e goes up or right with
equal chance from the start, then right until the last column, then up (in the centre of the 3×3 grid: right,
as the paper says). π_b is uniform, γ = 0.99.

The paper does not say whose distance is paid: that of the cell the agent acts in ("current", the literal reading
of a reward r(s, a), and the default) or of the cell it arrives in ("next"). Under both, the pairs with q ≈ −6
(exactly −5.9601) form one group, ROPE's groups are those of q, and no other metric's are; docs/guide/theory.md has both
tables.
"""

from typing import Literal, NamedTuple

import numpy as np

from ropeval.errors import UserError, unknown_name
from ropeval.tabular.mdp import Array, TabularMDP

UP, RIGHT, DOWN, LEFT = range(4)
MOVES = ((1, 0), (0, 1), (-1, 0), (0, -1))  # (row, column), rows counted from the bottom
LARGEST = 25  # 2,500 pairs; distances fill a few 50 MB arrays

RewardOf = Literal["current", "next"]


class Gridworld(NamedTuple):
    size: int
    mdp: TabularMDP
    pi_e: Array  # [S, 4]
    pi_b: Array  # [S, 4]


def gridworld(size: int = 3, reward_of: RewardOf = "current", gamma: float = 0.99) -> Gridworld:
    """State s = row·size + column, rows counted from the bottom; actions up, right, down, left."""
    if not 2 <= size <= LARGEST:
        raise UserError(f"size: {size} found; the grid has 2 to {LARGEST} cells on a side")
    if reward_of not in ("current", "next"):
        raise unknown_name("reward", reward_of, ["current", "next"])
    S = size * size
    start, end = 0, S - 1
    row, column = np.divmod(np.arange(S), size)

    P = np.zeros((S, 4, S))
    for action, (up, right) in enumerate(MOVES):
        to_row, to_column = np.clip(row + up, 0, size - 1), np.clip(column + right, 0, size - 1)
        P[np.arange(S), action, to_row * size + to_column] = 1.0

    distance = (size - 1 - row) + (size - 1 - column)  # [S]
    r = -P @ distance if reward_of == "next" else -np.repeat(distance[:, None], 4, axis=1)

    pi_e = np.zeros((S, 4))
    pi_e[np.arange(S), np.where(column < size - 1, RIGHT, UP)] = 1.0
    pi_e[start] = [0.5, 0.5, 0.0, 0.0]
    mdp = TabularMDP(P, r, np.eye(S)[start], gamma, np.arange(S) == end)
    return Gridworld(size, mdp, mdp.policy(pi_e), mdp.uniform_policy())
