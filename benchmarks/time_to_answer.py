"""How long `ropeval evaluate` takes from pressing Enter until the default methods have answered, and what takes it.

    python -m benchmarks.time_to_answer                                  20K and 100K rows, one policy
    python -m benchmarks.time_to_answer --rows 20000 --policies 1 10 --steps 200 --again
    python -m benchmarks.time_to_answer --rows 1000000 --policies 20 --save h200.json

The log is the demo's pendulum, its episodes repeated until there are enough rows; the policies are the demo's four,
under several names. Every case runs in a process of its own, through the command line, with an empty cache of compiled
programs; --again runs it once more with what is there then. A case that is measured again replaces its row.

`parts` are the seconds of the main thread, each in one place only: what a part spends in another counts for the other.
While anything compiles, in any thread, it counts as compiling. On an accelerator the main thread only waits for others:
`timeline` has what each of them did, and when. `peak_gb` is the largest resident set, `held_gb` of what kind it was.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from benchmarks.clock import COMPILING, Clock, Part, table, timeline
from benchmarks.resident import Watch

from ropeval.provenance import commit

HERE = Path(__file__).resolve().parent
PRETENDED = "ROPEVAL_BENCHMARK_LANES"  # in the environment: see `pretend`
INSIDE = "--inside"  # then where to write the seconds, when the process was started, and what was typed


def _stage(
    learner: Any, transitions: Any, hyper: Any, steps: int, run: Any, stage: str = "", *_: Any, **__: Any
) -> str:
    return f"training: {stage or run.part}"


FUNCTIONS: dict[str, Part] = {  # what is timed -> where it counts
    "ropeval.data:load_dataset": "reading",
    "ropeval.policies.given:load_policies": "reading",
    "ropeval.data.problem:PolicyAnswers._asked": "asking",
    "ropeval.data.streaming:Pairs.__getitem__": "pairing",  # states and actions, on the host
    "ropeval.data.transitions:lay_out": "to the device",
    "ropeval.learning.arrangements:Vectorised.__init__": "to the device",
    "ropeval.learning.engine:train": _stage,
    "ropeval.learning.rehearse:first_chunk": _stage,  # to compile early
    "ropeval.learning.checkpoint:Checkpoint.save": "checkpoints",
    "ropeval.learning.prepare:prepared": "preparing, or waiting until it is prepared",
    "ropeval.estimators.world.units:make_units": "looking at the log",
    "ropeval.estimators.world.log_returns:log_returns": "looking at the log",
    "ropeval.estimators.world.held_out:look_at_log": "looking at the log",
    "ropeval.estimators.world.held_out:look_for_memory": "looking at the log",
    "ropeval.estimators.world.replays:replay_log": "looking at the log",
    "ropeval.estimators.world.rollouts:roll_out": "rollouts",
    "ropeval.evaluation.coverage:measure": "intervals",
    "ropeval.evaluation.conclude:conclude": "intervals",
    "ropeval.evaluation.diagnosis.diagnose:evidence_of": "intervals",
    "ropeval.evaluation.diagnosis.diagnose:diagnose": "intervals",
    "ropeval.evaluation.versus_log:compare_with_log": "intervals",
    "ropeval.evaluation.session:rankings": "intervals",
    "ropeval.evaluation.session:_answer_policy": "other",  # in a lane, which waits for work otherwise
    "ropeval.cli.evaluate:keep": "page",
}
SLOWEST = 6  # programs to name


# --- in the process that is measured --------------------------------------------------------------------------


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
            clock.time_everywhere(place, part)
        if os.environ.get(PRETENDED):
            pretend()
    builtins.__import__ = clock.timed("import", builtins.__import__)
    with clock.part("other"):
        try:
            command(arguments)
        except SystemExit as left:
            if left.code:
                raise
    found = {
        "parts": {COMPILING: 0.0, **clock.main_thread()},
        "programs": len(clock.programs),
        "from_cache": clock.cached,
        "slowest_programs": sorted(clock.programs, reverse=True)[:SLOWEST],
        "timeline": timeline(clock.threads()),
    }
    target.write_text(json.dumps(found))


def pretend() -> None:
    """As if this were an accelerator: lanes side by side, all members in one program, and room for the log."""
    from ropeval.data import streaming
    from ropeval.evaluation import session
    from ropeval.learning import arrangements, engine

    for module, name, value in (
        (session, "sized_for", lambda backend: "gpu"),
        (streaming, "HELD_ON_CPU", 1 << 40),
        (engine, "_choose", lambda arrangement, transitions: arrangements.Vectorised),
    ):
        setattr(module, name, value)


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
    module = ["-m", "benchmarks.time_to_answer"]
    command = [sys.executable, *module, INSIDE, str(seconds), str(began), *arguments]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment, cwd=HERE.parent
    )
    assert process.stderr is not None
    watch = Watch(process.pid)
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
        **watch.peak(),
        "load_average_before": round(load, 2),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        **json.loads(seconds.read_text()),
    }


def measure(rows: int, policies: int, steps: int | None, again: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"rows": rows, "policies": policies, "steps": steps or "default", "about": hardware()}
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        make_log(scratch / "log.npz", rows)
        for name in ("cold", "warm") if again else ("cold",):
            row[name] = run_command(scratch / "log.npz", policies, steps, scratch / "cache", scratch / name)
            print(json.dumps({**row, name: {k: v for k, v in row[name].items() if k != "timeline"}}))
            print(table(row[name]["timeline"]), flush=True)
    return row


@cache
def hardware() -> dict[str, str]:
    """Asked in a process of its own: JAX takes what there is of a GPU, and would leave little to what is measured."""
    ask = "import jax, json, ropeval.runtime as r; print(json.dumps([r.device(), r.processor(), jax.__version__]))"
    done = subprocess.run([sys.executable, "-c", ask], check=True, capture_output=True, text=True)
    device, processor, version = json.loads(done.stdout)
    own = Path(sys.argv[0]).with_suffix("")
    program = own.parent.name if own.name == "__main__" else own.name
    return {
        "command": " ".join([f"python -m benchmarks.{program}", *sys.argv[1:]]),
        "device": device,
        "cpu": processor,
        "jax": version,
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
    lanes = "as if this were an accelerator: to try the timeline on a CPU"
    parser.add_argument("--lanes", action="store_true", help=lanes)
    parser.add_argument("--save", type=Path, default=HERE / "results" / "time-to-answer-cpu.json")
    chosen = parser.parse_args()
    if chosen.lanes:
        os.environ[PRETENDED] = "1"
    for rows in chosen.rows:
        for policies in chosen.policies:
            keep(measure(rows, policies, chosen.steps, chosen.again), chosen.save)


if __name__ == "__main__":
    if sys.argv[1:2] == [INSIDE]:
        inside(Path(sys.argv[2]), float(sys.argv[3]), sys.argv[4:])
    else:
        main()
