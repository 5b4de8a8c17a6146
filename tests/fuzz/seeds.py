"""Good files to damage: the committed policies, the published ones where they are, and logs made on the spot."""

import contextlib
import io
import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ropeval.bench.run.study import load_study
from ropeval.cli.truth import read_truth
from ropeval.data.columns import write_columns
from ropeval.data.formats import recognise
from ropeval.errors import UserError
from ropeval.evaluation.methods import make_method
from ropeval.evaluation.options import Options, make_options, read_options
from ropeval.evaluation.result_folder import ResultFolder
from ropeval.evaluation.session import Session, rankings, run_session
from ropeval.policies import load_policy
from ropeval.policies.policy import Space, draw_actions
from ropeval.policies.spec import parse_spec
from ropeval.policies.uniform import UniformPolicy
from tests.problems import Chain

POLICIES = Path(__file__).resolve().parents[1] / "policies" / "files"
SAMPLES = Path(__file__).resolve().parents[1] / "data" / "samples"  # d3rlpy wrote these
PUBLISHED = Path(__file__).resolve().parents[3] / "shared" / "reference" / "policies"
READ = ("log.npz", "log.csv", "german.csv", "log.jsonl", "log.json", "log.parquet", "log.hdf5")
FOLDERS = ("columns", "minari", "minari-counted", "parquets")
LARGEST = 400_000  # bytes of a published policy: damage to a larger one is mostly damage to its numbers


@dataclass(frozen=True)
class Seed:
    """One good file, or one folder of files."""

    name: str
    files: dict[str, bytes]  # one for a file; several for a folder
    read: Callable[[Path], Any]
    is_folder: bool = False


def make_seeds(folder: Path) -> list[Seed]:
    """Write what has to be written under `folder`, read everything once (imports and all), and give the bytes."""
    seeds = [*_policies(folder), *_logs(folder), *_words(), _result(folder)]
    for seed in seeds:
        for name, content in seed.files.items():
            path = folder / "good" / seed.name / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        seed.read(folder / "good" / seed.name if seed.is_folder else path)
    return seeds


def read_policy(path: Path) -> Any:
    """Load a policy and ask it: a file that is taken must also answer, or refuse to."""
    policy = load_policy(path)
    size, actions = policy.observation_size or 3, policy.action_size or 4
    policy = policy.fitted(Space(size, actions, bool(policy.discrete), -np.ones(actions), np.ones(actions)))
    return draw_actions(policy, np.ones((2, size), np.float32), 1, np.random.default_rng(0))


def read_statistics(path: Path) -> Any:
    return load_policy(f"{POLICIES / 'ppo_normalised.zip'}+{path}")


def read_log(path: Path) -> Any:
    """Without the trial in a process of its own, which protects users from what the fuzzer is to find."""
    return [part.space for part in recognise(path).parts_here({})]


def _policies(folder: Path) -> list[Seed]:
    seeds = [
        Seed(path.stem, {path.name: path.read_bytes()}, read_policy)
        for path in sorted(POLICIES.iterdir())
        if path.suffix in (".zip", ".onnx") and path.stem not in ("sac_sde", "ppo_normalised")
    ]
    seeds.append(Seed("statistics", {"s.pkl": (POLICIES / "vecnormalize.pkl").read_bytes()}, read_statistics))
    rng = np.random.default_rng(0)
    shapes = {"fc0": (4, 3), "fc1": (4, 4), "last_fc": (2, 4), "last_fc_log_std": (2, 4)}
    arrays = {}
    for name, shape in shapes.items():
        arrays[f"{name}/weight"] = rng.standard_normal(shape).astype(np.float32)
        arrays[f"{name}/bias"] = rng.standard_normal(shape[0]).astype(np.float32)
    for protocol in (2, 4):
        content = pickle.dumps(arrays | {"nonlinearity": "relu", "output_distribution": "tanh_gaussian"}, protocol)
        seeds.append(Seed(f"deep_ope{protocol}", {"p.pkl": content}, read_policy))
    short = {"last_fc": "mean", "last_fc_log_std": "logstd"}
    plain = {}
    for name, array in arrays.items():
        part, what = name.split("/")
        plain[f"{short.get(part, part)}_{what[0]}"] = array
    np.savez(folder / "p.npz", **plain)
    seeds.append(Seed("npz", {"p.npz": (folder / "p.npz").read_bytes()}, read_policy))
    chooser = {name: array for name, array in plain.items() if name.startswith("fc")}
    np.savez(folder / "c.npz", logits_w=plain["mean_w"], logits_b=plain["mean_b"], **chooser)
    seeds.append(Seed("npz-logits", {"c.npz": (folder / "c.npz").read_bytes()}, read_policy))
    published = [path for path in sorted(PUBLISHED.glob("*_10.*")) if path.stat().st_size < LARGEST]
    return seeds + [Seed(path.stem, {path.name: path.read_bytes()}, read_policy) for path in published]


