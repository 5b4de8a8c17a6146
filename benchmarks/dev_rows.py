"""Rows about policies of the suite's `dev` part, kept as they are made: an interrupted run goes on."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from ropeval.bench.data.task_data import Judged, TaskData


class Dev(NamedTuple):
    """The policies of a log that may be looked at, and how far apart their true values lie."""

    judged: dict[str, Judged]
    wide: float

    @classmethod
    def of(cls, data: TaskData) -> "Dev":
        judged = {name: one for name, one in data.judged.items() if one.split == "dev"}
        truths = [one.truth.discounted.value for one in judged.values()]
        return cls(judged, max(truths) - min(truths))

    def best(self, count: int) -> list[tuple[str, Judged]]:
        """Policies stand with the best last."""
        return list(self.judged.items())[-count:]


def rows(out: Path) -> list[dict[str, Any]]:
    path = out / "rows.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def keep(out: Path, row: dict[str, Any]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with (out / "rows.jsonl").open("a") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")
