"""The same units through Ray, on two nodes of which one dies."""

import subprocess
import sys
import time

import pytest

from tests.bench.test_run import data, finished, own_tasks, scores, write_toml  # noqa: F401

pytest.importorskip("ray", reason="Ray is not installed")


def test_a_node_dies_and_the_rows_are_the_same(finished, data, tmp_path):  # noqa: F811
    from ray.cluster_utils import Cluster

    study, out = write_toml(tmp_path / "toy.toml"), tmp_path / "out"
    small = {"object_store_memory": 80 << 20, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, **small})
    try:
        worker = cluster.add_node(num_cpus=1, object_store_memory=80 << 20)
        command = [sys.executable, "-m", "ropeval", "bench", "run", str(study), "--out", str(out), "--data", str(data)]
        running = subprocess.Popen([*command, "--ray", cluster.address], stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 300
        while not list(out.glob("units/*.rows.parquet")) and running.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        cluster.remove_node(worker, allow_graceful=False)
        _, said = running.communicate(timeout=300)
        assert running.returncode == 0, said
    finally:
        cluster.shutdown()
    assert scores(out).equals(scores(finished))
    assert len(list(out.glob("units/*.failed.json"))) == 1  # the one that is refused


def test_no_cluster_is_one_line(tmp_path):
    study = write_toml(tmp_path / "toy.toml")
    command = [sys.executable, "-m", "ropeval", "bench", "run", str(study), "--out", str(tmp_path / "out")]
    done = subprocess.run([*command, "--ray", "127.0.0.1:1"], capture_output=True, text=True, timeout=200)
    assert done.returncode == 2
    assert "127.0.0.1:1" in done.stderr