def _logs(folder: Path) -> list[Seed]:
    """One log in every format that is read, and d3rlpy's own files."""
    import h5py
    import polars as pl

    rng = np.random.default_rng(1)
    ends = np.tile(np.arange(5) == 4, 4)
    columns = {
        "observations": rng.standard_normal((20, 3)).astype(np.float32),
        "actions": rng.uniform(-1, 1, (20, 2)).astype(np.float32),
        "rewards": rng.standard_normal(20).astype(np.float32),
        "terminations": ends & (np.arange(20) < 10),
        "truncations": ends & (np.arange(20) >= 10),
        "next_observations": rng.standard_normal((20, 3)).astype(np.float32),
    }
    np.savez(folder / "log.npz", **columns)
    write_columns(folder / "columns", columns)
    table = {
        f"{name}_{i}": columns[name][:, i]
        for name in ("observations", "actions")
        for i in range(columns[name].shape[1])
    }
    table |= {name: columns[name] for name in ("rewards", "terminations", "truncations")}
    pl.DataFrame(table).write_csv(folder / "log.csv")
    spelled = pl.DataFrame(table | {"observations_0": np.char.add("w", (np.arange(20) % 3).astype(str))})
    spelled.write_csv(folder / "german.csv", separator=";", decimal_comma=True)
    lists = [values.tolist() for values in columns.values()]
    listed = [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]
    (folder / "log.jsonl").write_text("\n".join(map(json.dumps, listed)))
    (folder / "log.json").write_text(json.dumps(listed))
    (folder / "parquets" / "ward=1").mkdir(parents=True)
    for part, rows in (("a.parquet", slice(0, 10)), ("ward=1/b.parquet", slice(10, 20))):
        pl.DataFrame(table)[rows].write_parquet(folder / "parquets" / part)
    pl.DataFrame(table).write_parquet(folder / "log.parquet")
    with h5py.File(folder / "log.hdf5", "w") as file:
        for name, values in columns.items():
            file[{"terminations": "terminals", "truncations": "timeouts"}.get(name, name)] = values
    _write_minari(folder / "minari", columns, {"type": "Box", "dtype": "float32", "shape": [2]})
    counted = columns | {"actions": rng.integers(0, 3, 20)}
    _write_minari(folder / "minari-counted", counted, {"type": "Discrete", "n": 3, "start": 0})
    files = [folder / name for name in READ] + sorted(SAMPLES.glob("*.h5"))
    seeds = [Seed(f"{path.stem}{path.suffix}", {path.name: path.read_bytes()}, read_log) for path in files]
    return [*seeds, *(Seed(name, _content(folder / name), read_log, is_folder=True) for name in FOLDERS)]


@cache
def _evaluate_command() -> Any:
    """Typer makes it anew, from all verbs, whenever it is asked."""
    import typer

    from ropeval.cli.main import app

    return typer.main.get_command(app).commands["evaluate"]  # type: ignore[attr-defined]


