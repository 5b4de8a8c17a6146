"""Do 95 % intervals hold the truth in 95 % of all logs? Measured on problems whose truth is known.

    python benchmarks/coverage.py                          # everything: minutes on a GPU, hours on two cores
    python benchmarks/coverage.py --only chain/pdis --only chain/mean-return      # seconds anywhere
    python benchmarks/coverage.py --summarise              # the table again, from what is in --out

Every case makes `--logs` logs of one problem and evaluates one policy on each. Learned methods train all members of
many logs in one vectorised run: the logs are laid end to end, and each member draws from the episodes of its own log
only. The first M replicates of a log are what an evaluation with M members would have had, so one run measures the
t interval for several M, and the percentile and BCa intervals where there are 100 replicates or more.

Results are kept in OUT/CASE.npz as they come, and an interrupted run goes on with the cases that are missing.
"""

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from ropeval.data import Dataset, Log, make_problem  # noqa: E402
from ropeval.estimators import ESTIMATORS  # noqa: E402
from ropeval.evaluation.conclude import unseen_error  # noqa: E402
from ropeval.evaluation.interval import make_interval  # noqa: E402
from ropeval.evaluation.methods import make_method  # noqa: E402
from ropeval.evaluation.options import Kind  # noqa: E402
from ropeval.evaluation.result import Interval  # noqa: E402
from ropeval.learning.engine import Run, member_keys  # noqa: E402
from ropeval.learning.resample import Counts, Resamples  # noqa: E402
from ropeval.policies import Policy, load_policy  # noqa: E402
from ropeval.provenance import commit  # noqa: E402

LEVEL = 0.95
MEMBERS = (4, 10, 20)  # for which the t interval is read
SMALL = {"width": 32, "steps": 3_000, "batch": 64, "learning_rate": 1e-3, "tau": 0.05}
DEMO = {"width": 64, "steps": 10_000, "tau": 0.05, "learning_rate": 1e-3}  # as `ropeval demo`


@dataclass(frozen=True)
class Case:
    """One policy on many logs of one problem, by one method."""

    name: str
    log: Callable[[int], Dataset]  # by number
    policy: Policy
    truth: float
    gamma: float
    method: str
    settings: dict[str, dict[str, Any]]
    members: int  # replicates of a learned method; others have their own number
    together: int  # logs trained in one run
    draws: int = 4


def cases() -> Iterator[Case]:
    from tests.problems import Chain, LinearQuadratic

    chain, short, lq = Chain(), Chain(size=2, gamma=0.7), LinearQuadratic()
    yield Case(
        "chain/mean-return", lambda i: chain.log(50, length=150, seed=i), chain.policy(0.5),
        chain.values(0.5)[1], chain.gamma, "mean-return", {}, 1, 1,
    )  # fmt: skip
    for method in ("is", "wis", "pdis", "wpdis"):
        yield Case(
            f"chain/{method}", lambda i: short.log(50, length=30, seed=i, log_probs=True), short.policy(0.7),
            short.values(0.7)[1], short.gamma, method, {}, 1, 1,
        )  # fmt: skip
    # q of the two-state chain is linear in state, action and a constant but for their product: see the bias column.
    yield Case(
        "chain/lspe", lambda i: short.log(50, length=30, seed=i), short.policy(0.7), short.values(0.7)[1],
        short.gamma, "lspe", {}, 1, 1,
    )  # fmt: skip
    for method, members, together in (("fqe", 120, 50), ("wdr", 20, 20)):
        yield Case(
            f"chain/{method}", lambda i: chain.log(50, seed=i, log_probs=True), chain.policy(0.8),
            chain.values(0.8)[1], chain.gamma, method, {method: SMALL}, members, together,
        )  # fmt: skip
        yield Case(
            f"linear-quadratic/{method}", lambda i: lq.log(100, seed=i, log_probs=True), lq.policy(0.5),
            lq.value(0.5), lq.gamma, method, {method: SMALL}, members, together,
        )  # fmt: skip
    yield from demo_cases()


def demo_cases() -> Iterator[Case]:
    folder = ROOT / "src/ropeval/demo"
    known = json.loads((folder / "truth.json").read_text())

    def log(number: int) -> Dataset:
        from scripts.make_demo import generator, make_log

        return Dataset.from_columns(make_log(generator(1_000 + number, "log")), name=f"demo {number}")

    for name in ("cautious", "lazy"):
        policy = load_policy(folder / "policies" / f"{name}.npz")
        truth = known["policies"][name]["value"]
        yield Case(f"demo/{name}/fqe", log, policy, truth, known["gamma"], "fqe", {"fqe": DEMO}, 20, 25)


# --- running --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EndToEnd(Resamples):
    """Resamples of several logs that lie one after the other: member i resamples log i // members alone."""

    offsets: tuple[int, ...] = ()  # [logs + 1] episodes
    members: int = 1

    def counts(self, first: int, count: int) -> Counts:
        result = np.zeros((count, self.episodes), np.int64)
        for place in range(count):
            log, replicate = divmod(first + place, self.members)
            begin, end = self.offsets[log : log + 2]
            result[place, begin:end] = Resamples(self.seed + log, end - begin).counts(replicate, 1)[0]
        return result


