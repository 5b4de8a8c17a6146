"""How long `ropeval evaluate` takes from pressing Enter until the default methods have answered, and what takes it.

    python benchmarks/time_to_answer.py                                  20K and 100K rows, one policy
    python benchmarks/time_to_answer.py --rows 20000 --policies 1 10 --steps 200 --again

The log is the demo's pendulum, its episodes repeated until there are enough rows; the policies are the demo's four,
under several names. Every case runs in a process of its own, through the command line, with an empty cache of compiled
programs; --again runs it once more with what is there then. A case that is measured again replaces its row.

The seconds are those of the main thread, each in one place only: what a part spends in another counts for the other.
While anything compiles, in any thread, it counts as compiling. Peak memory is the largest resident set.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module, resources
from itertools import accumulate
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
INSIDE = "--inside"  # then where to write the seconds, when the process was started, and what was typed
FUNCTIONS = {  # what is timed -> where it counts
    "ropeval.data:load_dataset": "reading",
    "ropeval.policies.given:load_policies": "reading",
    "ropeval.data.problem:Log.problem": "reading",  # and asking the policy what it would do
    "ropeval.learning.engine:train": "training",
    "ropeval.estimators.world.rollouts:roll_out": "rollouts",
    "ropeval.evaluation.coverage:measure": "intervals",
    "ropeval.evaluation.conclude:conclude": "intervals",
    "ropeval.evaluation.diagnosis.diagnose:evidence_of": "intervals",
    "ropeval.evaluation.diagnosis.diagnose:diagnose": "intervals",
    "ropeval.evaluation.versus_log:compare_with_log": "intervals",
    "ropeval.evaluation.session:rankings": "intervals",
    "ropeval.cli.evaluate:keep": "page",
}
SLOWEST = 6  # programs to name
PARTS = ("import", "compiling", *dict.fromkeys(FUNCTIONS.values()), "other")


# --- in the process that is measured --------------------------------------------------------------------------


class Clock:
    """Cuts the main thread's time into stretches, each of one part."""

    def __init__(self, began: float) -> None:
        self.stretches: list[tuple[str, float, float]] = []
        self.compiling: list[tuple[float, float]] = []  # in all threads
        self.programs: list[tuple[float, str]] = []  # seconds in the compiler, or in its cache
        self.cached = 0  # programs that were found there
        self._part, self._since = "import", began  # Python itself comes first

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        outer = self._part
        self._turn(name)
        try:
            yield
        finally:
            self._turn(outer)

    def _turn(self, name: str) -> None:
        now = time.time()
        self.stretches.append((self._part, self._since, now))
        self._part, self._since = name, now

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            with self.part(name):
                return function(*given, **named)

        return call

    def heard(self, event: str, duration_secs: float, **about: str | int) -> None:
        if event.startswith("/jax/core/compile/"):  # tracing, lowering, and the compiler or its cache
            now = time.time()
            self.compiling.append((now - duration_secs, now))
        if event == "/jax/core/compile/backend_compile_duration":
            self.programs.append((round(duration_secs, 2), str(about.get("fun_name", "?"))))

    def counted(self, event: str, **_: Any) -> None:
        self.cached += event == "/jax/compilation_cache/cache_hits"

    def seconds(self) -> dict[str, float]:
        import numpy as np

        self._turn("other")
        found = dict.fromkeys(PARTS, 0.0)
        busy = [*merged(self.compiling), (self._since, self._since)]
        edges = [edge for span in busy for edge in span]
        before = list(accumulate((end - start for start, end in busy), initial=0.0))  # compiling until each span
        total = [before[(i + 1) // 2] for i in range(len(edges))]
        for part, start, end in self.stretches:  # there may be 100,000 of them
            compiled = float(np.interp(end, edges, total) - np.interp(start, edges, total))
            found[part] += end - start - compiled
            found["compiling"] += compiled
        return {part: round(seconds, 2) for part, seconds in found.items()}


def merged(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The same time without overlaps."""
    found: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def inside(target: Path, began: float, arguments: list[str]) -> None:
    """Run the command with the clock at its functions."""
    import builtins

    clock = Clock(began)
    with clock.part("import"):
        from ropeval.cli.main import main as command
        from ropeval.runtime import prepare

        prepare()
        import jax

        jax.monitoring.register_event_duration_secs_listener(clock.heard)
        jax.monitoring.register_event_listener(clock.counted)
        for place, part in FUNCTIONS.items():
            replace_everywhere(place, part, clock)
    builtins.__import__ = clock.timed("import", builtins.__import__)
    with clock.part("other"):
        try:
            command(arguments)
        except SystemExit as left:
            if left.code:
                raise
    found = {
        "parts": clock.seconds(),
        "programs": len(clock.programs),
        "from_cache": clock.cached,
        "slowest_programs": sorted(clock.programs, reverse=True)[:SLOWEST],
    }
    target.write_text(json.dumps(found))


def replace_everywhere(place: str, part: str, clock: Clock) -> None:
    """A function is known by its name in every module that imported it."""
    module, name = place.split(":")
    home: Any = import_module(module)
    *owner, name = name.split(".")
    for step in owner:
        home = getattr(home, step)
    original = getattr(home, name)
    timed = clock.timed(part, original)
    setattr(home, name, timed)
    for other in [m for n, m in sys.modules.items() if n.startswith("ropeval")]:
        if vars(other).get(name) is original:
            setattr(other, name, timed)


# --- outside --------------------------------------------------------------------------------------------------


def make_log(path: Path, rows: int) -> None:
    """The demo's episodes again and again, the last one cut where there are enough rows."""
    import numpy as np

    with resources.as_file(resources.files("ropeval.demo") / "log.npz") as file, np.load(file) as log:
        columns: dict[str, Any] = {name: np.resize(log[name], (rows, *log[name].shape[1:])) for name in log.files}
    columns["truncations"][-1] = True
    np.savez(path, **columns)


def policy_words(count: int) -> list[str]:
    folder = Path(str(resources.files("ropeval.demo") / "policies"))
    files = sorted(folder.glob("*.npz"))
    return [f"{files[i % len(files)].stem}{i}={files[i % len(files)]}" for i in range(count)]


def run_command(log: Path, policies: int, steps: int | None, cache: Path, scratch: Path) -> dict[str, Any]:
    """One run of the command: seconds, memory, and when it first said something."""
    scratch.mkdir()
    seconds, load = scratch / "seconds.json", os.getloadavg()[0]
    arguments = ["evaluate", str(log), *policy_words(policies), "--out", str(scratch / "out")]
    arguments += [] if steps is None else ["--steps", str(steps)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    began = time.time()
    command = [sys.executable, __file__, INSIDE, str(seconds), str(began), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
    assert process.stderr is not None
    said = process.stderr.readline()
    first = time.time() - began
    said += process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(said.decode())
    return {
        "seconds": round(time.time() - began, 1),
        "first_line": round(first, 2),
        "peak_gb": round(usage.ru_maxrss * 1024 / 1e9, 2),
        "load_average_before": round(load, 2),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        **json.loads(seconds.read_text()),
    }


def measure(rows: int, policies: int, steps: int | None, again: bool) -> dict[str, Any]:
    row = {"rows": rows, "policies": policies, "steps": steps or "default", "about": hardware()}
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        make_log(scratch / "log.npz", rows)
        for name in ("cold", "warm") if again else ("cold",):
            row[name] = run_command(scratch / "log.npz", policies, steps, scratch / "cache", scratch / name)
    print(json.dumps(row), flush=True)
    return row


def hardware() -> dict[str, str]:
    import jax

    from ropeval.provenance import commit
    from ropeval.runtime import device, processor

    return {
        "command": " ".join([f"python -m benchmarks.{Path(sys.argv[0]).stem}", *sys.argv[1:]]),
        "device": device(),
        "cpu": processor(),
        "jax": jax.__version__,
        "commit": commit(),
    }


def startup() -> dict[str, float]:
    """Seconds of `ropeval --help`, the best of five."""
    seconds = []
    for _ in range(5):
        began = time.time()
        subprocess.run([sys.executable, "-m", "ropeval", "--help"], stdout=subprocess.DEVNULL, check=True)
        seconds.append(time.time() - began)
    return {"help_seconds": round(min(seconds), 3)}


def keep(new: dict[str, Any], target: Path) -> None:
    known = json.loads(target.read_text())["rows"] if target.exists() else []
    by_case = {(row["rows"], row["policies"], str(row["steps"])): row for row in [*known, new]}
    rows = [by_case[case] for case in sorted(by_case)]
    target.write_text(json.dumps({**startup(), "rows": rows}, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--policies", type=int, nargs="+", default=[1])
    parser.add_argument("--steps", type=int, help="of every training; default: the methods' own")
    parser.add_argument("--again", action="store_true", help="a second time, with what the first compiled")
    parser.add_argument("--save", type=Path, default=HERE / "results" / "time-to-answer-cpu.json")
    chosen = parser.parse_args()
    for rows in chosen.rows:
        for policies in chosen.policies:
            keep(measure(rows, policies, chosen.steps, chosen.again), chosen.save)


if __name__ == "__main__":
    if sys.argv[1:2] == [INSIDE]:
        inside(Path(sys.argv[2]), float(sys.argv[3]), sys.argv[4:])
    else:
        main()
