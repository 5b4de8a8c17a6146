"""The page of a log, whatever kind of log it is."""

import numpy as np
import pytest

from ropeval.cli.main import main
from ropeval.data import Dataset
from ropeval.data.quality import summarise
from ropeval.report.log_page import log_page
from tests.problems import Chain, LinearQuadratic


def page(log: Dataset) -> str:
    return log_page(log, summarise(log)).html()


def one_column() -> Dataset:
    """A bandit with a single number for a state, and one action that is never taken."""
    states = np.linspace(0, 1, 40)[:, None]
    return Dataset.from_columns(
        {
            "observations": states, "next_observations": states, "actions": np.zeros(40, int),
            "num_actions": np.array(2), "rewards": np.ones(40), "terminations": np.ones(40),
            "truncations": np.zeros(40),
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    "log", [Chain().log(30), LinearQuadratic().log(10), one_column()], ids=["chain", "quadratic", "bandit"]
)
def test_everything_is_drawn(log):
    words = page(log)
    for part in ("undiscounted return", "number of steps", "mean reward", "episodes that go on", "axis 1", "Columns"):
        assert part in words
    assert f"{len(log):,} steps in {log.num_episodes:,} episodes" in words


def test_rewards_and_actions_are_those_of_the_log():
    log = Chain().log(30)
    words = page(log)
    assert f"{(log.actions == 1).mean():.1%}" in words
    assert "30 episodes begin" in words


def test_warnings_stand_on_it():
    assert "discrete actions that never occur: 1" in page(one_column())


def test_a_browser_draws_it_without_complaint(open_page):
    opened = open_page(page(Chain().log(30)))
    assert not opened.complaints
    assert opened.page.locator("figure").count() >= 6


def test_the_command_writes_it_and_only_as_html(tmp_path, capsys):
    from importlib import resources

    log = str(resources.files("ropeval.demo").joinpath("log.npz"))
    with pytest.raises(SystemExit) as left:
        main(["data", "info", log, "--page", str(tmp_path / "log.html")])
    assert left.value.code == 0
    assert (tmp_path / "log.html").exists()
    with pytest.raises(SystemExit) as left:
        main(["data", "info", log, "--page", str(tmp_path / "log.txt")])
    assert left.value.code == 2
    assert "ends in .html" in capsys.readouterr().err
