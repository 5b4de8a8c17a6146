"""Rows about policies of the suite's `dev` part, kept as they are made: an interrupted run goes on."""

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
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
    """In one write, so that processes may share the file."""
    out.mkdir(parents=True, exist_ok=True)
    with (out / "rows.jsonl").open("ab", buffering=0) as file:
        file.write((json.dumps(row, ensure_ascii=False) + "\n").encode())


def options_of(about: str | None, tasks: Sequence[str], policies: int) -> argparse.ArgumentParser:
    """What every such benchmark asks; each adds its own."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("ropeval-data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tasks", nargs="+", default=tasks)
    parser.add_argument("--policies", type=int, default=policies, help="of every log, so many of the best")
    parser.add_argument("--members", type=int, default=2)
    parser.add_argument("--summarise", action="store_true")
    return parser


def carry_out(
    options: argparse.Namespace,
    run: Callable[[argparse.Namespace], None],
    table: Callable[[Path], Iterable[str]],
) -> None:
    """Make the rows, if they are not only to be summed up, and show the table of them."""
    if not options.summarise:
        run(options)
    print("\n".join(table(options.out)))
