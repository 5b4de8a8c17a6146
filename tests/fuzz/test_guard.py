"""The guard itself: what it forbids it stops, also where the reader catches everything."""

import contextlib
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fuzz import guard
from tests.fuzz.guard import Broken, guarded


@pytest.mark.parametrize(
    ("deed", "named"),
    [
        (lambda: exec("1 + 1"), "exec"),
        (lambda: os.system("true"), "os.system"),
        (lambda: subprocess.run(["true"]), "subprocess.Popen"),
        (lambda: __import__("this"), "import"),
        (lambda: pickle.loads(pickle.dumps(len)), "pickle.find_class"),
        (lambda: os.remove("absent"), "os.remove"),
        (lambda: Path("/dev/null").write_text("x"), "open"),
    ],
)
@pytest.mark.process
def test_deeds_are_stopped(deed, named):
    sys.modules.pop("this", None)
    with pytest.raises(Broken, match=named), guarded(), contextlib.suppress(BaseException):
        deed()


def test_reading_is_allowed(tmp_path):
    (tmp_path / "file").write_bytes(b"content")
    with guarded():
        assert (tmp_path / "file").read_bytes() == b"content"


def test_working_too_long_is_stopped(monkeypatch):
    monkeypatch.setattr(guard, "MAX_SECONDS", 0.1)

    def work() -> None:
        until = time.process_time() + 5
        while time.process_time() < until:
            pass

    with pytest.raises(Broken, match=r"more than 0\.1 s"), guarded():
        work()


def test_too_much_memory_is_noticed(monkeypatch):
    monkeypatch.setattr(guard, "MAX_BYTES", 2**20)
    peak = guard._held()[2]
    with pytest.raises(Broken, match="memory"), guarded():
        bytearray(os.urandom(1)) * (peak + 2**26 - guard._held()[1])