def run_case(case: Case, logs: int, report: Callable[[str], None]) -> dict[str, np.ndarray]:
    """values [L], replicates [L, B], episodes [L], and unseen [L], what resampling does not show."""
    method = make_method(case.method, case.settings)
    estimator, config = ESTIMATORS[method.estimator], method.configs[method.estimator]
    values, replicates, episodes, unseen = [], [], [], []
    for first in range(0, logs, case.together):
        numbers = range(first, min(first + case.together, logs))
        data = [case.log(number) for number in numbers]
        offsets = np.cumsum([0] + [d.num_episodes for d in data])
        joined = data[0] if len(data) == 1 else Dataset.concatenate(data)
        problem = make_problem(joined, case.policy, case.gamma, seed=first, draws=case.draws)
        resamples = Resamples(first, joined.num_episodes)
        if case.members > 1:
            resamples = EndToEnd(first, joined.num_episodes, tuple(offsets.tolist()), case.members)
        run = Run(member_keys(first, len(data) * case.members), resamples=resamples)
        found = estimator(problem, config, run)
        if found.replicates is None:
            own = found.values.reshape(len(data), case.members)
            values += [np.nan] * len(data)  # the value is the mean of as many members as are looked at
        else:
            own = found.replicates[None]
            values.append(found.values[0])
        replicates.append(own)
        episodes += [d.num_episodes for d in data]
        unseen += [unseen_error(Log(d, case.gamma), found, estimator.sees_policy) for d in data]
        report(f"{case.name}: {numbers[-1] + 1} of {logs} logs")
    return {
        "values": np.array(values), "replicates": np.concatenate(replicates), "episodes": np.array(episodes),
        "unseen": np.array(unseen),
    }  # fmt: skip


# --- the table ------------------------------------------------------------------------------------------------


def summarise(case: Case, found: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    """One row per kind of interval: how often it holds the truth, how wide it is, how biased the estimate is."""
    values, replicates, episodes, unseen = (found[name] for name in ("values", "replicates", "episodes", "unseen"))
    learned = bool(np.isnan(values).any())
    rows = []
    many = replicates.shape[1]
    options = [(m, "t") for m in MEMBERS if learned and m < many] + [(many, "t")] * (many < 100)
    options += [(many, kind) for kind in ("percentile", "bca") if many >= 100]
    for members, kind in options:
        own = replicates[:, :members]
        points = np.nanmean(own, axis=1) if learned else values
        wanted: Kind = "bca" if kind == "bca" else "percentile"
        bare, reported = (
            [_interval(points[i], own[i], i, int(episodes[i]), wanted, float(u[i])) for i in range(len(own))]
            for u in (0.0 * unseen, unseen)
        )
        held, published = (
            np.array([one.low <= case.truth <= one.high for one in intervals]) for intervals in (bare, reported)
        )
        rows.append(
            {
                "case": case.name, "kind": bare[0].kind, "replicates": members, "logs": len(held),
                "coverage": float(held.mean()), "error": float(np.sqrt(held.mean() * (1 - held.mean()) / len(held))),
                "published": float(published.mean()), "below": float(np.mean([case.truth < one.low for one in bare])),
                "wider": float(np.mean([one.high - one.low for one in reported]) /
                               np.mean([one.high - one.low for one in bare])),
                "truth": case.truth, "bias": float(np.mean(points) - case.truth),
                "std": float(np.std(points, ddof=1)), "finite": float(np.isfinite(replicates).mean()),
            }
        )  # fmt: skip
    return rows


def _interval(point: float, own: np.ndarray, log: int, episodes: int, kind: Kind, unseen: float) -> Interval:
    counts = partial(Resamples(log, episodes).counts, 0, len(own))
    found = make_interval(float(point), own, episodes, LEVEL, kind, counts, unseen)
    assert found is not None
    return found


def table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| case | interval | replicates | logs | by resamples alone | truth below / above | as reported | "
        "so many times as wide | bias / spread of the estimate | truth |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        above = max(0.0, 1.0 - r["coverage"] - r["below"])
        cells = [
            r["case"], r["kind"], r["replicates"], r["logs"], f"{r['coverage']:.1%} ± {r['error']:.1%}",
            f"{r['below']:.1%} / {above:.1%}", f"**{r['published']:.1%}**", f"{r['wider']:.2f}",
            f"{r['bias']:+.2g} / {r['std']:.2g}", f"{r['truth']:.4g}",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=200)
    parser.add_argument("--only", action="append", help="a case, or the beginning of some")
    parser.add_argument("--out", type=Path, default=Path("coverage-result"))
    parser.add_argument("--steps", type=int, help="training steps, to try it out")
    parser.add_argument("--members", type=int, help="at most so many: 20 instead of 120 on a CPU")
    parser.add_argument("--summarise", action="store_true", help="run nothing, read what is there")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows, began = [], time.perf_counter()
    for case in cases():
        path = options.out / f"{case.name.replace('/', '-')}.npz"
        if options.only and not any(case.name.startswith(wanted) for wanted in options.only):
            continue
        if options.steps:
            case.settings.update({part: fields | {"steps": options.steps} for part, fields in case.settings.items()})
        if options.members:
            case = replace(case, members=min(case.members, options.members))
        if not path.exists():
            if options.summarise:
                continue
            since = time.perf_counter()
            found = run_case(case, options.logs, lambda text: print(text, file=sys.stderr, flush=True))
            temporary = path.with_suffix(".part.npz")
            np.savez(temporary, allow_pickle=False, **found, seconds=np.array(time.perf_counter() - since))
            temporary.rename(path)
        with np.load(path) as kept:
            rows += summarise(case, dict(kept))
    device = jax.devices()[0].device_kind if jax.default_backend() != "cpu" else platform.processor() or "CPU"
    print(table(rows))
    print(f"\n{time.perf_counter() - began:.0f} s, {device}, commit {commit()}, jax {jax.__version__}")
    (options.out / "summary.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
