"""The torture's own parts: a full disk is met where it should be, and what is lost, doubled or left is named."""

import os
import subprocess
import sys

import numpy as np
import pytest

from tests.torture.campaign import _wrong_end, difference
from tests.torture.faults import HUNG, Ended, Fault, draw_fault
from tests.torture.jobs import JOBS

FULL = """
import sys, tempfile
from pathlib import Path
from tests.torture.faults import _count_writes
from ropeval.files import write_text
_count_writes(Path("writes"), int(sys.argv[1]))
try:
    write_text(Path("a.txt"), "whole")
except Exception as error:
    print(error)
"""


@pytest.mark.parametrize("write", [1, 2, 3])
@pytest.mark.process
def test_a_full_disk_at_every_write_of_a_file(tmp_path, write):
    """Made, flushed, placed: whichever fails, there is no file, whole or half."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", FULL, str(write)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "the disk is full" in done.stdout, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["writes"]
    assert (tmp_path / "writes").read_text() == str(write)


def test_differences_are_named():
    assert difference({"a": "1"}, {"a": "1"}) is None
    assert difference({"a": "1", "c": ""}, {"a": "2", "b": ""}) == "lost: ['b']; left: ['c']; differs: ['a']"


@pytest.mark.parametrize(
    ("ended", "fault", "fine"),
    [
        (Ended(-9, "", 0), Fault(signal=9), True),
        (Ended(130, "interrupted", 0), Fault(signal=2), True),
        (Ended(1, "", 0), Fault(signal=15), False),
        (Ended(-9, "Traceback (most recent", 0), Fault(signal=9), False),
        (Ended(2, "error: the disk is full", 0), Fault(write=3), True),
        (Ended(1, "", 0), Fault(write=3), False),
        (Ended(HUNG, "", 0), Fault(signal=9), False),
    ],
)
def test_how_a_run_may_end(ended, fault, fine):
    assert (_wrong_end(JOBS[0], ended, fault) is None) == fine


def test_faults_are_of_every_kind_and_the_same_for_the_same_seed():
    faults = [draw_fault(np.random.default_rng(seed), 3.0, 10) for seed in range(60)]
    assert {fault.signal for fault in faults} == {0, 2, 9, 15}
    assert any(fault.write for fault in faults)
    assert any(fault.largest for fault in faults)
    assert faults == [draw_fault(np.random.default_rng(seed), 3.0, 10) for seed in range(60)]
