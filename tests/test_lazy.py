"""Names that are imported when they are first used."""

import sys
from types import ModuleType

import pytest

from ropeval.lazy import import_when_used


@pytest.fixture
def package(monkeypatch):
    made = ModuleType("a_package")
    monkeypatch.setitem(sys.modules, "a_package", made)
    vars(made)["__getattr__"] = import_when_used("a_package", {"json.decoder": ("JSONDecoder",)})
    return made


def test_a_name_is_found_where_it_lives_and_kept(package):
    from json.decoder import JSONDecoder

    assert "JSONDecoder" not in vars(package)
    assert package.JSONDecoder is JSONDecoder
    assert vars(package)["JSONDecoder"] is JSONDecoder


def test_what_is_not_offered_is_no_attribute(package):
    with pytest.raises(AttributeError, match="module 'a_package' has no attribute 'scanner'"):
        _ = package.scanner
