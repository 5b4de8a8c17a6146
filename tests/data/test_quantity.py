"""A number is a quantity where what happens at it lies between what happens at its neighbours."""

import gymnasium
import numpy as np
import pytest

from ropeval.bench.data.worlds.chain import world as chain
from ropeval.data import quantity
from ropeval.data.quantity import is_quantity

TEN = np.tile(np.arange(10), 2)  # each number twice, and nothing by chance
STILL, NEVER = TEN, np.zeros(20, bool)


@pytest.mark.parametrize(
    ("earned", "found"),
    [
        (lambda n: -0.1 * n, True),
        (lambda n: -abs(n - 4.0), True),  # a target in the middle
        (lambda n: 1.0 * (n > 4), True),  # a step
        (lambda n: n % 2, False),
        (lambda n: n % 5, False),  # rows of five
        (lambda n: 1.0 * (n == 6), False),
        (lambda n: np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3])[n], False),
        (lambda n: 0.5 + 0 * n, False),  # the number tells nothing
        (lambda n: 1.0 * (n == 0) - (n == 9), False),  # or at the ends alone
    ],
)
def test_without_chance(earned, found):
    for numbers in (TEN, 7 * TEN - 30):
        assert is_quantity(numbers, numbers, earned(TEN), NEVER, None) == found
        assert is_quantity(numbers, numbers, earned(TEN), NEVER, TEN * 0 + 1) == found


def test_one_action_that_says_name_is_enough():
    twice, actions = np.tile(TEN, 2), np.repeat([0, 1], 20)
    jumps, costs = (actions == 1) & (twice % 2 == 1), -1.0 * twice
    assert is_quantity(twice, twice, costs, np.zeros(40, bool), actions)
    assert not is_quantity(twice, twice, np.where(actions, jumps, costs), np.zeros(40, bool), actions)
    assert not is_quantity(twice, twice, costs, jumps, actions)


def test_few_numbers_stay_names():
    few = TEN % 4
    assert not is_quantity(few, few, -1.0 * few, NEVER, None)


def queue(n, a, rng):
    served = (n > 0) & (rng.random(len(n)) < np.where(a, 0.6, 0.3))
    return np.minimum(n + (rng.random(len(n)) < 0.45) - served, 30), -0.1 * n - 0.5 * a, np.zeros(len(n), bool)


def batches(n, a, rng):
    left = np.maximum(n - rng.binomial(6, np.where(a, 0.6, 0.25)), 0)
    return (
        np.minimum(left + rng.poisson(2.2, len(n)), 30),
        -0.1 * n - a + rng.normal(size=len(n)),
        np.zeros(len(n), bool),
    )


def stock(n, a, rng):
    has = np.minimum(n + 8 * a, 30)
    sold = np.minimum(has, rng.poisson(8, len(n)))
    return has - sold, 2.0 * sold - 0.2 * has - 8 * a, np.zeros(len(n), bool)


def infected(n, a, rng):
    new = rng.binomial(30 - n, 1 - np.exp(-np.where(a, 0.1, 0.4) * n / 30))
    after = n + new - rng.binomial(n, 0.2)
    return after, -n / 3 - 1.5 * a, after == 0


def logged(happens, rows, rng):
    """Low numbers are frequent, and the second action is rare where they are low."""
    numbers = 1 + rng.integers(0, 30, rows) * rng.integers(1, 31, rows) // 30
    actions = (rng.random(rows) < np.where(numbers > 8, 0.9, 0.1)).astype(int)
    return numbers, *happens(numbers, actions, rng), actions


@pytest.mark.parametrize("happens", [queue, batches, stock, infected])
@pytest.mark.parametrize("rows", [2000, 20_000])
def test_quantities_and_the_same_under_other_names(happens, rows):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        here, after, earned, ended, actions = logged(happens, rows, rng)
        names = rng.permutation(31)
        assert is_quantity(here, after, earned, ended, actions)
        assert not is_quantity(names[here], names[after], earned, ended, actions)
        assert not is_quantity(names[here], names[after], earned, ended, None)


