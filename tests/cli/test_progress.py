"""One bar for everything that has a percentage; a session's parts share it."""

from io import StringIO

import pytest
from rich.console import Console

from ropeval.cli.progress import percent_bar, questions_progress, told
from ropeval.evaluation.options import make_options
from ropeval.evaluation.session import Session
from tests.problems import Chain


def terminal(width: int = 100) -> Console:
    return Console(file=StringIO(), force_terminal=True, width=width, color_system=None)


def shown(console: Console) -> str:
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_the_bar_says_what_and_how_far():
    console = terminal()
    with percent_bar(console, transient=False) as bar:
        bar.update(bar.add_task("walking", total=4), completed=1)
    assert "walking" in shown(console)
    assert " 25%" in shown(console)
    assert "left" in shown(console)


@pytest.mark.parametrize("width", [50, 80])
def test_a_long_name_gives_way_and_the_time_left_does_not(width):
    console = terminal(width)
    with percent_bar(console, transient=False) as bar:
        bar.update(
            bar.add_task("suite/mountaincarcontinuous-mixed/policy  rope+lspe  12 members", total=4), completed=1
        )
    assert "… " in shown(console)
    assert " 25% 0:00:00 left -:--:--" in shown(console)


def test_the_questions_of_a_session_share_the_bar():
    chain, console = Chain(), terminal()
    settings = {"fqe": {"steps": 300}, "rope": {"steps": 100}}
    options = make_options({"method": ["fqe", "rope+fqe"], "settings": settings})
    session = Session(chain.log(5), [chain.policy(0.6)], options)
    parts = [((0, "fqe", 0.5), 150), ((0, "done", 1.0), 300), ((1, "rope", 0.5), 350), ((1, "fqe", 1.0), 700)]
    on_a_cluster = [((1, "done", 1.0), 400), ((0, "done", 1.0), 700)]
    for reports in (*(parts[: i + 1] for i in range(len(parts))), on_a_cluster[:1], on_a_cluster):
        with questions_progress(session.questions, console) as report:
            for told, _ in reports:
                report(*told)
        assert f" {100 * reports[-1][1] / 700:>3.0f}%" in shown(console).split("preparing")[-1], reports
    assert "rope+fqe (rope)" in shown(console)


def test_what_nobody_could_foresee_does_not_move_the_bar():
    chain, said = Chain(), []
    session = Session(chain.log(5), [chain.policy(0.6)], make_options({"method": ["world"]}))
    report = told(session.questions, lambda share, words: said.append((round(share, 2), words.split("  ")[1])))
    for stage, fraction in (("world", 1.0), ("world-others", 0.5), ("log-value", 1.0), ("rollouts", 0.25)):
        report(0, stage, fraction)
    assert said == [
        (0.8, "world"),
        (0.8, "world (world-others 50%)"),
        (1.0, "world (log-value)"),
        (1.0, "world (rollouts 25%)"),
    ]
