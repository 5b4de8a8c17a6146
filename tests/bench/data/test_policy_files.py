"""Where a task's policies lie: found by name, believed by hash."""

import hashlib
from pathlib import Path

import pytest

from ropeval.bench.data.collect import collect
from ropeval.bench.data.policy_files import PoliciesMissing, locate, locate_all
from ropeval.bench.data.tasks import PolicySource, Task, find_task, paper_task
from ropeval.errors import UserError
from tests.bench.data.test_tasks import TWELVE
from tests.bench.played_here import HERE


def test_what_is_missing_says_what_to_pass():
    task = find_task("suite/hopper-replay")
    with pytest.raises(PoliciesMissing, match=r"suite/hopper-replay: policy 0 is .*--policies DIR"):
        locate_all(task, None)


def test_policies_that_are_not_found_are_not_judged(shared_policies, tmp_path):
    task = find_task("suite/hopper-medium")
    for number in (5, 10):
        name = f"hopper_online_{number}.npz"
        (tmp_path / name).symlink_to(shared_policies / name)
    assert set(locate_all(task, tmp_path)) == {"5", "10", "5-noisy", "random"}
    with pytest.raises(PoliciesMissing, match=r"policy 0-noisy is hopper_online_0.pkl"):  # a writer has to be there
        locate_all(find_task("suite/hopper-replay"), tmp_path)


def test_a_policy_of_another_environment_is_refused_by_name(tmp_path):
    """Sizes need not tell them apart: the description beside the file does."""
    shipped = Path(find_task("suite/pendulum-weak-5k").policies["1"].spec)
    for suffix in (".npz", ".json"):
        (tmp_path / f"p{suffix}").write_bytes(shipped.with_suffix(suffix).read_bytes())
    source = PolicySource(spec=str(tmp_path / "p.npz"))
    task = Task(
        name="a/b", environment="MountainCarContinuous-v0", policies={"p": source}, judged={"p": "dev"},
        writers={"random": 1}, transitions=10,
    )  # fmt: skip
    with pytest.raises(UserError, match=r"p.npz is a policy of Pendulum-v1.*the task plays MountainCarContinuous-v0"):
        locate_all(task, None)
    (tmp_path / "p.json").unlink()
    with pytest.raises(UserError, match="observations of size 3"):
        collect(task, tmp_path / "data", truth_episodes=2, pool=HERE)


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
