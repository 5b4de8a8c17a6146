"""How fast the engine trains: member-steps per second and peak memory, on the device that JAX finds.

    python benchmarks/speed.py                      every method at 1, 4, 20, 60 and 180 members
    python benchmarks/speed.py --peer               the same, and d3rlpy's FQE step in the same run
    python benchmarks/speed.py --features 4 500     inputs of other widths than 23
    python benchmarks/speed.py --save results/NAME  where the table goes (NAME.md and NAME.json)

Each case runs in a process of its own, so that its peak memory is its own. The data are random: 1M transitions of
23 features, as large as HalfCheetah's, batch 512, two hidden layers of 256; fewer where they are wide.
"""

import argparse
import itertools
import json
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from ropeval.provenance import commit

HERE = Path(__file__).resolve().parent
TRANSITIONS, FEATURES, BATCH, WIDTH = 1_000_000, 23, 512, 256
NUMBERS = TRANSITIONS * FEATURES  # at most, of the inputs of all transitions
MEMBERS = (1, 4, 20, 60, 180)
# rope-range, mico and psm train rope's program on other numbers; dr and wdr train fqe's.
METHODS = ("fqe", "rope", "fqe-clip", "fqe-deep", "fqe-ln", "random-metric", "bcrl", "behaviour", "world")
REPEATS = 3  # timed chunks per case; the fastest counts, since anything else on the machine only slows it


