"""An MDP from outcomes: a toy-text transition table, or the counts of a discrete log.

Both are lists of weighted outcomes (s, a, weight, s', reward, done); the weights of a pair are normalised. For a
table they are probabilities. For a log they are ones, and the result is the maximum-likelihood MDP.

Termination in such lists is a flag on the outcome, in a `TabularMDP` it is a property of the state. The states
reached with the flag become terminal, unless one of them is also reached without it, or acts in the log (left in
one episode, the end of another): then every flagged outcome leads to one extra terminal state.
"""

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ropeval.errors import UserError
from ropeval.tabular.mdp import Array, BoolArray, IntArray, TabularMDP, finite, numeric

Unvisited = Literal["error", "stay"]


class Outcomes(NamedTuple):
    state: IntArray  # [m]
    action: IntArray  # [m]
    reward: Array  # [m]
    next_state: IntArray  # [m]
    done: BoolArray  # [m] terminated; a time limit is not a termination
    weight: Array  # [m]

    @classmethod
    def of(cls, *columns: npt.ArrayLike) -> "Outcomes":
        """Of columns in this order, of any numbers."""
        kinds = (np.int64, np.int64, np.float64, np.int64, bool, np.float64)
        return cls(*(np.asarray(column).astype(kind) for column, kind in zip(columns, kinds, strict=True)))


def from_gymnasium(env: Any, gamma: float, d0: npt.ArrayLike | None = None) -> TabularMDP:
    """From `env.unwrapped.P[s][a] = [(probability, next state, reward, terminated), …]`, by duck typing."""
    inner = getattr(env, "unwrapped", env)
    table = getattr(inner, "P", None)
    if table is None:
        raise UserError(f"{type(inner).__name__}: no transition table `P`; a toy-text environment has one")
    start = d0 if d0 is not None else getattr(inner, "initial_state_distrib", None)
    if start is None:
        raise UserError(f"{type(inner).__name__}: no `initial_state_distrib`; pass d0, shape [S]")
    rows = [
        (state, action, reward, next_state, done, weight)
        for state, actions in table.items()
        for action, outcomes in actions.items()
        for weight, next_state, reward, done in outcomes
    ]
    outcomes = Outcomes.of(*zip(*rows, strict=True))
    S, A = len(table), len(next(iter(table.values())))
    # In a table every state has rows, so that "acts" says nothing: what a terminal state would do is ignored.
    return _assemble(outcomes, S, A, gamma, numeric("d0", start), acting_states_end=True, unvisited="error")


def from_log(
    states: npt.ArrayLike,
    actions: npt.ArrayLike,
    rewards: npt.ArrayLike,
    next_states: npt.ArrayLike,
    terminated: npt.ArrayLike,
    *,
    num_states: int,
    num_actions: int,
    gamma: float,
    d0: npt.ArrayLike,
    unvisited: Unvisited = "error",
) -> TabularMDP:
    """The MDP of the counts; `d0` holds the frequencies of the episodes' first states.

    A pair that the log never shows has no outcome. "error" names the first such pair; "stay" gives it a self-loop
    with reward 0, which is what a tabular learner started at zero would believe, and is right only where the
    evaluated policy never goes.
    """
    limits = {"states": num_states, "actions": num_actions, "rewards": None, "next_states": num_states, "terminated": 2}
    given = (states, actions, rewards, next_states, terminated)
    columns = [_column(name, values, limit) for (name, limit), values in zip(limits.items(), given, strict=True)]
    for name, column in zip(limits, columns, strict=True):
        if column.size != columns[0].size:
            raise UserError(f"{name}: {column.size} entries, but states has {columns[0].size}")
    log = Outcomes.of(*columns, np.ones(columns[0].size))
    start = numeric("d0", d0)
    return _assemble(log, num_states, num_actions, gamma, start, acting_states_end=False, unvisited=unvisited)


def _column(name: str, values: npt.ArrayLike, limit: int | None) -> Array:
    """[m] of finite numbers; below a limit, where there is one, and whole."""
    column = numeric(name, values)
    if column.ndim != 1 or column.size == 0:
        raise UserError(f"{name}: shape {column.shape} found; a column is [m], one entry per transition")
    finite(name, column)
    if limit is not None:
        bad = np.flatnonzero((column != np.floor(column)) | (column < 0) | (column >= limit))
        if len(bad):
            wanted = f"a whole number from 0 to {limit - 1}"
            raise UserError(f"{name}: row {bad[0]} is {column[bad[0]]:g}; it must be {wanted}")
    return column


def _assemble(
    outcomes: Outcomes, S: int, A: int, gamma: float, d0: Array, *, acting_states_end: bool, unvisited: Unvisited
) -> TabularMDP:
    terminal = np.zeros(S, dtype=bool)
    terminal[outcomes.next_state[outcomes.done]] = True
    running = ~terminal[outcomes.state]  # outcomes of a terminal state are never consulted
    reached_alive = terminal[outcomes.next_state] & ~outcomes.done & running
    if reached_alive.any() or (not acting_states_end and not running.all()):
        end, S = S, S + 1  # one extra state to end in
        outcomes = outcomes._replace(next_state=np.where(outcomes.done, end, outcomes.next_state))
        terminal = np.arange(S) == end
        d0 = np.append(d0, 0.0)

    P, r = np.zeros((S, A, S)), np.zeros((S, A))
    np.add.at(P, (outcomes.state, outcomes.action, outcomes.next_state), outcomes.weight)
    np.add.at(r, (outcomes.state, outcomes.action), outcomes.weight * outcomes.reward)
    total = P.sum(axis=-1)  # [S, A]
    empty = (total == 0) & ~terminal[:, None]
    if empty.any() and unvisited == "error":
        state, action = np.argwhere(empty)[0]
        raise UserError(
            f"state {state}, action {action}: no transition in the log ({int(empty.sum())} such pairs); "
            'collect it, or pass unvisited="stay" to give those pairs a self-loop with reward 0'
        )
    P[empty, np.nonzero(empty)[0]] = 1.0
    total = np.where(total == 0, 1.0, total)
    return TabularMDP(P / total[..., None], r / total, d0, gamma, terminal)