def steps(P, r, ends, rows, seed):
    """Of a table: [S, A, S] each. States and actions are drawn at random, but not those in which all is over."""
    rng = np.random.default_rng(seed)
    live = np.flatnonzero(~(np.diagonal(ends, axis1=0, axis2=2).all(axis=0)))
    here, actions = rng.choice(live, rows), rng.integers(0, P.shape[1], rows)
    after = (P[here, actions].cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1)
    return here, after, r[here, actions, after], ends[here, actions, after], actions


def table_of(game):
    size = game.observation_space.n, game.action_space.n, game.observation_space.n
    P, r, ends = np.zeros(size), np.zeros(size), np.zeros(size, bool)
    for state, by_action in game.P.items():
        for action, outcomes in by_action.items():
            for chance, after, earned, over in outcomes:
                P[state, action, after] += chance
                r[state, action, after], ends[state, action, after] = earned, over
    return P, r, ends


GAMES = [
    ("FrozenLake-v1", {"map_name": "4x4"}),
    ("FrozenLake-v1", {"map_name": "4x4", "is_slippery": False}),
    ("FrozenLake-v1", {"map_name": "8x8"}),
    ("FrozenLake-v1", {"map_name": "8x8", "is_slippery": False}),
    ("CliffWalking-v1", {}),
    ("Taxi", {}),
]


@pytest.mark.parametrize(("name", "options"), GAMES)
@pytest.mark.filterwarnings("ignore:.*Using the latest versioned environment")
def test_the_states_of_games_are_names(name, options):
    P, r, ends = table_of(gymnasium.make(name, **options).unwrapped)
    for rows in (2000, 20_000):
        assert not is_quantity(*steps(P, r, ends, rows, 0))


def test_the_suites_chain_stays_as_it_was():
    """Between its ends nothing depends on the place."""
    table = chain()
    for seed in range(5):
        assert not is_quantity(*steps(table.P, table.rewards, np.zeros(table.P.shape, bool), 20_000, seed))


@pytest.mark.parametrize(("height", "width"), [(3, 3), (5, 5), (10, 10), (3, 30), (30, 3)])
def test_cells_are_names_without_holes_too(height, width):
    """Only walls tell where a row ends."""
    cells = np.arange(height * width)
    rows, columns = np.divmod(cells, width)
    P = np.zeros((len(cells), 4, len(cells)))
    for action, (down, right) in enumerate([(0, -1), (1, 0), (0, 1), (-1, 0)]):
        after = np.clip(rows + down, 0, height - 1) * width + np.clip(columns + right, 0, width - 1)
        P[cells, action, after] = 1.0
    P = 0.9 * P + 0.1 * P.mean(axis=1, keepdims=True)  # one step in ten goes anywhere
    never = np.zeros(P.shape, bool)
    for earned in (-1.0 + 0 * cells, 1.0 * (cells == cells[-1]), 1.0 * rows + columns):  # costs, a goal, how near it is
        for seed in range(2):
            assert not is_quantity(*steps(P, np.broadcast_to(earned, P.shape), never, 50 * len(cells), seed))


def test_numbers_that_tell_nothing_stay_names():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        here, after = rng.integers(0, 20, (2, 3000))
        assert not is_quantity(here, after, rng.normal(size=3000), rng.random(3000) < 0.1, rng.integers(0, 3, 3000))


def test_of_a_long_log_some_rows_are_looked_at(monkeypatch):
    monkeypatch.setattr(quantity, "ROWS", 1000)
    rows = quantity._some_rows(10_500)
    assert 900 < len(rows) <= 1000
    assert (np.diff(rows) > 0).all()
    assert rows[-1] < 10_500
    assert len(set(rows % 11)) == 11
    assert (quantity._some_rows(700) == np.arange(700)).all()