def read_words(path: Path) -> Any:
    """The command line, as far as it is read before a log is."""
    import click

    from ropeval.data.column_names import parse_columns

    _, *words = path.read_bytes().decode("utf-8", "surrogateescape").split("\n")
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            given = dict(_evaluate_command().make_context("evaluate", words).params)
    except (click.exceptions.Exit, click.ClickException) as error:  # said by Click, in its own words
        raise UserError(str(error)) from error
    except Exception as error:
        if "typer" in type(error).__module__ or "click" in type(error).__module__:
            raise UserError(str(error)) from error
        raise
    named = {name: value for name, value in given.items() if name in Options.model_fields and value not in (None, [])}
    options = read_options(named)
    parse_columns(options.columns)
    return [parse_spec(policy) for policy in given["policies"]], [
        make_method(name, options.settings) for name in options.method
    ]


def read_result(folder: Path) -> Any:
    found = ResultFolder(folder)
    return found.about(), found.results(), found.trust(), found.curves()


CONFIG = """gamma = 0.9
members = 3
method = ["fqe", "rope+fqe"]
level = 0.9
[fqe]
steps = 10
width = 8
[rope]
beta = 1.0
"""
STUDY = """tasks = ["tiny/pendulum"]
methods = ["fqe", "rope+fqe"]
seeds = 2
steps = 10
[settings.fqe]
width = 8
[grid."rope+fqe"]
"rope.beta" = [0.1, 1.0]
"rope.dim" = [2, 3]
"""
EVALUATE = ["evaluate", "log.npz", "policy.npz@mean", "--gamma", "0.9", "--method", "fqe", "--set", "fqe.steps=10",
            "--columns", "observations=s*", "--members", "3"]  # fmt: skip


def _words() -> list[Seed]:
    """What people write themselves: options, study files, true values, and the command line."""
    return [
        Seed("config", {"c.toml": CONFIG.encode()}, lambda path: read_options({}, path)),
        Seed("study", {"s.toml": STUDY.encode()}, load_study),
        Seed("truth", {"t.json": b'{"a": 1.5, "b": -3}'}, lambda path: read_truth(path, ["a", "b"])),
        Seed("words", {"words.txt": "\n".join(EVALUATE).encode()}, read_words),
    ]


def _result(folder: Path) -> Seed:
    """A folder of results, which a stranger may have sent."""
    log = Chain().log(20)
    session = Session(log, [UniformPolicy(num_actions=log.num_actions)], make_options({"method": ["mean-return"]}))
    place = ResultFolder(folder / "result")
    with place.writing(session.about()):
        results = run_session(session, place)
        place.write(results, rankings(session, results, place, None), {"uniform": 1.0})
        place.finish()
    return Seed("result", _content(folder / "result"), read_result, is_folder=True)


def _write_minari(folder: Path, columns: dict[str, np.ndarray], actions: dict[str, Any]) -> None:
    """Four episodes in Minari's layout; the tests of the reader use Minari's own writer."""
    import h5py

    folder.mkdir()
    with h5py.File(folder / "main_data.hdf5", "w") as file:
        for number, start in enumerate(range(0, 20, 5)):
            group = file.create_group(f"episode_{number}")
            rows = slice(start, start + 5)
            group["observations"] = np.concatenate(
                [columns["observations"][rows], columns["next_observations"][rows][-1:]]
            )
            for name in ("actions", "rewards", "terminations", "truncations"):
                group[name] = columns[name][rows]
    box = {"type": "Box", "dtype": "float32", "shape": [3], "low": [-9] * 3, "high": [9] * 3}
    spaces = {"observation_space": json.dumps(box), "action_space": json.dumps(actions)}
    about = {"total_episodes": 4, "total_steps": 20, "data_format": "hdf5", "dataset_id": "a/b-v0"} | spaces
    (folder / "metadata.json").write_text(json.dumps(about))


def _content(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
