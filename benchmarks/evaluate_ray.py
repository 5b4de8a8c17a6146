"""How much faster `ropeval evaluate` answers on a cluster: nodes with cores of their own, all on this machine.

    python -m benchmarks.evaluate_ray                              no Ray; 1, 2, 4, 8 nodes of one core; 16 policies
    python -m benchmarks.evaluate_ray --nodes 0 1 2 --policies 4 --steps 200
    python -m benchmarks.evaluate_ray --cores-per-node 2           each piece of work has both cores of its node
    for n in 1 2 4 8; do taskset -c $((n - 1))-$((2 * n - 2)) python -m benchmarks.evaluate_ray --nodes $n & done
    python -m benchmarks.evaluate_ray --share 0.2                  slow machines, each a fifth of a core

Every process of a node is bound to the node's cores and has the node's own cache of compiled programs, empty at first;
the command that was typed is bound to the cores of all nodes together. What it is compared with, the command without
Ray (0 nodes), has the cores of one node. More nodes than the machine has cores for share them in turn, and only show
what Ray itself costs; where it has sixteen, all clusters fit on it side by side, as in the line with `taskset` above.
Where it has few, `--share` gives every node, and the command, a part of a core's time: a cluster of slow machines, each
as slow whether there are eight or one. Its speed-up is that of fast ones, but for what does not get slower with them:
the network, which is none here, and waiting. It needs Linux with control groups of the first version, and root.

A case that is measured again replaces its row. The log and the policies are those of `time_to_answer.py`. The clock
runs from pressing Enter; each cluster stands already, its processes do not.
"""

import argparse
import fcntl
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.time_to_answer import HERE, hardware, make_log, policy_words

STORE = 256 << 20  # bytes, of a node
GROUPS = Path("/sys/fs/cgroup/cpu")  # of processes that share a part of the cores' time


class Machine(NamedTuple):
    cores: set[int]
    cache: Path
    share: float  # of every core's time

    @contextmanager
    def lent(self) -> Iterator[None]:
        """What is started inside, and all that it starts, runs here and keeps its compiled programs here."""
        ours, environment = os.sched_getaffinity(0), dict(os.environ)
        os.sched_setaffinity(0, self.cores)
        os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)
        os.environ["XDG_CACHE_HOME"] = str(self.cache)
        try:
            with self._slowed():
                yield
        finally:
            os.environ.clear()
            os.environ.update(environment)
            os.sched_setaffinity(0, ours)

    @contextmanager
    def _slowed(self) -> Iterator[None]:
        if self.share == 1:
            yield
            return
        group = GROUPS / f"ropeval-{os.getpid()}-{self.cache.parent.name}-{self.cache.name}"
        group.mkdir(exist_ok=True)
        period = int((group / "cpu.cfs_period_us").read_text())
        (group / "cpu.cfs_quota_us").write_text(str(round(self.share * len(self.cores) * period)))
        (group / "cgroup.procs").write_text(str(os.getpid()))
        try:
            yield
        finally:
            (GROUPS / "cgroup.procs").write_text(str(os.getpid()))


def measure(nodes: int, asked: dict[str, Any], log: Path, folder: Path) -> dict[str, Any]:
    """One run of the command on a cluster of as many machines; 0: on one of them, without Ray."""
    from ray.cluster_utils import Cluster

    each, share = asked["cores_per_node"], asked["share"]
    command = [sys.executable, "-m", "ropeval", "evaluate", str(log), *policy_words(asked["policies"])]
    command += ["--steps", str(asked["steps"]), "--out", str(folder / str(nodes))]
    caches = folder / f"nodes-{nodes}"
    machines = [Machine(cores_of(node, each), caches / str(node), share) for node in range(max(nodes, 1))]
    here = cores_of(nodes, each) if share < 1 else set().union(*(machine.cores for machine in machines))
    cluster = None
    try:
        if nodes:
            about: dict[str, Any] = {"num_cpus": each, "object_store_memory": STORE}
            with machines[0].lent():
                cluster = Cluster(initialize_head=True, head_node_args={**about, "include_dashboard": False})
            for machine in machines[1:]:
                with machine.lent():
                    cluster.add_node(**about)
            command += ["--ray", cluster.address, "--cores", str(each)]
        load, began = os.getloadavg()[0], time.time()
        with Machine(here, caches / "command", share).lent():
            subprocess.run(command, check=True, capture_output=True)
        seconds = time.time() - began
    finally:
        if cluster is not None:
            cluster.shutdown()
        for group in GROUPS.glob(f"ropeval-{os.getpid()}-{caches.name}-*"):
            with suppress(OSError):  # somebody is still leaving
                group.rmdir()
    return {
        "nodes": nodes,
        "seconds": round(seconds, 1),
        "answers": answers(folder / str(nodes)),
        "load_average_before": round(load, 2),
    }


def cores_of(node: int, each: int) -> set[int]:
    """A node's own, as far as there are enough."""
    ours = sorted(os.sched_getaffinity(0))
    return {ours[(node * each + core) % len(ours)] for core in range(each)}


def answers(folder: Path) -> str:
    """A hash of all that was answered, to the last bit, but for how long it took."""
    rows = [{**row, "seconds": None} for row in json.loads((folder / "result.json").read_text())]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]


def keep(row: dict[str, Any], asked: dict[str, Any], target: Path) -> None:
    """Beside the rows that others of the same size wrote, perhaps at this moment."""
    with target.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        known = json.loads(file.read() or "{}")
        rows = known["runs"] if asked.items() <= known.items() else []
        by_nodes = {one["nodes"]: one for one in [*rows, row]}
        file.truncate(0)
        file.write(json.dumps({**asked, "runs": [by_nodes[nodes] for nodes in sorted(by_nodes)]}, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[0, 1, 2, 4, 8], help="0: without Ray")
    parser.add_argument("--cores-per-node", type=int, default=1)
    parser.add_argument(
        "--share", type=float, default=1.0, help="of its cores' time that each node has, and the command"
    )
    parser.add_argument("--policies", type=int, default=16)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--steps", type=int, default=2_000, help="of every training")
    parser.add_argument("--save", type=Path, default=HERE / "results" / "evaluate-ray.json")
    chosen = parser.parse_args()
    asked = {"policies": chosen.policies, "rows": chosen.rows, "steps": chosen.steps}
    asked |= {"cores_per_node": chosen.cores_per_node, "share": chosen.share}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make_log(folder / "log.npz", chosen.rows)
        for nodes in chosen.nodes:
            row = measure(nodes, asked, folder / "log.npz", folder)
            keep({**row, "cores": len(os.sched_getaffinity(0)), "about": hardware()}, asked, chosen.save)
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
