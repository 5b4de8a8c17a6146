"""The shipped smoke study, smaller: collected, run with every method, killed, resumed, reported, all by command."""

import signal
import subprocess
import sys
import time
from pathlib import Path

from ropeval.bench.results.rows import BASELINES, load_rows
from ropeval.bench.run.store import Store
from ropeval.bench.run.study import load_study
from tests.bench.test_run import call

SMALLER = ["smoke.toml", "--tasks", "tiny/pendulum", "--seeds", "1", "--steps", "10"]
PLACES = ["--out", "study", "--data", "data"]


def test_the_smoke_study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = [sys.executable, "-m", "ropeval", "bench", "run", *SMALLER, *PLACES]
    first = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    units = tmp_path / "study" / "units"
    deadline = time.monotonic() + 300
    while len(list(units.glob("*.rows.parquet"))) < 4 and first.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    first.send_signal(signal.SIGKILL)
    first.wait()
    kept = {path: path.stat().st_mtime_ns for path in units.glob("*.rows.parquet")}
    assert len(kept) >= 4

    call("run", *SMALLER, *PLACES, "--resume")
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())
    rows, study = load_rows(tmp_path / "study"), load_study(Path("smoke.toml"))
    refused = {failure["method"] for failure in Store(tmp_path / "study").failures()}
    assert set(rows["method"]) | refused == {*study.methods, *BASELINES}
    assert "critic+fqe" in refused  # the demo's policies have no critic

    call("report", "study", "--format", "md,html")
    page = (tmp_path / "study" / "report" / "report.html").read_text(encoding="utf-8")
    assert all(method in page for method in set(rows["method"]))
