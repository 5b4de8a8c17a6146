"""What may be meant is read, with a warning; a good log has none."""

import re

import numpy as np
import pytest

from ropeval.data import load_dataset
from ropeval.data.quality import log_warnings


def longer(spoil=None):
    """Forty episodes of ten steps, half of them cut off, whose states chain."""
    rng = np.random.default_rng(0)
    states = rng.normal(3.0, 2.0, (40, 11, 2))
    last = np.tile(np.arange(10) == 9, (40, 1))
    last[::2] = np.arange(10) == 4  # every other episode terminates after five steps
    keep = np.cumsum(last, axis=1) - last == 0
    columns = {
        "observations": states[:, :-1][keep],
        "next_observations": states[:, 1:][keep],
        "actions": rng.uniform(-1, 1, (40, 10, 1))[keep],
        "rewards": rng.standard_normal((40, 10))[keep],
        "terminations": (last & (np.arange(40)[:, None] % 2 == 0))[keep],
        "truncations": (last & (np.arange(40)[:, None] % 2 == 1))[keep],
    }
    if spoil:
        spoil(columns)
    return columns


def standardise(columns):
    mean, std = columns["observations"].mean(axis=0), columns["observations"].std(axis=0)
    for name in ("observations", "next_observations"):
        columns[name] = (columns[name] - mean) / std


def name_episodes(columns):
    ends = columns["truncations"] | columns["terminations"]
    for name in ("observations", "next_observations"):
        columns[name][:, 0] = 10_000 + np.cumsum(ends) - ends


def stamp(columns):
    """A row a minute."""
    for name, later in (("observations", 0), ("next_observations", 1)):
        columns[name][:, 0] = 1.7e9 + 60.0 * (np.arange(300) + later)


def swap_flags(columns):
    columns["terminations"], columns["truncations"] = columns["truncations"], columns["terminations"]


def shift_flags(columns):
    for name in ("terminations", "truncations"):
        columns[name] = np.roll(columns[name], 2)


WARNED = [
    (standardise, "looks normalised"),
    (swap_flags, "look swapped"),
    (shift_flags, "shifted or missing"),
    (name_episodes, r"observations\[0\] is another whole number in every episode"),
    (stamp, "rounded to multiples of 128"),
    (lambda c: c.update(rewards=np.ones(300)), "every reward is 1"),
    (lambda c: c.update({n: 0 * c[n] for n in ("observations", "next_observations")}), "no observation ever changes"),
    (lambda c: c["actions"].__setitem__(3, 1e6), "actions outside the task's space"),
    (lambda c: c.update(actions=np.ones((300, 1))), "the action never changes"),
    (lambda c: c.update(actions=(c["actions"] > 0).astype(float)), "whole numbers up to 1, stored as floats"),
    (lambda c: c.update(actions=np.arange(300) % 4.0), "whole numbers up to 3, stored as floats"),
    (lambda c: c.update(actions=np.arange(300) % 3 + 1), "never occur: 0; .*do yours count from 1"),
    (lambda c: c.update(actions=np.arange(300) % 2, num_actions=np.array(3)), "never occur: 2"),
    (lambda c: c.update(terminations=np.ones(300, bool)), "single step"),
    (lambda c: c.update(log_probs=np.linspace(0.1, 0.9, 300)), "not their logarithms"),
]


@pytest.mark.parametrize(("spoil", "words"), WARNED, ids=[words for _, words in WARNED])
def test_what_may_be_meant_is_read_with_a_warning(tmp_path, spoil, words):
    np.savez(tmp_path / "log.npz", **longer(spoil))
    warnings = log_warnings(load_dataset(tmp_path / "log.npz"))
    assert any(re.search(words, warning) for warning in warnings), warnings


def test_a_good_log_has_no_warnings(tmp_path):
    np.savez(tmp_path / "log.npz", **longer())
    assert log_warnings(load_dataset(tmp_path / "log.npz")) == []


def test_a_time_limit_called_termination_is_noticed(tmp_path):
    columns = longer()
    whole = np.repeat(columns["truncations"].nonzero()[0], 10) - np.tile(np.arange(9, -1, -1), 20)
    columns = {name: values[whole] for name, values in columns.items()}
    swap_flags(columns)
    np.savez(tmp_path / "log.npz", **columns)
    assert any("if that is a time limit" in w for w in log_warnings(load_dataset(tmp_path / "log.npz")))
