"""The registry of tasks, and the files their policies come from."""

from pathlib import Path

import pytest

from ropeval.bench.data.tasks import Task, all_tasks, find_task, find_tasks
from ropeval.errors import UserError

HERE = Path(__file__).parents[1]
KINDS = ("random", "medium", "medium-expert")
TWELVE = {
    *(f"d4rl/{body}-{kind}" for body in ("halfcheetah", "walker2d", "hopper") for kind in KINDS),
    "custom/swimmer", "custom/halfcheetah", "custom/humanoidstandup",
}  # fmt: skip


def test_the_papers_twelve_datasets_are_there():
    registry = all_tasks()
    assert set(registry) >= TWELVE
    for name in TWELVE:
        task = registry[name]
        assert task.transitions == (1_000_000 if name.startswith("d4rl/") else 100_000)
        assert task.gamma == 0.99
        assert task.policies["evaluated"].mode == ("offset" if name.startswith("d4rl/") else "stochastic")
        assert task.environment.endswith(("-v4", "Swimmer20-v0"))
    assert registry["d4rl/walker2d-random"].writers == {"random": 1}
    assert registry["d4rl/walker2d-medium"].writers == {"behaviour": 1}
    assert registry["d4rl/walker2d-medium-expert"].writers == {"behaviour": 1, "evaluated": 1}
    assert "walker_online_10.pkl" in registry["d4rl/walker2d-random"].policies["evaluated"].files


def test_a_file_of_tasks_appears_in_the_registry(monkeypatch):
    assert "toy/countdown" not in all_tasks()
    monkeypatch.setenv("ROPEVAL_TASKS", str(HERE / "toy_tasks.py"))
    assert find_task("toy/countdown").gamma == 0.5
    assert [t.name for t in find_tasks(["toy/*", "tiny/pendulum", "toy/random"])] == [
        "toy/countdown", "toy/random", "tiny/pendulum",
    ]  # fmt: skip
    monkeypatch.delenv("ROPEVAL_TASKS")
    assert find_task(f"{HERE / 'toy_tasks.py'}:toy/random").transitions == 30_000


def test_an_installed_package_can_bring_tasks(monkeypatch):
    class Point:
        name = "mine"

        def load(self) -> list[Task]:
            return [find_task(f"{HERE / 'toy_tasks.py'}:toy/random").model_copy(update={"name": "packaged/task"})]

    monkeypatch.setattr("ropeval.plugins.entry_points", lambda group: [Point()] if group == "ropeval.tasks" else [])
    assert find_task("packaged/task").environment == "toy_tasks:toy/Countdown-v0"


def test_unknown_tasks_name_the_choices():
    with pytest.raises(UserError, match=r"unknown task 'd4rl/hoper'.*d4rl/hopper-medium"):
        find_tasks(["d4rl/hoper"])
    with pytest.raises(UserError, match=r"no task matches 'd5rl/\*'"):
        find_tasks(["d5rl/*"])
    with pytest.raises(UserError, match=r"cannot import"):
        find_task("no_such_module:TASK")
    with pytest.raises(UserError, match=r"missing.py: no such file"):
        find_task("missing.py:TASK")


def test_a_broken_file_of_tasks_is_named(tmp_path, monkeypatch):
    broken = tmp_path / "my_broken_tasks.py"
    broken.write_text("1/0\n")
    monkeypatch.setenv("ROPEVAL_TASKS", str(broken))
    with pytest.raises(UserError, match=r"my_broken_tasks.py.*ZeroDivisionError"):
        all_tasks()
    empty = tmp_path / "my_empty_tasks.py"
    empty.write_text("")
    monkeypatch.setenv("ROPEVAL_TASKS", str(empty))
    with pytest.raises(UserError, match=r"my_empty_tasks.py: a file of tasks defines TASKS"):
        all_tasks()
    twice = tmp_path / "my_second_hopper.py"
    twice.write_text(
        "from ropeval.bench.data.tasks import find_task\n"
        "TASKS = [find_task('d4rl/hopper-medium').model_copy(update={'transitions': 7})]\n"
    )
    monkeypatch.delenv("ROPEVAL_TASKS")
    twice_tasks = find_task(f"{twice}:d4rl/hopper-medium")
    assert twice_tasks.transitions == 7
    monkeypatch.setenv("ROPEVAL_TASKS", str(twice))
    with pytest.raises(UserError, match=r"my_second_hopper.py: defines the task d4rl/hopper-medium, which exists"):
        all_tasks()
