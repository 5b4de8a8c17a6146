"""What we are made of: ranges with two ends, a lock with hashes that fits them, a bill that lists it all."""

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from scripts import bill_of_materials, versions

LOCK = Path(__file__).parents[1] / "requirements-dev.lock"


def locked() -> list[bill_of_materials.Component]:
    return bill_of_materials.read_lock(LOCK.read_text())


@pytest.mark.parametrize("text", versions.dependencies())
def test_every_dependency_has_a_range_and_the_lock_lies_in_it(text):
    wanted = Requirement(text)
    assert {">=", "<"} <= {bound.operator for bound in wanted.specifier}
    found = [component.version for component in locked() if component.name == wanted.name]
    assert found
    assert all(version in wanted.specifier for version in found)
    assert re.fullmatch(rf"{wanted.name}==[0-9.]+", versions.at_lower_bound(text))


def test_everything_in_the_lock_has_hashes_and_no_host_is_named():
    assert all(component.hashes for component in locked())
    assert "://" not in LOCK.read_text()
    assert "torch" not in {component.name for component in locked()}  # which is never resolved plainly


def test_the_bill_lists_the_lock():
    made = bill_of_materials.bill(locked(), bill_of_materials.roots(), "1.0")
    scopes = {component["name"]: component["scope"] for component in made["components"]}
    assert len(made["components"]) == len(locked())
    assert (scopes["jax"], scopes["jaxlib"], scopes["ruff"]) == ("required", "required", "optional")
    refs = {component["bom-ref"] for component in made["components"]}
    assert all(set(one["dependsOn"]) <= refs for one in made["dependencies"])


def test_what_is_installed_to_be_tested_leaves_us_out():
    """An extra of ours that names another one is no package to download."""
    for which in ("oldest", "newest"):
        wanted = {Requirement(text).name for text in versions.requirements(which)}
        assert "ropeval" not in wanted
        assert {"pytest", "mkdocs", "jax"} <= wanted
