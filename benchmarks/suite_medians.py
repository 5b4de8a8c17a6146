"""Write the numbers that `ropeval methods` shows, from the rows in benchmarks/suite. Reads rows and trains nothing.

    python -m benchmarks.suite_medians

Each is of the test split: the median over its cases of the error in units of a log's range, and the median over logs
of the seconds for all policies of a log, on the machines that benchmarks/suite/README.md names.
"""

import json
import math

from benchmarks.suite_page import ROOT, ROWS, read, studies

from ropeval.bench.results.suite_scores import Suite
from ropeval.files import write_text

SPLIT = "test"
KEPT = ROOT / "src" / "ropeval" / "report" / "suite_medians.json"


def medians(suite: Suite) -> dict[str, dict[str, float | int]]:
    """By method, of those that have an answer."""
    lines = [suite.line(method, SPLIT) for method in suite.methods]
    return {
        line.method: {"error": _rounded(line.median.value), "seconds": _rounded(line.seconds), "logs": line.logs}
        for line in sorted(lines)
        if math.isfinite(line.median.value)
    }


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def main() -> None:
    suite = read(studies(ROWS)).suite
    assert suite is not None, "read refuses rows that are no suite"
    write_text(KEPT, json.dumps({"split": SPLIT, "methods": medians(suite)}, indent=1) + "\n")
    print(KEPT)


if __name__ == "__main__":
    main()
