"""Many policies, many methods, one folder of results: nothing is lost when the work is interrupted.

DIR/run.json         what was asked; written first, so that another question cannot mix in
DIR/.work/           finished estimates and checkpoints of the one in progress; removed at the end
DIR/result.json      the estimates
DIR/trust.json       which policy is best, and how far each lies from the log
DIR/curves.parquet   the training curves
"""

import contextlib
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ropeval.data import Dataset, Log, Problem
from ropeval.errors import UserError
from ropeval.estimators import ESTIMATORS
from ropeval.evaluation import coverage
from ropeval.evaluation.diagnosis.diagnose import compare_methods
from ropeval.evaluation.evaluate import Trust, answer
from ropeval.evaluation.methods import Method
from ropeval.evaluation.rank import Truth, rank, scores
from ropeval.evaluation.result import Coverage, Estimate, Ranking
from ropeval.evaluation.tune import tune, with_settings
from ropeval.files import write_atomically, write_text
from ropeval.learning.checkpoint import Checkpoint
from ropeval.policies import Policy
from ropeval.policies.policy import draw_actions
from ropeval.version import __version__

PROBED = 256  # logged states whose actions stand for a policy that has no hash
Report = Callable[[int, str, float], None]  # (which estimate, stage, fraction done)


@dataclass(frozen=True, eq=False)
class Session:
    """Everything that one call of `ropeval evaluate` asks for."""

    dataset: Dataset
    policies: Sequence[Policy]
    methods: Sequence[Method]
    gamma: float
    members: int
    seed: int
    draws: int | None = None
    trust: Trust = field(default_factory=Trust)
    tune: bool = False  # choose β, d and learning rates by a tournament first (see tune.py)

    def __post_init__(self) -> None:
        names = [p.name for p in self.policies]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise UserError(f"two policies are named {twice[0]!r}; rename one so that the rows can be told apart")
        if not 0.0 <= self.gamma < 1.0:
            raise UserError(f"gamma is {self.gamma}; it must be at least 0 and less than 1")
        if self.draws is not None and self.draws < 1:
            raise UserError(f"{self.draws} actions per state were asked for; at least 1 is needed")
        object.__setattr__(self, "policies", [policy.fitted(self.dataset.space) for policy in self.policies])
        for policy in self.policies:  # before anything is written: do they answer, and in the right shape?
            draw_actions(policy, self.dataset.observations[:2], 1, np.random.default_rng(0))
        for policy, method in self.questions:  # before any training: the last question may be the impossible one
            method.check(self.dataset, policy)

    @property
    def questions(self) -> list[tuple[Policy, Method]]:
        return [(policy, method) for policy in self.policies for method in self.methods]

    def about(self) -> dict[str, Any]:
        """What is asked, without the answer."""
        return {
            "version": __version__,
            "log": self.dataset.name,
            "data_sha256": self.dataset.sha256,
            "policies": [{"name": p.name, "kind": p.kind, "sha256": self._hash(p)} for p in self.policies],
            "methods": {m.name: m.describe() for m in self.methods},
            "gamma": self.gamma,
            "members": self.members,
            "seed": self.seed,
            "draws": self.draws,
            **asdict(self.trust),
            **({"tune": True} if self.tune else {}),
        }

    def _hash(self, policy: Policy) -> str:
        """A function carries no hash of its own; its answers to some logged states tell when it was changed."""
        if policy.sha256 is not None:
            return policy.sha256
        actions = draw_actions(policy, self.dataset.observations[:PROBED], 1, np.random.default_rng(0))
        return hashlib.sha256(actions.tobytes()).hexdigest()

    @property
    def fingerprint(self) -> str:
        about = {k: v for k, v in self.about().items() if k != "log"}
        return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()

    def problems(self) -> Iterator[tuple[int, Problem]]:
        """One problem at a time: the arrays of all policies together need not fit into memory."""
        log = Log(self.dataset, self.gamma)  # what is made of it alone is made once
        for place, policy in enumerate(self.policies):
            yield place, log.problem(policy, self.seed, self.draws)


