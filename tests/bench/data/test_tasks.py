"""The registry of tasks, and the files their policies come from."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from ropeval.bench.data.policy_files import locate
from ropeval.bench.data.tasks import PolicySource, Task, all_tasks, find_task, find_tasks, paper_task
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


@pytest.mark.parametrize(
    ("field", "value"),
    [("name", "Up/Case"), ("name", "nogroup"), ("name", "../up"), ("writers", {}), ("writers", {"random": 0}),
     ("gamma", 1.0), ("gamma", -0.1), ("transitions", 0), ("writers", {"nobody": 1}), ("judged", {}),
     ("judged", {"nobody": "dev"}), ("judged", {"evaluated": "train"}), ("references", ("nobody",)),
     ("transitions", None), ("episodes", 5), ("policies", {"Up Case": {"spec": "uniform"}})],
)  # fmt: skip
def test_tasks_are_checked(field, value):
    good = find_task("tiny/pendulum").model_dump()
    with pytest.raises(ValueError, match=field):
        Task(**{**good, field: value})


def test_the_papers_form_names_each_writer_once():
    source = PolicySource(spec="uniform")
    with pytest.raises(ValueError, match="mixture"):
        paper_task(name="a/b", environment="Pendulum-v1", evaluated=source, behaviour=source, mixture=("random",) * 2)


def test_a_policy_is_a_word_or_a_published_file():
    with pytest.raises(ValueError, match="either spec"):
        PolicySource()
    with pytest.raises(ValueError, match="either spec"):
        PolicySource(spec="uniform", files={"a.npz": "00"})


def published(tmp_path: Path, content: bytes) -> Task:
    digest = hashlib.sha256(content).hexdigest()
    source = PolicySource(files={"p.pkl": "0" * 64, "p.npz": digest}, origin="somebody's release")
    return paper_task(name="a/b", environment="Pendulum-v1", evaluated=source, behaviour=source)


def test_published_files_are_found_at_any_depth_and_their_hash_is_checked(tmp_path):
    content = Path(find_task("tiny/pendulum").policies["evaluated"].spec).read_bytes()
    task = published(tmp_path, content)
    with pytest.raises(UserError, match=r"π_e is p.pkl or p.npz.*somebody's release.*--policies DIR"):
        locate(task, "evaluated", None)
    with pytest.raises(UserError, match=r"no such folder; it should hold p.pkl or p.npz"):
        locate(task, "evaluated", tmp_path / "nowhere")
    with pytest.raises(UserError, match=r"π_b is p.pkl or p.npz, and neither is in .*somebody's release"):
        locate(task, "behaviour", tmp_path)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "p.npz").write_bytes(content)
    located = locate(task, "evaluated", tmp_path)
    assert located.file == tmp_path / "deep" / "p.npz"
    assert located.load().action_size == 1
    (tmp_path / "deep" / "p.npz").write_bytes(content + b"x")
    with pytest.raises(UserError, match=r"p.npz: sha256 .* but the published file has .*fetch it again"):
        locate(task, "evaluated", tmp_path)


def test_both_forms_of_the_published_policies_are_accepted(shared_policies):
    for name in TWELVE - {"custom/humanoidstandup"}:
        task = find_task(name)
        for role in ("evaluated", "behaviour"):
            assert locate(task, role, shared_policies).file.suffix == ".npz"
            assert locate(task, role, shared_policies.parent / "reference").file.suffix in (".pkl", ".zip")


def test_the_random_policy_is_uniform_over_the_action_space():
    from ropeval.bench.data.episodes import Player

    located = locate(find_task("tiny/pendulum"), "random", None)
    player = Player("Pendulum-v1", located.load())
    actions = np.concatenate([player.play(0, "x", number).actions for number in range(5)])
    assert actions.shape == (1000, 1)
    assert abs(actions.min() + 2) < 0.02
    assert abs(actions.max() - 2) < 0.02
    assert abs(actions.mean()) < 0.15
