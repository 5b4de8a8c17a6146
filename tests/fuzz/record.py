"""How far a campaign has come, over many sessions: a JSON file, written anew as the counts come."""

import collections
import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ropeval.files import read_json, write_text


@dataclass
class Record:
    path: Path | None
    seed: int
    next: int = 0  # the first file that was not read yet
    commits: collections.Counter[str] = field(default_factory=collections.Counter)  # files read, by state of the code
    outcomes: collections.Counter[str] = field(default_factory=collections.Counter)
    kept: list[int] = field(default_factory=list)  # numbers of the files that broke a promise or killed a library

    @classmethod
    def read(cls, path: Path | None, seed: int) -> "Record":
        if path is None or not path.exists():
            return cls(path, seed)
        held = read_json(path)
        counts = {name: collections.Counter(held.pop(name)) for name in ("commits", "outcomes")}
        return cls(path, **held, **counts)

    def add(self, told: dict[str, Any]) -> None:
        """What a worker tells of its last files."""
        self.commits[commit()] += told["next"] - self.next
        self.next = told["next"]
        self.outcomes.update(told["outcomes"])
        self.kept += [told["next"] - 1] if told["wrong"] else []
        if self.path is not None:
            held = {name: value for name, value in vars(self).items() if name != "path"}
            write_text(self.path, json.dumps(held, indent=1, sort_keys=True) + "\n")

    def summary(self) -> str:
        by_commit = ", ".join(f"{count:,} at {name}" for name, count in self.commits.items())
        return f"{self.next:9,}  files in all, {len(self.kept)} kept ({by_commit})"


def commit() -> str:
    """Of the code as it lies here; it may change while a campaign runs."""
    words = ["git", "describe", "--always", "--dirty", "--abbrev=7", "--exclude=*"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=Path(__file__).parent)
    return done.stdout.strip() or "unknown"
