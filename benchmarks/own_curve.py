"""What a method of ropeval says as training goes on, and after how many seconds; for error_against_seconds.py.

    python -m benchmarks.own_curve CASE.json

CASE.json names task, data, policy, method, members and perhaps steps. Prints one line of JSON. Seconds are those of
this process; they begin after the imports and hold reading, asking the policy, compiling, training and all that comes
after it: a point of the curve is charged what the whole run did after its last step.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.peer_fqe import Seconds

Case = dict[str, Any]


def ask(case: Case, began: Seconds) -> list[dict[str, float]]:
    import ropeval
    from ropeval.bench.data.task_data import load_task

    data = load_task(case["task"], Path(case["data"]))
    method, heard = case["method"], {}

    def report(stage: str, share: float) -> None:
        heard[share] = began.so_far()

    found = ropeval.evaluate(
        data.dataset, data.judged[case["policy"]].policy, method, gamma=data.task.gamma, members=case["members"],
        resample=case["members"] > 1, report=report,
        settings={method: {"steps": case["steps"]}} if case.get("steps") else {},
    )  # fmt: skip
    whole = began.so_far()
    steps = found.config.get("trained_steps", {}).get(method, 0)
    last = {"steps": steps, "value": found.value, **whole}
    curve = [row for row in found.curves if row["metric"] == "estimate"]
    if not curve:  # nothing is learned, or what is learned tells nothing before the end
        return [last]
    after = {name: whole[name] - heard[1.0][name] for name in whole}
    shares = {round(share * steps): then for share, then in heard.items()}
    points = []
    for step in sorted({row["step"] for row in curve} - {steps}):
        values = [row["value"] for row in curve if row["step"] == step and np.isfinite(row["value"])]
        then = {name: round(shares[step][name] + after[name], 2) for name in whole}
        points.append({"steps": step, "value": float(np.mean(values)) if values else None, **then})
    return [*points, last]


def main() -> None:
    importing = Seconds()
    from ropeval.runtime import prepare

    prepare()
    import jax

    import ropeval.evaluation.evaluate  # noqa: F401  (is part of what is imported)
    from ropeval.provenance import commit

    imported = importing.so_far()
    points = ask(json.loads(Path(sys.argv[1]).read_text()), Seconds())
    versions = {"ropeval": commit(), "jax": jax.__version__}
    print(json.dumps({"points": points, "import": imported, "versions": versions}))


if __name__ == "__main__":
    main()
