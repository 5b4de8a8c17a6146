"""What came before tells nothing of a whole state."""

from types import SimpleNamespace

import numpy as np
import pytest

from ropeval.estimators.world import FORETOLD, REMEMBERS, notes
from ropeval.estimators.world.memory import (
    PRODUCTS,
    REWARD,
    STRETCH,
    Memory,
    foretold_by,
    remembered,
    rows_in_a_row,
)
from ropeval.evaluation.verdict.rule import BY_REASON
from tests.estimators.world.logs import log_of

N, LENGTH = 4000, 20
EPISODE = np.arange(N) // LENGTH


def rows(width=2, seed=0):
    return np.random.default_rng(seed).standard_normal((N, width))


def test_the_share_that_the_row_before_explains():
    """Surprises of variance 1, of which a fifth is what the row before shows; and some that it knows nothing of."""
    before, now, noise = rows(), rows(seed=1), rows(seed=2)
    surprise = np.stack([np.sqrt(0.2) * before[:, 0] + np.sqrt(0.8) * noise[:, 0], noise[:, 1]], axis=1)
    found = foretold_by(before, now, surprise, EPISODE)
    assert found[0] == pytest.approx(0.2, abs=0.03)
    assert found[1] == 0.0


@pytest.mark.parametrize("width", [2, PRODUCTS + 1])
def test_what_was_not_learned_of_the_row_itself_is_not_held_against_the_state(width):
    """The row before leads to this one, so it tells of it; but not beyond it."""
    now, noise = rows(width), rows(1, seed=1)
    before = now + 0.1 * rows(width, seed=2)
    surprise = 0.5 * now[:, :1] ** 2 - 0.5 + noise
    assert foretold_by(before, now, surprise, EPISODE) == 0.0
    assert foretold_by(before, np.zeros((N, 1)), before[:, :1] + noise, EPISODE) > 0.3  # so the test can fail


def test_a_difference_that_may_be_luck_does_not_count():
    """The same share of 5 %, in all episodes and in the first ten."""
    before, now = rows(), rows(seed=1)
    surprise = np.sqrt(0.05) * before[:, :1] + np.sqrt(0.95) * rows(1, seed=2)
    assert foretold_by(before, now, surprise, EPISODE) > 0.03
    few = slice(10 * LENGTH)
    assert foretold_by(before[few], now[few], surprise[few], EPISODE[few]) == 0.0


def test_one_episode_has_nobody_to_be_measured_on():
    before = rows()
    assert foretold_by(before, rows(seed=1), before[:, :1], np.zeros(N, np.int64)) == 0.0


def test_rewards_and_choices_are_asked_as_columns_are():
    """Of three surprises the first is drawn as noise; the last, of the reward, is told by the row before. Of the second
    too little is left to ask."""
    shown, told = rows(2, seed=4), rows(3, seed=5)
    told[1:, 2] = np.sqrt(0.5) * shown[:-1, 0] + np.sqrt(0.5) * told[1:, 2]
    told[1:, 1] = 0.3 * shown[:-1, 1]
    before = np.flatnonzero(np.diff(EPISODE) == 0)
    found = remembered(told, 1, [3, 4, REWARD], shown, rows(2, seed=6), before, EPISODE)
    assert (found.column, found.foretold_column) == (3, REWARD)
    assert found.foretold == pytest.approx(0.5, abs=0.05)
    assert found.correlation < 0.1
    calm = remembered(rows(3, seed=7), 0, [3, 4, REWARD], shown, rows(2, seed=6), before, EPISODE)
    assert (calm.correlation, calm.foretold) == (0.0, 0.0)


def test_a_warning_names_the_column_and_begins_where_verdicts_change():
    def told(**memory):
        return notes(SimpleNamespace(good=np.ones(2, bool), memory=Memory(**memory)), ["pulse", "lactate"])

    assert told() == told(foretold=0.009, foretold_column=1) == ()
    (stale,) = told(foretold=0.025, foretold_column=1)
    assert "tells 2.5% of what cannot be foreseen of lactate" in stale
    assert "cannot be foreseen of the reward" in told(foretold=0.025, foretold_column=REWARD)[0]
    (hidden,) = told(correlation=0.9, column=0, foretold=0.025, foretold_column=1)  # one of them is enough
    assert "noise of pulse is none" in hidden
    assert [BY_REASON[sign].harmless for sign in ("memory", "foretold")] == [REMEMBERS, FORETOLD]


@pytest.mark.parametrize("count", [120, 60])
def test_rows_in_a_row_follow_each_other_within_an_episode_that_goes_on(count):
    states = np.arange(120.0)[:, None]
    ends, cuts = np.zeros(120, bool), np.zeros(120, bool)
    ends[[9, 75]], cuts[[40, 119]] = True, True
    log = log_of(states, states, ends=ends, cuts=cuts)
    rows, before = rows_in_a_row(log, count)
    assert len(rows) == count
    found = set(rows[before])
    possible = {row for row in range(119) if not ends[row] and not cuts[row] and not ends[row + 1]}
    assert found == possible if count == 120 else found < possible
    np.testing.assert_array_equal(rows[before + 1], rows[before] + 1)
    assert len(found) > count - STRETCH // 5
