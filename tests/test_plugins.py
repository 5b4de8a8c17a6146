"""Files of the user's own: imported once, by their path, with errors that name them."""

import os
import sys

import pytest

from ropeval.errors import UserError
from ropeval.plugins import import_file, plugins


@pytest.fixture(autouse=True)
def _forget(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_files_are_imported_in_order_under_their_own_names(tmp_path, monkeypatch):
    for name in ("own_b", "own_a"):
        (tmp_path / f"{name}.py").write_text(f"NAME = {name!r}\n")
    paths = [str(tmp_path / "own_b.py"), str(tmp_path / "own_a.py")]
    monkeypatch.setenv("OWN", os.pathsep.join([*paths, ""]))
    found = list(plugins("OWN", "ropeval.tests.nobody"))
    assert [(origin, module.NAME) for origin, module in found] == list(zip(paths, ("own_b", "own_a"), strict=True))
    assert sys.modules["own_a"] is found[1][1]


def test_without_the_variable_there_are_none(monkeypatch):
    monkeypatch.delenv("OWN", raising=False)
    assert list(plugins("OWN", "ropeval.tests.nobody")) == []


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("absent.py", None, r"absent\.py: no such file \(named by OWN\)"),
        ("own.txt", "", r"own\.txt: not a Python file"),
        ("own_fails.py", "1 / 0", r"own_fails\.py: this file failed: ZeroDivisionError: division by zero"),
        ("own_odd.py", "def", r"own_odd\.py: this file failed: SyntaxError"),
        ("json.py", "", r"json\.py: another module is called json .*give the file another name"),
    ],
)
def test_what_cannot_be_imported_is_named(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=message):
        import_file(tmp_path / name, "OWN")
