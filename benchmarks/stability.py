"""Whether least squares converges on learned features: LSPE's spectral radius on logs, by representation.

    python benchmarks/stability.py TASK… --data FOLDER [--steps 3000] [--width 64] [--members 2] [--dim 16]

TASK is a collected task of `ropeval bench collect`, such as suite/chain-200; only its policies of the dev part are
judged. For every representation, and for the native features, it prints one line per policy: the radius of every member
(below 1 the iteration converges, whatever the rewards), the estimate and the true value. KROPE claims a radius below 1.
"""

import argparse
import platform
import time
from pathlib import Path
from typing import Any

from ropeval.bench.data.task_data import load_task
from ropeval.data import make_problem
from ropeval.encoders import ENCODERS
from ropeval.evaluation.fit import fit
from ropeval.evaluation.methods import make_method
from ropeval.learning.engine import Run, member_keys
from ropeval.provenance import commit
from ropeval.runtime import cores, prepare

REPRESENTATIONS = ("native", "krope", "rope", "rope-range", "bcrl")


def settings(encoder: str, options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """The same size and length of training for all."""
    given = {"steps": options.steps, "width": options.width, "dim": options.dim}
    known = ENCODERS[encoder].config.model_fields
    return {encoder: {name: value for name, value in given.items() if name in known and value is not None}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--representations", nargs="+", default=REPRESENTATIONS)
    for name, default in (("steps", 3000), ("width", 64), ("members", 2), ("dim", None)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    prepare()
    print(f"{platform.machine()}, {cores()} cores, commit {commit()}, {vars(options)}")
    print("| task | policy | representation | spectral radius of each member | estimates | true value | seconds |")
    print("|---|---|---|---|---|---|---|")
    for task in options.tasks:
        data = load_task(task, options.data)
        for name, judged in data.judged.items():
            if judged.split != "dev":
                continue
            problem = make_problem(data.dataset, judged.policy, data.task.gamma)
            for representation in options.representations:
                encoder = None if representation == "native" else representation
                method = make_method(
                    f"{encoder}+lspe" if encoder else "lspe", settings(encoder, options) if encoder else None
                )
                began = time.perf_counter()
                fitted = fit(problem, method, Run(member_keys(0, options.members)))
                radius = fitted.trained["lspe"].curves["radius"][-1]  # [M]
                cells = [task.rpartition("/")[2], name, representation]
                cells += [", ".join(f"{v:.3g}" for v in values) for values in (radius, fitted.estimated.values)]
                cells += [f"{judged.truth.discounted.value:.3g}", f"{time.perf_counter() - began:.0f}"]
                print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
