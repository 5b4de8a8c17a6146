"""Helpers to write files that do harm, and to see them refused.

`refusal` reads under a guard: it fails a test in which anything is executed, imported or written, in which memory grows
by more than 2 GB, or which takes 10 seconds.
"""

import io
import zipfile
from pathlib import Path

import pytest

from ropeval.data import make_problem
from ropeval.errors import UserError
from ropeval.policies import load_policy
from tests.fuzz.guard import guarded

FILES = Path(__file__).parent / "files"


class Harm:
    """What a malicious pickle looks like: unpickling it would run a command."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


def refusal(path, *, match, suffix=""):
    with guarded(), pytest.raises(UserError, match=match) as caught:
        load_policy(f"{path}{suffix}")
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    assert len(message) < 600
    return message


def told(spec, log=None) -> str:
    """The message for a policy that is read and then put to a log."""

    def try_it() -> None:
        policy = load_policy(spec)
        if log is not None:
            _ = make_problem(log, policy, 0.9).transitions  # asks the policy

    with pytest.raises(UserError) as caught:
        try_it()
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(("policy ", "statistics "))
    return message


def written(tmp_path, content, name="policy.pkl"):
    path = tmp_path / name
    path.write_bytes(content)
    return path


def members(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def packed(content, method=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        for name, data in content.items():
            file.writestr(name, data)
    return buffer.getvalue()