def make_learner(method: str, features: int, precision: str = "float32") -> Any:
    """The learner behind a method, with the benchmark's batch and width; `precision` where the method has one."""
    from ropeval.encoders import bcrl, metrics, similarity
    from ropeval.estimators import behaviour, fqe
    from ropeval.estimators.world import network

    size: dict[str, Any] = {"batch": BATCH, "width": WIDTH}
    rounded: dict[str, Any] = {**size, "precision": precision}
    actions = min(6, features // 2)
    variants = {
        "fqe": fqe.FQEConfig,
        "fqe-clip": fqe.FQEClipConfig,
        "fqe-deep": fqe.FQEDeepConfig,
        "fqe-ln": fqe.FQELNConfig,
    }
    if method in variants:
        return fqe.make_learner(variants[method](**rounded), features, 0.99, -1.0, 1.0)
    if method in ("rope", "random-metric"):
        shared = metrics.SharedAction(features - actions, None, (-1.0,) * actions, (1.0,) * actions)
        pair = similarity.independent_actions if method == "rope" else shared
        config = similarity.SimilarityConfig(**rounded)
        return similarity.make_learner(config, features, features // 2, 0.99, pair)
    if method == "bcrl":
        return bcrl.make_learner(bcrl.BcrlConfig(**size), features, features // 2, 0.99, 1.0, 100)
    if method == "behaviour":
        return behaviour.make_learner(behaviour.BehaviourConfig(**size), features - actions, actions, False)
    sizes = network.Sizes(steps=100_000, batch=BATCH, width=WIDTH, depth=2, tau=0.005, weight_decay=0.0)
    return network.make_learner(sizes, features, features, ())  # a state as large as the pair


def measure(method: str, members: int, features: int, seconds: float, precision: str = "float32") -> dict[str, Any]:
    """One case: steps per second after compilation, with chunks sized to take about `seconds` each."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from ropeval.data.transitions import Rows, Transitions
    from ropeval.learning import engine
    from ropeval.runtime import cores, prepare, processor

    prepare()
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return jnp.asarray(rng.standard_normal(shape, np.float32))

    size = min(TRANSITIONS, NUMBERS // features)
    rows = Rows(normal(size, features), normal(size, 1, features), normal(size), jnp.full(size, 0.99))
    data = Transitions(rows, normal(1000, 1, features))
    learner = make_learner(method, features, precision)
    hyper = {"learning_rate": jnp.full(members, 1e-5), "beta": jnp.full(members, 1.0), "scale": jnp.full(members, 1.0)}
    hyper["dim"] = jnp.full(members, features // 2)
    run = engine.Run(engine.member_keys(0, members))
    arranged: Any = engine.Order(learner, data, hyper, engine.LONG, run, method).arranged()
    state = arranged.init()

    def chunk(state: Any, length: int) -> tuple[Any, float, float]:
        began, worked = time.perf_counter(), time.process_time()
        state, _ = arranged.chunks(state, 0, length, lambda _: None)  # brings its metrics back, so it has finished
        return state, time.perf_counter() - began, time.process_time() - worked

    state, compile_seconds, _ = chunk(state, 10)
    state, short, _ = chunk(state, 10)
    length = int(np.clip(10 * seconds / short, 10, 2000))
    state, *_ = chunk(state, length)  # compiles this length
    times, on_cpu = [], []
    for _ in range(REPEATS):
        state, taken, worked = chunk(state, length)
        times.append(taken)
        on_cpu.append(worked)
    device = jax.devices()[0]
    gpus = f"{len(jax.devices())} × {device.device_kind}"
    stats = device.memory_stats() if device.platform != "cpu" else None
    peak = stats["peak_bytes_in_use"] if stats else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "method": method,
        "members": members,
        "features": features,
        "precision": precision,
        "member_steps_per_s": members * length / min(times),
        "ms_per_step_of_all": 1e3 * min(times) / length,
        "cpu_ms_per_step_of_all": 1e3 * min(on_cpu) / length,  # of all cores; says something on a busy machine, too
        "peak_memory_gb": peak / 1e9,
        "compile_seconds": round(compile_seconds, 1),
        "device": f"{cores()} cores of {processor()}" if device.platform == "cpu" else gpus,
        "jax": jax.__version__,
    }


def measure_peer(seconds: float) -> dict[str, Any]:
    """d3rlpy's FQE, same batch and network, in an environment of its own that this makes once."""
    venv = HERE.parent / ".venv-d3rlpy"
    python = venv / "bin" / "python"
    if not (venv / ".ready").exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        for package in ("torch==2.13.0", "d3rlpy"):  # torch first, so that nothing resolves it anew
            subprocess.run([python, "-m", "pip", "install", "--quiet", package], check=True)
        (venv / ".ready").touch()
    command: list[Any] = [python, HERE / "peer_d3rlpy.py", str(BATCH), str(WIDTH), str(FEATURES), str(seconds)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, nargs="+", default=MEMBERS)
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--features", type=int, nargs="+", default=[FEATURES])
    parser.add_argument(
        "--precision", choices=("float32", "bfloat16"), default="float32", help="of FQE's and ROPE's kin"
    )
    parser.add_argument("--seconds", type=float, default=3.0, help="per timed chunk")
    parser.add_argument("--peer", action="store_true", help="time d3rlpy's FQE as well")
    parser.add_argument("--save", type=Path, default=None, help="file name without ending")
    parser.add_argument("--one", nargs=3, metavar=("METHOD", "MEMBERS", "FEATURES"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        method, members, features = options.one
        print(json.dumps(measure(method, int(members), int(features), options.seconds, options.precision)))
        return
    peer = measure_peer(options.seconds) if options.peer else None
    if peer:
        print(f"d3rlpy {peer['version']}: {peer['ms_per_step']:.2f} ms per FQE step", flush=True)
    rows = []
    for method, members, features in itertools.product(options.methods, options.members, options.features):
        case = [method, str(members), str(features)]
        command = [sys.executable, __file__, "--one", *case, "--seconds", str(options.seconds)]
        command += ["--precision", options.precision]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(f"{method} at {members} members failed:\n{done.stderr[-2000:]}", file=sys.stderr)
            continue
        row = json.loads(done.stdout.splitlines()[-1])
        rows.append(row)
        print(
            f"{method:14} {members:4} members {features:4} features  {row['member_steps_per_s']:10,.0f} "
            f"member-steps/s  {row['ms_per_step_of_all']:8.3f} ms  {row['peak_memory_gb']:.2f} GB",
            flush=True,
        )
    if rows:
        save(rows, peer, options.save or HERE / "results" / f"speed-{'gpu' if '×' in rows[0]['device'] else 'cpu'}")


def save(rows: list[dict[str, Any]], peer: dict[str, Any] | None, path: Path) -> None:
    about = {
        "command": " ".join(["python", "benchmarks/speed.py", *sys.argv[1:]]),
        "device": rows[0]["device"],
        "jax": rows[0]["jax"],
        "python": platform.python_version(),
        "commit": commit(),
        "data": f"{TRANSITIONS:,} transitions (fewer of more than {FEATURES} features), batch {BATCH}, 2×{WIDTH}",
    }
    lines = ["# Speed", "", *(f"- {name}: {value}" for name, value in about.items()), ""]
    lines += [
        "| method | members | features | member-steps/s | ms per step of all | CPU ms | peak memory, GB |",
        "|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        lines.append(
            f"| {r['method']} | {r['members']} | {r['features']} | {r['member_steps_per_s']:,.0f} "
            f"| {r['ms_per_step_of_all']:.3f} | {r['cpu_ms_per_step_of_all']:.3f} | {r['peak_memory_gb']:.2f} |"
        )
    if peer:
        lines += [
            "",
            f"d3rlpy {peer['version']} (torch {peer['torch']}), same run: {peer['ms_per_step']:.2f} ms per step.",
        ]
        for r in rows:
            if r["method"] == "fqe":
                ratio = peer["ms_per_step"] * r["member_steps_per_s"] / 1e3
                lines.append(f"FQE at {r['members']} members: {ratio:.1f} times as many steps per second.")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".md").write_text("\n".join(lines) + "\n")
    path.with_suffix(".json").write_text(json.dumps({"about": about, "rows": rows, "peer": peer}, indent=1) + "\n")
    print(f"saved {path.name}.md and .json")


if __name__ == "__main__":
    main()
