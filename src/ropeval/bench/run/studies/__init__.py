"""Study files that ship with ropeval."""

from importlib import resources


def shipped_studies() -> list[str]:
    entries = resources.files(__name__).iterdir()
    return sorted(entry.name for entry in entries if entry.name.endswith(".toml"))
