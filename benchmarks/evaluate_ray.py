"""How much faster `ropeval evaluate` answers on a cluster: nodes of one core each, all on this machine.

    python -m benchmarks.evaluate_ray                              1, 2, 4 and 8 nodes, 16 policies
    python -m benchmarks.evaluate_ray --nodes 1 2 --policies 4 --steps 200

More nodes than the machine has cores only show what Ray itself costs. The log and the policies are those of
`time_to_answer.py`. The clock runs from pressing Enter; each cluster stands already, its processes do not.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.time_to_answer import HERE, hardware, make_log, policy_words

STORE = 256 << 20  # bytes, of a node


def measure(nodes: int, log: Path, policies: int, steps: int, folder: Path) -> dict[str, Any]:
    """One run of the command on a cluster of as many nodes; 0: without Ray."""
    from ray.cluster_utils import Cluster

    command = [sys.executable, "-m", "ropeval", "evaluate", str(log), *policy_words(policies)]
    command += ["--steps", str(steps), "--out", str(folder / str(nodes))]
    cluster = None
    if nodes:
        about: dict[str, Any] = {"num_cpus": 1, "object_store_memory": STORE}
        cluster = Cluster(initialize_head=True, head_node_args={**about, "include_dashboard": False})
        for _ in range(nodes - 1):
            cluster.add_node(**about)
        command += ["--ray", cluster.address]
    try:
        load, began = os.getloadavg()[0], time.time()
        subprocess.run(command, check=True, capture_output=True)
        seconds = time.time() - began
    finally:
        if cluster is not None:
            cluster.shutdown()
    return {"nodes": nodes, "seconds": round(seconds, 1), "load_average_before": round(load, 2)}


def answers(folder: Path) -> list[Any]:
    return [{**row, "seconds": None} for row in json.loads((folder / "result.json").read_text())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--policies", type=int, default=16)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--steps", type=int, default=2_000, help="of every training")
    parser.add_argument("--save", type=Path, default=HERE / "results" / "evaluate-ray.json")
    chosen = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make_log(folder / "log.npz", chosen.rows)
        for nodes in (0, *chosen.nodes):
            rows.append(measure(nodes, folder / "log.npz", chosen.policies, chosen.steps, folder))
            rows[-1]["same_answers"] = answers(folder / str(nodes)) == answers(folder / "0")
            print(json.dumps(rows[-1]), flush=True)
    for row in rows:
        row["speed_up"] = round(rows[0]["seconds"] / row["seconds"], 2)
    asked = {"policies": chosen.policies, "rows": chosen.rows, "steps": chosen.steps, "cores": os.cpu_count()}
    chosen.save.write_text(json.dumps({**asked, "about": hardware(), "runs": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
