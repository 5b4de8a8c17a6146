"""`[NAME=]FILE[+STATISTICS][@MODE]`, where a file may be called anything."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeval.errors import UserError
from ropeval.policies.policy import MODES
from ropeval.policies.spec import Spec, exists, parse_spec

WORD = st.text(string.ascii_letters + string.digits, min_size=1, max_size=8)


@given(name=st.none() | WORD, file=WORD, statistics=st.none() | WORD, mode=st.none() | st.sampled_from(MODES))
def test_what_is_put_together_is_taken_apart(name, file, statistics, mode):
    text = file + "".join(mark + part for mark, part in (("+", statistics), ("@", mode)) if part)
    text = text if name is None else f"{name}={text}"
    assert parse_spec(text) == Spec(name, file, statistics, mode)


@pytest.mark.parametrize("name", ["a=b.npz", "a+b.npz", "a@b.npz", "x=a+b@c"])
def test_what_exists_is_a_file(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).touch()
    assert parse_spec(name) == Spec(None, name, None, None)
    assert parse_spec(f"{name}@mean") == Spec(None, name, None, "mean")
    assert parse_spec(f"best={name}@mean") == Spec("best", name, None, "mean")


def test_a_name_has_no_folders():
    assert parse_spec("runs/lr=3/p.npz") == Spec(None, "runs/lr=3/p.npz", None, None)


def test_an_unknown_mode_of_a_file_that_is_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.npz").touch()
    for text in ("p.npz@greedy", "p.npz+stats.pkl@greedy"):
        with pytest.raises(UserError, match="unknown action mode 'greedy'; choose from: "):
            parse_spec(text)
    assert parse_spec("user@host") == Spec(None, "user@host", None, None)  # no file: the loader says so


def test_names_that_no_file_can_have():
    assert not exists("a\0b")
    assert not exists("x" * 5000)
