"""The examples in docstrings run."""

import doctest
import importlib
from pathlib import Path

import numpy as np
import pytest

import ropeval

SOURCE = Path(ropeval.__file__).parent
MODULES = sorted(
    ".".join(["ropeval", *path.relative_to(SOURCE).with_suffix("").parts]).removesuffix(".__init__")
    for path in SOURCE.rglob("*.py")
    if ">>>" in path.read_text(encoding="utf-8")
)


def test_the_public_calls_have_examples():
    wanted = {"ropeval", "ropeval.data.formats", "ropeval.evaluation.compare", "ropeval.evaluation.evaluate"}
    assert wanted | {"ropeval.policies.loaders"} <= set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    found = doctest.testmod(importlib.import_module(name), extraglobs={"ropeval": ropeval, "np": np})
    assert found.attempted > 0
    assert found.failed == 0
