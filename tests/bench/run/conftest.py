"""The toy task, and a study of it that is done."""

import os
from pathlib import Path

import pytest

from tests.bench.run.toy_study import TASKS, collected, whole_study


@pytest.fixture(scope="module", autouse=True)
def own_tasks():
    before = os.environ.get("ROPEVAL_TASKS")
    os.environ["ROPEVAL_TASKS"] = str(TASKS)
    yield
    if before is None:
        del os.environ["ROPEVAL_TASKS"]
    else:
        os.environ["ROPEVAL_TASKS"] = before


@pytest.fixture(scope="module")
def data(own_tasks, tmp_path_factory) -> Path:
    return collected(tmp_path_factory.getbasetemp())


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory) -> Path:
    return whole_study(tmp_path_factory.getbasetemp())
