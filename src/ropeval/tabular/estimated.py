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
    columns = [np.asarray(column) for column in zip(*rows, strict=True)]
    S, A = len(table), len(next(iter(table.values())))
    outcomes = Outcomes(
        columns[0].astype(np.int64),
        columns[1].astype(np.int64),
        columns[2].astype(np.float64),
        columns[3].astype(np.int64),
        columns[4].astype(bool),
        columns[5].astype(np.float64),
    )
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
    log = _checked_log(states, actions, rewards, next_states, terminated, num_states, num_actions)
    start = numeric("d0", d0)
    return _assemble(log, num_states, num_actions, gamma, start, acting_states_end=False, unvisited=unvisited)


def _checked_log(
    states: npt.ArrayLike,
    actions: npt.ArrayLike,
    rewards: npt.ArrayLike,
    next_states: npt.ArrayLike,
    terminated: npt.ArrayLike,
    S: int,
    A: int,
) -> Outcomes:
    columns = {
        "states": (states, S),
        "actions": (actions, A),
        "rewards": (rewards, None),
        "next_states": (next_states, S),
        "terminated": (terminated, 2),
    }
    checked: dict[str, Array] = {}
    for name, (values, limit) in columns.items():
        column = numeric(name, values)
        if column.ndim != 1 or column.size == 0:
            raise UserError(f"{name}: shape {column.shape} found; a column is [m], one entry per transition")
        if checked and column.size != checked["states"].size:
            raise UserError(f"{name}: {column.size} entries, but states has {checked['states'].size}")
        finite(name, column)
        if limit is not None:
            bad = np.flatnonzero((column != np.floor(column)) | (column < 0) | (column >= limit))
            if len(bad):
                wanted = f"a whole number from 0 to {limit - 1}"
                raise UserError(f"{name}: row {bad[0]} is {column[bad[0]]:g}; it must be {wanted}")
        checked[name] = column
    return Outcomes(
        checked["states"].astype(np.int64),
        checked["actions"].astype(np.int64),
        checked["rewards"],
        checked["next_states"].astype(np.int64),
        checked["terminated"].astype(bool),
        np.ones(checked["states"].size),
    )


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
