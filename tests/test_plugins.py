"""What a user names is found where they are; nothing else is."""

import sys

import pytest

from ropeval.plugins import import_named


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_only_the_named_module_is_found_in_the_working_directory(here):
    for name in ("colorsys", "no_such_package_a", "no_such_package_b"):
        (here / f"{name}.py").write_text("planted = True")
    (here / "mine_named.py").write_text("import colorsys, no_such_package_a")
    mine = import_named("mine_named")
    assert mine.no_such_package_a.planted  # beside it, and nowhere else
    assert not hasattr(mine.colorsys, "planted")  # installed, too, and that one counts
    assert str(here) not in sys.path
    with pytest.raises(ImportError):
        import no_such_package_b  # noqa: F401


def test_packages_and_folders(here):
    for folder in ("pack_named", "folder_named", "email"):
        (here / folder).mkdir()
        (here / folder / "part.py").write_text("value = 3")
    (here / "pack_named/__init__.py").touch()
    assert import_named("pack_named.part").value == 3
    assert import_named("folder_named.part").value == 3
    with pytest.raises(ImportError):  # a mere folder does not hide a package
        import_named("email.part")


def test_a_module_that_fails_leaves_nothing(here):
    (here / "fails_named.py").write_text("1 / 0")
    with pytest.raises(ZeroDivisionError):
        import_named("fails_named")
    assert "fails_named" not in sys.modules
    assert str(here) not in sys.path
