"""Policies that others published, known by `published.sha256`, which is in the form of `sha256sum`: each as it was
published, and the same weights as .npz."""

from importlib.resources import files
from pathlib import Path

from ropeval.bench.data.tasks.task import PolicySource
from ropeval.policies.policy import Mode

_LISTED = (files("ropeval.bench.data") / "published.sha256").read_text(encoding="utf-8").splitlines()
SHA256 = {name: digest for digest, name in map(str.split, _LISTED)}


def published(name: str, origin: str, mode: Mode) -> PolicySource:
    found = {file: digest for file, digest in SHA256.items() if Path(file).stem == name}
    return PolicySource(files=found, origin=origin, mode=mode)