def check_folder(session: Session, folder: Path, resume: bool, overwrite: bool) -> None:
    """Refuse to mix two runs in one folder. Changes nothing."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder}: this is a file; --out needs a folder")
    occupied = (folder / "run.json").exists() or (folder / "result.json").exists()
    if not occupied or overwrite:
        return
    same = _recorded_fingerprint(folder) == session.fingerprint
    if not same:
        raise UserError(
            f"{folder}: it holds another run's results; choose another --out, or replace them with --overwrite"
        )
    if not resume:
        raise UserError(
            f"{folder}: it holds this very run already; add --resume to go on with it (or to see it again), "
            "or --overwrite to start anew"
        )


def run_session(
    session: Session, folder: Path, report: Report | None = None, resume: bool = False, overwrite: bool = False
) -> list[Estimate]:
    """Answer every question, keeping each answer as it comes. `write_results` then puts them in their place."""
    check_folder(session, folder, resume, overwrite)
    work = folder / ".work"
    if overwrite:
        clear(folder)
    if (folder / "result.json").exists():
        return load_results(folder)
    write_text(folder / "run.json", json.dumps({"fingerprint": session.fingerprint, **session.about()}, indent=1))
    results: list[Estimate] = []
    for place, problem in session.problems():
        covered = coverage.measure(problem)
        write_text(work / f"coverage-{place}.json", json.dumps(asdict(covered)))
        for which, method in enumerate(session.methods):
            number = place * len(session.methods) + which
            kept = work / f"{number}.json"
            estimate = _load_estimate(kept)
            if estimate is None:
                estimate = answer(
                    problem,
                    _tuned(session, problem, method, work, number, report) if session.tune else method,
                    session.members,
                    session.seed,
                    session.trust,
                    covered=covered,
                    report=_numbered(report, number),
                    checkpoints=work / str(number),
                    shared=work / "shared",
                )
                write_text(kept, json.dumps(estimate.to_json(everything=True)))
                for finished in (str(number), f"{number}-tune"):
                    shutil.rmtree(work / finished, ignore_errors=True)
            if report:
                report(number, "done", 1.0)
            results.append(estimate)
    return compare_methods(results, {name for name, entry in ESTIMATORS.items() if not entry.sees_policy})


def _tuned(
    session: Session, problem: Problem, method: Method, work: Path, number: int, report: Report | None
) -> Method:
    """The method with its own settings for this policy; chosen once, then kept, like everything that takes long."""
    kept = work / f"{number}-chosen.json"
    if kept.exists():
        return with_settings(method, json.loads(kept.read_text(encoding="utf-8"))["chosen"])
    checkpoint = Checkpoint(work / f"{number}-tune", f"{session.fingerprint} {jax.devices()[0].device_kind}")

    def told(stage: str, fraction: float) -> None:
        if report:
            report(number, f"tuning {stage}", 0.0)  # the bar is about the estimate itself

    found = tune(problem, method, session.seed, report=told, checkpoint=checkpoint)
    if found is None:
        return method
    about = {"chosen": found.chosen, "candidates": found.candidates, "losses": found.losses, "values": found.values}
    write_text(kept, json.dumps(about))
    return found.method


def rankings(session: Session, results: Sequence[Estimate], folder: Path, truth: Truth | None) -> list[Ranking]:
    """From the results as they come from `run_session`; where they were read back, from `trust.json`."""
    if any(r.replicates for r in results) or not (folder / "trust.json").exists():
        return rank(results, session.dataset.num_episodes, truth)
    known = load_trust(folder)[0]
    return [replace(r, truth=scores(dict(zip(r.policies, r.values, strict=True)), truth or {})) for r in known]


def write_results(
    results: Sequence[Estimate], ranking: Sequence[Ranking], folder: Path, truth: Truth | None = None
) -> None:
    """`trust.json`, `curves.parquet` and `result.json`, each whole or not at all; working files stay until all are."""
    import polars

    rows = [{"policy": r.policy, "method": r.method, **row} for r in results for row in r.curves]
    frame = polars.DataFrame(rows, schema=_curve_columns())
    covered = [json.loads(path.read_text(encoding="utf-8")) for path in _coverage_files(folder / ".work")]
    write_text(folder / "trust.json", _trust_json(ranking, covered, truth))
    write_atomically(folder / "curves.parquet", lambda path: frame.write_parquet(path))
    write_text(folder / "result.json", results_json(results))
    shutil.rmtree(folder / ".work", ignore_errors=True)


def add_truth(folder: Path, ranking: Sequence[Ranking], truth: Truth) -> bool:
    """Write true values and the scores by them into the `trust.json` of a finished run; whether that changed it."""
    path = folder / "trust.json"
    covered = [asdict(c) for c in load_trust(folder)[1]] if path.exists() else []
    told = _trust_json(ranking, covered, truth)
    if path.exists() and path.read_text(encoding="utf-8") == told:
        return False
    write_text(path, told)
    return True


def _trust_json(ranking: Sequence[Ranking], coverage: list[dict[str, Any]], truth: Truth | None) -> str:
    trust = {"ranking": [asdict(r) for r in ranking], "coverage": coverage, "truth": dict(truth or {})}
    return json.dumps(trust, indent=1, ensure_ascii=False, allow_nan=False)


def _curve_columns() -> dict[str, Any]:
    import polars

    return {
        "policy": polars.String,
        "method": polars.String,
        "stage": polars.String,
        "member": polars.Int32,
        "step": polars.Int64,
        "metric": polars.String,
        "value": polars.Float32,
    }


def results_json(results: Sequence[Estimate]) -> str:
    return json.dumps([r.to_json() for r in results], indent=1, ensure_ascii=False, allow_nan=False)


def load_results(folder: Path) -> list[Estimate]:
    """The estimates of a finished run, without their curves."""
    path = folder / "result.json"
    try:
        return [Estimate.from_json(row) for row in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise UserError(f"{path}: cannot be read as results ({error})") from error


def load_curves(folder: Path) -> Any:
    """The training curves of a finished run, a polars frame; without rows where the run wrote none."""
    import polars

    path = folder / "curves.parquet"
    if not path.is_file():
        return polars.DataFrame(schema=_curve_columns())
    try:
        return polars.read_parquet(path, columns=list(_curve_columns()), glob=False)
    except (OSError, polars.exceptions.PolarsError) as error:
        raise UserError(f"{path}: cannot be read as training curves ({str(error).splitlines()[0]})") from error


def load_trust(folder: Path) -> tuple[list[Ranking], list[Coverage]]:
    """The rankings and the coverages of a finished run."""
    path = folder / "trust.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return [Ranking(**row) for row in found["ranking"]], [Coverage(**row) for row in found["coverage"]]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(f"{path}: cannot be read as rankings ({error})") from error


def _coverage_files(work: Path) -> list[Path]:
    return sorted(work.glob("coverage-*.json"), key=lambda path: int(path.stem.partition("-")[2]))


def clear(folder: Path) -> None:
    """Remove what a run writes, and nothing else."""
    for name in ("run.json", "result.json", "trust.json", "curves.parquet", "curves.png", "report.html"):
        with contextlib.suppress(OSError):
            (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder / ".work", ignore_errors=True)


def _numbered(report: Report | None, number: int) -> Callable[[str, float], None] | None:
    if report is None:
        return None
    return lambda stage, fraction: report(number, stage, fraction)


def _load_estimate(path: Path) -> Estimate | None:
    try:
        return Estimate.from_json(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise UserError(f"{path}: cannot be read ({error}); start anew with --overwrite") from error


def _recorded_fingerprint(folder: Path) -> str | None:
    try:
        return str(json.loads((folder / "run.json").read_text(encoding="utf-8"))["fingerprint"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
