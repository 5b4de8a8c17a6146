"""Who chooses best between fitted q functions, without truth: `auto`'s rule, or a tournament between them?

    python -m benchmarks.choosers --data ropeval-data --out choosers
    python -m benchmarks.choosers --out choosers --summarise

For every policy, `fqe`, `fqe-clip` and `lspe` answer once, and each chooser takes one of their answers:

    auto    the best verdict, then the smallest spread (evaluation/verdict/one_answer.py, without a simulator)
    bvft    the batch value-function tournament that --tune plays (evaluation/tune.py)
    lstd    an LSTD tournament: with δ_i = q_i − (r + γ·E_{a'~π_e} q_i') and φ = (q_i, q_j − q_i), each scaled to
            size 1, loss(i, j) = max_k |E_D[ φ_k·δ_i ]|;  the smallest largest loss wins. It is zero for the exact q,
            whoever the opponent is, and noise in δ averages out
    best    with the truth in hand: the least error that choosing could leave

Only logs and policies of the suite's `dev` part are judged. Rows are kept as they are made: an interrupted run goes on.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from benchmarks.dev_rows import Dev, carry_out, keep, options_of, rows
from numpy.typing import NDArray

Floats = NDArray[np.float64]
METHODS = ("fqe", "fqe-clip", "lspe")
TASKS = [
    "suite/icu-200", "suite/bandit-weak-500", "suite/cartpole-mixture-5k", "suite/mountaincar-mixture-5k",
    "suite/pendulum-mixture-5k", "suite/chain-200",
]  # fmt: skip


def lstd_tournament(values: Floats, backups: Floats) -> Floats:
    """[C] the largest loss of each candidate: q [C, n] and r + γ·E q' [C, n] of logged rows."""
    count, worst = len(values), np.zeros(len(values))
    for i in range(count):
        error = values[i] - backups[i]
        for j in range(count):
            features = (values[i], values[j] - values[i])
            sizes = (np.sqrt(np.mean(one**2)) for one in features)
            pulls = [abs(np.mean(one * error)) / size for one, size in zip(features, sizes, strict=True) if size > 0]
            worst[i] = max(worst[i], *pulls, 0.0)
    return worst


def run(options: argparse.Namespace) -> None:
    from ropeval.bench.data.task_data import load_task
    from ropeval.bench.data.tasks import find_tasks
    from ropeval.data import Log
    from ropeval.evaluation import evaluate
    from ropeval.evaluation.fit import Fitted, fit
    from ropeval.evaluation.methods import make_method
    from ropeval.evaluation.options import Options
    from ropeval.evaluation.tune import tournament
    from ropeval.evaluation.verdict.one_answer import one_answer
    from ropeval.evaluation.verdict.verdict import give_verdicts
    from ropeval.runtime import prepare

    prepare()
    sizes = {"width": options.width, "steps": options.steps}
    done = {(row["task"], row["policy"]) for row in rows(options.out)}
    for task in find_tasks(options.tasks):
        if task.split != "dev":
            raise SystemExit(f"{task.name} is not of the dev part")
        data = load_task(task, options.data)
        dev = Dev.of(data)
        log, seen = Log(data.dataset, task.gamma), np.arange(len(data.dataset))
        for name, one in dev.best(options.policies):
            if (task.name, name) in done:
                continue
            kept: list[Fitted] = []

            def remembered(*given: Any, kept: list[Fitted] = kept) -> Fitted:
                kept.append(fit(*given))
                return kept[-1]

            problem, estimates = log.problem(one.policy), []
            for method in METHODS:
                made = make_method(method, {} if method == "lspe" else {method: sizes})
                with mock.patch.object(evaluate, "fit", remembered):
                    estimates.append(evaluate.answer(problem, made, Options(members=options.members)))
            looked = [fitted.estimated.q.backup(seen) for fitted in kept if fitted.estimated.q is not None]
            values, backups = (np.stack([pair[k].mean(axis=0) for pair in looked]) for k in (0, 1))  # of the members
            auto = one_answer(give_verdicts(estimates))
            assert auto is not None
            found = [float("nan") if e.value is None else e.value for e in estimates]
            truth = one.truth.discounted.value
            row = {"task": task.name, "policy": name, "truth": truth, "range": dev.wide}
            row |= dict(zip(METHODS, found, strict=True)) | {"auto": auto.value}
            for chooser, losses in (("bvft", tournament(values, backups)), ("lstd", lstd_tournament(values, backups))):
                row[chooser] = found[int(np.argmin(np.where(np.isfinite(found), losses, np.inf)))]
            row["best"] = min(found, key=lambda value: abs(value - truth) if np.isfinite(value) else np.inf)
            keep(options.out, row)
            print(row, flush=True)


def table(out: Path) -> Iterator[str]:
    """Errors as shares of the range of true values."""
    found = rows(out)
    if not found:
        raise SystemExit(f"{out}: there are no rows yet; run it without --summarise first")
    logs = len({row["task"] for row in found})
    yield f"| {len(found)} policies of {logs} logs | mean | median | largest | as good as the best |"
    yield "|---|--:|--:|--:|--:|"
    for name in (*METHODS, "auto", "bvft", "lstd", "best"):
        errors, least = (
            np.array([abs(row[who] - row["truth"]) / row["range"] for row in found]) for who in (name, "best")
        )
        cells = [f"{number:.3f}" for number in (errors.mean(), np.median(errors), errors.max())]
        cells.append(f"{(errors <= least + 1e-9).sum()} of {len(found)}")
        yield f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    parser = options_of(__doc__, TASKS, policies=2)
    parser.add_argument("--width", type=int, default=64, help="of every hidden layer")
    parser.add_argument("--steps", type=int, default=4_000, help="of training")
    carry_out(parser.parse_args(), run, table)


if __name__ == "__main__":
    main()
