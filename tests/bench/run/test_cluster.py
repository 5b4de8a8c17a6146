"""The same units through Ray, on two nodes of which one dies."""

import subprocess
import sys
import time

import pytest

from ropeval.cli.main import main
from tests.bench.run.toy_study import scores, write_toml

pytest.importorskip("ray", reason="Ray is not installed")


@pytest.mark.process
@pytest.mark.training
def test_a_node_dies_and_the_rows_are_the_same(finished, data, tmp_path):
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


@pytest.mark.parametrize("address", ["127.0.0.1:1", "localhost:port", "nowhere.invalid:80"])
def test_no_cluster_is_one_line(address, tmp_path, capsys):
    study = write_toml(tmp_path / "toy.toml")
    with pytest.raises(SystemExit) as left:
        main(["bench", "run", str(study), "--out", str(tmp_path / "out"), "--ray", address])
    assert left.value.code == 2
    assert f"--ray {address}: nobody answers" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
