"""What travels to a cluster, and what is refused before."""

import pytest

from ropeval.cluster import Cluster, _cause, check_cluster, own_methods, prepare_node
from ropeval.errors import UserError


@pytest.mark.parametrize(
    ("cluster", "said"),
    [
        (Cluster("local", gpus=-1.0), "--gpus is -1.0; it must be at least 0"),
        (Cluster("local", cores=0), "--cores is 0; it must be at least 1"),
        (Cluster("127.0.0.1:1"), "--ray 127.0.0.1:1: nobody answers"),
    ],
)
def test_a_cluster_that_cannot_be(cluster, said):
    with pytest.raises(UserError, match=said):
        check_cluster(cluster)
    check_cluster(Cluster("auto"))


def test_methods_of_the_users_own_travel_as_text(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("A = 1")
    monkeypatch.setenv("ROPEVAL_METHODS", str(tmp_path / "mine.py"))
    own = own_methods()
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "node"))
    monkeypatch.setattr("ropeval.runtime.prepare", lambda: None)
    prepare_node(own)
    assert own_methods() == own == {"mine.py": "A = 1"}


def test_the_cause_is_what_was_raised_on_the_node():
    wrapped = RuntimeError("of Ray")
    wrapped.cause = RuntimeError("of Ray, again")  # type: ignore[attr-defined]
    wrapped.cause.cause = UserError("this one")  # type: ignore[attr-defined]
    assert str(_cause(wrapped)) == "this one"
    assert str(_cause(ValueError("plain"))) == "plain"
