"""What a task may say of itself."""

import pytest

from ropeval.bench.data.tasks import PolicySource, Task, find_task, paper_task


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
