"""Studies and evaluations through Ray, on two nodes of which one dies. They share a cluster: it starts slowly."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ropeval.cli.main import main
from tests.bench.run.toy_study import scores, write_toml
from tests.problems import LinearQuadratic

pytest.importorskip("ray", reason="Ray is not installed")
STORE = 80 << 20  # bytes, of a node
SMALL = ["--set", "wis.width=8", "--set", "wis.depth=1", "--steps", "20", "--members", "2"]
EVALUATE = ["--method", "mean-return", "--method", "wis", *SMALL]  # of which a fitted behaviour policy is prepared


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    made = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "object_store_memory": STORE, "include_dashboard": False},
    )
    yield made
    made.shutdown()


def run_and_kill_a_node(cluster, command: list[str], begun: Callable[[], bool]) -> None:
    """A node joins, and dies once something is done."""
    worker = cluster.add_node(num_cpus=1, object_store_memory=STORE)
    command = [sys.executable, "-m", "ropeval", *command, "--ray", cluster.address]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    deadline = time.monotonic() + 300
    while not begun() and running.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    cluster.remove_node(worker, allow_graceful=False)
    _, said = running.communicate(timeout=300)
    assert running.returncode == 0, said


@pytest.mark.process
@pytest.mark.training
def test_a_node_dies_and_the_rows_are_the_same(cluster, finished, data, tmp_path):
    study, out = write_toml(tmp_path / "toy.toml"), tmp_path / "out"
    command = ["bench", "run", str(study), "--out", str(out), "--data", str(data)]
    run_and_kill_a_node(cluster, command, lambda: bool(list(out.glob("units/*.rows.parquet"))))
    assert scores(out).equals(scores(finished))
    assert len(list(out.glob("units/*.failed.json"))) == 1  # the one that is refused


@pytest.mark.process
@pytest.mark.training
def test_a_node_dies_and_the_answers_are_the_same(cluster, tmp_path):
    log, out = LinearQuadratic().log(30), tmp_path / "out"
    steps = ("observations", "actions", "rewards", "terminations", "truncations", "next_observations")
    np.savez(tmp_path / "log.npz", **{name: getattr(log, name) for name in steps})
    command = ["evaluate", str(tmp_path / "log.npz"), "uniform", "more=uniform", *EVALUATE]
    run_and_kill_a_node(cluster, [*command, "--out", str(out)], lambda: bool(list(out.glob(".work/[0-9].json"))))
    here = tmp_path / "here"
    with pytest.raises(SystemExit) as left:
        main([*command, "--out", str(here)])
    assert not left.value.code
    assert answers(out) == answers(here)
    assert (out / "trust.json").read_text() == (here / "trust.json").read_text()


def answers(folder: Path) -> list[dict]:
    """All but what each took."""
    return [{**row, "seconds": None} for row in json.loads((folder / "result.json").read_text())]


@pytest.mark.parametrize("address", ["127.0.0.1:1", "localhost:port", "nowhere.invalid:80"])
def test_no_cluster_is_one_line(address, tmp_path, capsys):
    study = write_toml(tmp_path / "toy.toml")
    with pytest.raises(SystemExit) as left:
        main(["bench", "run", str(study), "--out", str(tmp_path / "out"), "--ray", address])
    assert left.value.code == 2
    assert f"--ray {address}: nobody answers" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
