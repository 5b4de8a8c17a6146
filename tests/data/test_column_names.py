"""Names of columns: found by alias, number and pattern, or said."""

import numpy as np
import pytest

from ropeval.data import load_dataset
from ropeval.data.column_names import find_names, parse_columns
from ropeval.data.quality import log_warnings
from ropeval.errors import UserError
from tests.data import logs
from tests.data.test_quality import longer


def test_names_are_found_by_alias_number_and_pattern():
    available = ["obs_0", "obs_10", "obs_2", "action", "reward", "terminal", "timeouts", "x1", "x10", "x9"]
    found = find_names(available, {}, "log")
    assert found["observations"] == ["obs_0", "obs_2", "obs_10"]
    assert found["terminations"] == ["terminal"]
    assert find_names(available, parse_columns(["observations=x*"]), "log")["observations"] == ["x1", "x9", "x10"]


def test_names_may_be_spelled_otherwise():
    available = ["Obs_0", "Obs_1", "Action", "Reward", "Terminated", "episodeId", "T"]
    found = find_names(available, {}, "log")
    assert found["observations"] == ["Obs_0", "Obs_1"]
    assert [found[name] for name in ("actions", "rewards", "terminations")] == [["Action"], ["Reward"], ["Terminated"]]
    assert found["episode_ids"] == ["episodeId"]
    assert "time" not in found  # T is more likely a temperature
    assert find_names(["Reward", "reward"], {}, "log")["rewards"] == ["reward"]
    assert "rewards" not in find_names(["Reward", "REWARD"], {}, "log")  # which one?


def test_flags_that_never_happen_can_be_said(tmp_path):
    columns = longer()
    del columns["truncations"]
    np.savez(tmp_path / "log.npz", **columns)
    log = load_dataset(tmp_path / "log.npz", parse_columns(["truncations=never"]))
    assert log.num_episodes == 21  # 20 that terminate, and what follows the last of them
    with pytest.raises(UserError, match="only terminations and truncations"):
        load_dataset(tmp_path / "log.npz", parse_columns(["truncations=never", "rewards=never"]))


BANDIT = {"observations": "age", "actions": "drug", "rewards": "cured", "terminations": "always"}


def bandit(rows=40):
    """Every row is an episode of its own."""
    return {
        "age": np.arange(rows) % 7,
        "drug": np.array(["low", "none", "high"])[np.arange(rows) % 3],
        "cured": np.arange(rows) % 2.0,
        "pscore": np.full(rows, 1 / 3),
    }


def test_every_row_may_be_an_episode():
    log = load_dataset(bandit(), BANDIT)
    assert (len(log), log.num_episodes, int(log.terminations.sum()), int(log.truncations.sum())) == (40, 40, 40, 0)
    np.testing.assert_allclose(log.log_probs, np.log(1 / 3), rtol=1e-6)
    assert any("single step" in warning for warning in log_warnings(log))
    assert log_warnings(log, single_steps=True) == []


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"truncations": "always"}, "only terminations always"),
        ({"rewards": "always"}, "only terminations and truncations"),
        (
            {"propensities": "cured"},
            "propensities is 0 at row 0; the probability of an action that was taken is more than 0 and at most 1",
        ),
        ({"action_names": ["none", "low"]}, "drug .actions. holds 'high', which action_names=none,low leaves out"),
        ({"action_names": ["none", "low", "high", "low"]}, "every action needs a name of its own"),
        ({"names": "x"}, "unknown column of a log 'names'"),
    ],
)
def test_what_cannot_be_said(columns, message):
    with pytest.raises(UserError, match=message):
        load_dataset(bandit(), BANDIT | columns)


def test_words_for_actions_have_an_order():
    assert load_dataset(bandit(), BANDIT).action_names == ("high", "low", "none")
    log = load_dataset(bandit(), BANDIT | {"action_names": ["none", "low", "high", "double"]})
    np.testing.assert_array_equal(log.actions[:3], [1, 0, 2])
    assert (log.num_actions, log.action_names) == (4, ("none", "low", "high", "double"))
    assert "0 = none, 1 = low, 2 = high, 3 = double" in log.notices[0]
    assert any("never occur: double" in warning for warning in log_warnings(log, single_steps=True))


def test_numbered_actions_may_be_given_names(tmp_path):
    columns = logs.make_columns(discrete=True)
    path = logs.write_npz(tmp_path, columns)
    assert load_dataset(path, {"action_names": ["a", "b", "c"]}).action_names == ("a", "b", "c")
    with pytest.raises(UserError, match="action_names gives 2 names, but the log has 3 discrete actions"):
        load_dataset(path, {"action_names": ["a", "b"]})
    with pytest.raises(UserError, match="3 names, but the log has 2 numbers per action"):
        load_dataset(logs.write_npz(tmp_path, logs.make_columns()), {"action_names": ["a", "b", "c"]})
