"""Files of the user's own: imported once, by their path, with errors that name them. What a user names is found where
they are; nothing else is."""

import importlib
import os
import sys

import pytest

from ropeval.errors import UserError
from ropeval.plugins import import_file, import_named, plugins


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


def test_only_the_named_module_is_found_in_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("colorsys", "no_such_package_a", "no_such_package_b"):
        (tmp_path / f"{name}.py").write_text("planted = True")
    (tmp_path / "mine_named.py").write_text("import colorsys, no_such_package_a")
    mine = import_named("mine_named")
    assert mine.no_such_package_a.planted  # beside it, and nowhere else
    assert not hasattr(mine.colorsys, "planted")  # installed, too, and that one counts
    assert str(tmp_path) not in sys.path
    with pytest.raises(ImportError):
        importlib.import_module("no_such_package_b")


def test_packages_and_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("pack_named", "folder_named", "email"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "part.py").write_text("value = 3")
    (tmp_path / "pack_named/__init__.py").touch()
    assert import_named("pack_named.part").value == 3
    assert import_named("folder_named.part").value == 3
    with pytest.raises(ImportError):  # a mere folder does not hide a package
        import_named("email.part")


def test_a_module_that_fails_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fails_named.py").write_text("1 / 0")
    with pytest.raises(ZeroDivisionError):
        import_named("fails_named")
    assert "fails_named" not in sys.modules
    assert str(tmp_path) not in sys.path
