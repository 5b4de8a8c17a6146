"""Error against seconds: what is made of the rows. Nothing is trained, and d3rlpy is not here."""

import numpy as np
import pytest
from benchmarks.error_seconds_page import lines, picture, table
from benchmarks.peer_fqe import Asked, Question


def row(who, policy, *points, task="suite/t", truth=0.0):
    told = [{"steps": steps, "value": value, "cpu": cpu, "clock": 2 * cpu} for steps, value, cpu in points]
    return {"task": task, "policy": policy, "who": who, "truth": truth, "range": 10.0, "points": told}


def test_errors_are_means_over_policies_at_steps_that_all_tell_about():
    found = [row("a", "1", (1, 5.0, 1.0), (2, 1.0, 2.0)), row("a", "2", (1, -3.0, 3.0), (2, 0.0, 4.0), (3, 0.0, 5.0))]
    line = lines(found)["suite/t"]["a"]
    assert line.steps == [1, 2]
    np.testing.assert_allclose(line.error, [0.4, 0.05])
    np.testing.assert_allclose(line.cpu, [2.0, 3.0])


def test_an_error_is_reached_when_it_stays_so():
    line = lines([row("a", "1", (1, 1.0, 1.0), (2, 3.0, 2.0), (3, 1.0, 3.0), (4, 0.5, 4.0))])["suite/t"]["a"]
    assert [line.until(error) for error in (0.5, 0.1, 0.05, 0.01)] == [1.0, 3.0, 4.0, None]


def test_a_value_that_is_not_there_reaches_nothing():
    line = lines([row("a", "1", (1, 0.0, 1.0), (2, None, 2.0))])["suite/t"]["a"]
    assert line.until(0.5) is None


def test_runs_of_several_step_counts_are_one_line_and_policies_that_not_all_know_are_left_out():
    found = [row("a", "1", (5, 1.0, 2.0)), row("a", "1", (2, 3.0, 1.0)), row("a", "2", (5, 9.0, 2.0))]
    found += [row("mean-return", "1", (0, 4.0, 0.1))]
    told = lines(found)["suite/t"]
    assert told["a"].steps == [2, 5]
    assert told["a"].policies == 1
    cells = [line.split("|")[1:-1] for line in table(found) if line.startswith("| a")]
    assert [cell.strip() for cell in cells[0]] == ["a", "5", "10.0%", "2", "4", "2", "2", "–"]
    (panel,) = picture(found).panels
    assert [series.group for series in panel.series] == ["a"]
    assert [mark.value for mark in panel.marks] == pytest.approx([0.4])


def ask(tmp_path, states, **acts):
    asked = {"observations": np.float32(states), "actions": np.zeros(2, int), "rewards": np.zeros(2, np.float32)}
    np.savez(tmp_path / "q.npz", terminations=np.zeros(2, bool), starts=[0, 2], gamma=0.9, **asked, **acts)
    return Asked(Question(str(tmp_path / "q.npz"))).drawn(np.float32([*states, [9.0]]))  # nothing is known of the last


def test_a_policy_is_looked_up_by_the_state(tmp_path):
    told = ask(tmp_path, [[1.0], [2.0]], policy=np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert told[:2].tolist() == [1, 0]
    told = ask(tmp_path, [[1.0], [2.0]], draws=np.array([[[3.0], [3.0]], [[4.0], [4.0]]], np.float32))
    assert told[:2].tolist() == [[3.0], [4.0]]
    assert len(told) == 3
