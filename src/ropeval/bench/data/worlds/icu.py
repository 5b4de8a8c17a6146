"""Intensive care, in the manner of the published sepsis simulators: vital signs, three treatments, rare deaths.

Seen are heart rate and blood pressure (0 low, 1 normal, 2 high), oxygen (0 low, 1 normal), lactate (0 normal, 1 raised,
2 high), whether the patient is diabetic, and which treatments were on during the last hours. An action chooses the
treatments for the next hours: antibiotics (1) + vasopressors (2) + ventilation (4). Who has normal signs and no
treatment goes home; who has many abnormal signs may die. The numbers are made up; what they do is not: treatments help
the sign they are for, stopping them can undo it, vasopressors raise what is normal, and lactate follows the others.
"""

from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ropeval.bench.data.worlds.lineup import Lineup
from ropeval.bench.data.worlds.table import Table, softened

LOW, NORMAL, HIGH = 0, 1, 2
ANTIBIOTICS, VASOPRESSORS, VENTILATION = 1, 2, 4
DEATH = (0.0003, 0.0005, 0.003, 0.02, 0.08)  # chance per step, by the number of abnormal signs
GOES_HOME = 0.8  # chance per step of one who may
ALIVE, DEAD, HOME = 0.0, -1.0, 1.0  # rewards
BURDEN = 0.005  # of each treatment, per step
GAMMA = 0.99
TIME_LIMIT = 60
RECIPE = {
    "weakest": (50.0, 0.0), "weak": (2.0, 0.3), "fair": (1.0, 0.2), "good": (0.5, 0.1), "strong": (0.3, 0.02),
    "best": (0.1, 0.0),
}  # fmt: skip
Floats = NDArray[np.float64]

SIGNS = (3, 3, 2, 3)  # values of heart rate, blood pressure, oxygen, lactate
COMBINATIONS = [*product(*map(range, SIGNS))]  # 54


def _moves(values: int, at: int, **chances: float) -> Floats:
    """The next value of a sign: `down`, `up`, or it stays."""
    result = np.zeros(values)
    for step, chance in ((-1, chances.get("down", 0.0)), (1, chances.get("up", 0.0))):
        result[min(max(at + step, 0), values - 1)] += chance
    result[at] += 1 - result.sum()
    return result


def _heart_rate(at: int, on: int, stopped: int) -> Floats:
    if at == LOW:
        return _moves(3, at, up=0.3)
    if on & ANTIBIOTICS:
        return _moves(3, at, down=0.5 if at == HIGH else 0.02, up=0.05 if at == NORMAL else 0.0)
    return _moves(3, at, down=0.08 if at == HIGH else 0.02, up=0.3 if stopped & ANTIBIOTICS else 0.15)


def _blood_pressure(at: int, on: int, stopped: int, lactate: int, diabetic: int) -> Floats:
    if on & VASOPRESSORS:
        rises = (0.5, 0.35, 0.0) if diabetic else (0.7, 0.2, 0.0)
        return _moves(3, at, down=0.05 if at == HIGH else 0.0, up=rises[at])
    falls = 0.4 if stopped & VASOPRESSORS else 0.08 + 0.1 * lactate
    return _moves(3, at, down=0.3 if at == HIGH else falls, up=0.08 if at == LOW else 0.0)


def _oxygen(at: int, on: int, stopped: int) -> Floats:
    if on & VENTILATION:
        return _moves(2, at, down=0.02, up=0.7)
    return _moves(2, at, down=0.25 if stopped & VENTILATION else 0.1, up=0.1)


def _lactate(at: int, on: int, pressure: int, oxygen: int) -> Floats:
    if pressure == LOW or oxygen == 0:
        return _moves(3, at, up=0.4, down=0.05)
    return _moves(3, at, up=0.03, down=0.5 if on & ANTIBIOTICS else 0.15)


def abnormal(signs: tuple[int, ...]) -> int:
    rate, pressure, oxygen, lactate = signs
    return (rate != NORMAL) + (pressure != NORMAL) + (oxygen == 0) + (lactate > 0)


@cache
def world() -> Table:
    """864 states of the living, 6 columns seen of each, and two ends."""
    living = [(*signs, diabetic, on) for diabetic in (0, 1) for on in range(8) for signs in COMBINATIONS]
    size, dead, home = len(living) + 2, len(living), len(living) + 1
    P, rewards = np.zeros((size, 8, size)), np.zeros((size, 8, size))
    for state, (rate, pressure, oxygen, lactate, diabetic, before) in enumerate(living):
        dies = DEATH[abnormal((rate, pressure, oxygen, lactate))] * (1.5 if diabetic else 1.0)
        for on in range(8):
            stopped = before & ~on
            chances = np.einsum(
                "i,j,k,l->ijkl",
                _heart_rate(rate, on, stopped),
                _blood_pressure(pressure, on, stopped, lactate, diabetic),
                _oxygen(oxygen, on, stopped),
                _lactate(lactate, on, pressure, oxygen),
            ).reshape(-1)  # [54]
            leaves = GOES_HOME if on == 0 and abnormal((rate, pressure, oxygen, lactate)) == 0 else 0.0
            first = (diabetic * 8 + on) * len(COMBINATIONS)
            P[state, on, first : first + len(COMBINATIONS)] = (1 - dies) * (1 - leaves) * chances
            P[state, on, dead], P[state, on, home] = dies, (1 - dies) * leaves
            rewards[state, on] = ALIVE - BURDEN * on.bit_count()
            rewards[state, on, dead] += DEAD
            rewards[state, on, home] += HOME
    ends = np.zeros(size, bool)
    ends[[dead, home]] = True
    P[ends, :, np.flatnonzero(ends)] = 1.0
    start = np.zeros(size)
    for state, (*signs, diabetic, on) in enumerate(living):  # admitted untreated, with two or three abnormal signs
        start[state] = (0.2 if diabetic else 0.8) * (on == 0) * (abnormal(tuple(signs)) in (2, 3))
    return Table(np.array([*map(_seen, living), [LOW] * 8, [NORMAL] * 8]), P, rewards, start / start.sum(), ends)


def _seen(state: tuple[int, ...]) -> list[int]:
    """Signs, diabetes, and each treatment in a column of its own."""
    *signs, diabetic, on = state
    return [*signs, diabetic, *(int(bool(on & drug)) for drug in (ANTIBIOTICS, VASOPRESSORS, VENTILATION))]


policies = Lineup(RECIPE, lambda: softened(world(), GAMMA, RECIPE))
