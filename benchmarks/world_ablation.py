"""What each choice of the `world` estimator is worth: the same questions, with one choice made otherwise at a time.

    python -m benchmarks.world_ablation --data ropeval-data --out world-ablation
    python -m benchmarks.world_ablation --data ropeval-data --out try --tasks suite/cartpole-mixture-5k --steps 200
    python -m benchmarks.world_ablation --out world-ablation --summarise

The first is for a GPU, whose sizes are larger; the second runs through in minutes on two cores and says nothing.
`world_variants.py` says what the variants are. Only policies of the `dev` part are judged. Every row is kept as it is
made, so an interrupted run goes on; several processes may share --out, each takes what no other is at (on one GPU with
XLA_PYTHON_CLIENT_PREALLOCATE=false, or the first takes its memory). After --seconds-left, or the moment that DEADLINE
names (seconds since 1970), nothing new is begun.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import program
from benchmarks.dev_rows import Dev, carry_out, keep, options_of, rows

from ropeval.bench.results.scores import relative_errors
from ropeval.errors import UserError
from ropeval.files import locked

TASKS = [
    "suite/hopper-medium", "suite/hopper-replay", "suite/hopper-medium-expert", "suite/halfcheetah-medium",
    "suite/halfcheetah-replay", "suite/cartpole-mixture-5k", "suite/pendulum-epsilon-100k", "suite/inventory-5000",
    "suite/icu-5000", "suite/linear-weak-10k",
]  # fmt: skip
MEMBERS = 5
Case = tuple[str, str]  # task, policy
Rows = dict[Case, dict[str, Any]]


def run(options: argparse.Namespace) -> None:
    from benchmarks.world_variants import TRAININGS, VARIANTS

    from ropeval.bench.data.tasks import find_tasks
    from ropeval.runtime import prepare

    prepare()
    wanted = options.variants or VARIANTS
    for name in wanted:
        if name not in VARIANTS:
            raise UserError(f"--variants: {name!r} is not one; there are: {', '.join(VARIANTS)}")
    late = deadline(options.seconds_left)
    for task in find_tasks(options.tasks):
        if task.split != "dev":
            raise UserError(f"--tasks: {task.name} is not of the dev part; choose others")
        for training in TRAININGS:
            asked = [variant for variant in training.variants if variant in wanted]
            if not asked or late():
                continue
            with locked(options.out / "claims" / f"{task.name.replace('/', '-')}.{training.variants[0]}") as ours:
                if ours:
                    try:
                        work(options, task, training, asked, late)
                    except UserError as error:  # its log may not be here: the others are
                        print(f"left out: {error}", file=sys.stderr, flush=True)
                        break


def deadline(seconds_left: float | None) -> Callable[[], bool]:
    """Whether it has passed; the earlier one counts."""
    given = os.environ.get("DEADLINE")
    try:
        last = float(given) if given else np.inf
    except ValueError:
        raise UserError(f"DEADLINE is {given!r}; give it in seconds since 1970, as `date +%s` does") from None
    if seconds_left is not None:
        last = min(last, time.time() + seconds_left)
    return lambda: time.time() >= last


def work(options: argparse.Namespace, task: Any, training: Any, asked: Sequence[str], late: Callable[[], bool]) -> None:
    """One training and all that is asked of it, but for what is there."""
    import jax
    from benchmarks import world_variants

    from ropeval.bench.data.task_data import load_task
    from ropeval.data import Log
    from ropeval.provenance import commit
    from ropeval.runtime import device, release_compiled

    data = load_task(task, options.data)
    done = {(row["policy"], row["variant"]) for row in rows(options.out) if row["task"] == task.name}
    dev = Dev.of(data)
    policies, best = dev.best(options.policies), max(one.truth.discounted.value for one in dev.judged.values())
    missing = {(name, variant) for name, _ in policies for variant in asked} - done
    settings = {} if options.steps is None else {"steps": options.steps}
    config = world_variants.make_config(training, settings, len(data.dataset))
    if not missing or config is None:
        return
    release_compiled()
    truths = [one.truth.discounted.value for one in data.judged.values()]
    about = {
        "task": task.name,
        "family": task.family,
        "range": max(truths) - min(truths),
        "random": None if data.random is None else data.random.discounted.value,
        "rows": len(data.dataset),
    }
    made_with = {"device": device(), "commit": commit(), "jax": jax.__version__}
    log, variants = Log(data.dataset, task.gamma), {variant for _, variant in missing}
    for made in world_variants.prepare_variants(training, log, config, options.members, variants):
        prepared = {
            "held_out": world_variants.held_out_error(made, log),
            **world_variants.loss_of_rows(made, log),
            "network": str(made.world.sizes),
            "members": made.run.members,
            "noisy": len(made.world.noisy),
            "moving": len(made.world.simulator.units.moving),
            "training_s": None if made.seconds is None else round(made.seconds, 1),
        }
        for name, judged in policies:
            if late():
                return
            lacking = {variant for policy, variant in missing if policy == name}
            for variant, said in world_variants.answer(made, log, judged.policy, lacking).items():
                truth = judged.truth.discounted.value
                row = about | {"policy": name, "variant": variant, "truth": truth, "best": truth == best}
                keep(options.out, row | said | prepared | made_with)
                print(task.name, name, variant, said["estimate"], truth, flush=True)


# --- the table ------------------------------------------------------------------------------------------------


def table(out: Path) -> Iterator[str]:
    """A variant's numbers, and base's on the same cases in brackets. An estimate that broke has an infinite error."""
    from benchmarks.world_variants import VARIANTS

    found: dict[str, Rows] = {}
    for row in rows(out):
        found.setdefault(row["variant"], {})[row["task"], row["policy"]] = row
    if "base" not in found:
        raise UserError(f"{out}: there are no rows of base yet; run it without --summarise first")
    base = found.pop("base")
    known = {variant: place for place, variant in enumerate(VARIANTS)}  # processes side by side keep no order
    yield (
        "| | locomotion: median error | mean | open tasks: median error | mean | best policy: median RMAE "
        "| held-out error, to base's | cases (locomotion, open) |"
    )
    yield "|---|--:|--:|--:|--:|--:|--:|--:|"
    for variant in ["base", *sorted(found, key=lambda variant: known.get(variant, len(known)))]:
        own = found.get(variant, base)
        both = [case for case in base if case in own]
        cells = numbers([own[case] for case in both])
        if variant != "base":
            usual = numbers([base[case] for case in both])
            cells = [f"{mine} ({theirs})" for mine, theirs in zip(cells, usual, strict=True)]
        counts = [sum(is_locomotion(base[case]) == kind for case in both) for kind in (True, False)]
        cells += [held_out_ratio(own, base, both), f"{counts[0]}, {counts[1]}"]
        yield f"| {variant} | {' | '.join(cells)} |"


def is_locomotion(row: dict[str, Any]) -> bool:
    return bool(row["family"] == "locomotion")


def numbers(some: list[dict[str, Any]]) -> list[str]:
    """Errors as shares of the range of true values, of locomotion and of the rest; RMAE of each log's best policy."""
    cells = []
    for kind in (True, False):
        errors = [error(row) / row["range"] for row in some if is_locomotion(row) == kind]
        cells += [f"{np.median(errors):.3f}", f"{np.mean(errors):.3f}"] if errors else ["–", "–"]
    relative = [
        relative_errors([np.nan if row["estimate"] is None else row["estimate"]], [False], row["truth"], row["random"])
        for row in some
        if row["best"] and row["random"] is not None
    ]
    told = [one[0] for one in relative if one is not None]
    return [*cells, f"{np.median(told):.3f}" if told else "–"]


def error(row: dict[str, Any]) -> float:
    return float("inf") if row["estimate"] is None else abs(row["estimate"] - row["truth"])


def held_out_ratio(own: Rows, base: Rows, both: Sequence[Case]) -> str:
    """Geometric mean over logs. What a log leaves to chance is in both, and hides differences."""
    pairs = {case[0]: (own[case]["held_out"], base[case]["held_out"]) for case in both}
    known = [np.log(mine / theirs) for mine, theirs in pairs.values() if mine and theirs]
    return f"{np.exp(np.mean(known)):.2f}" if known else "–"


def main() -> None:
    parser = options_of(__doc__, TASKS, policies=100)
    parser.add_argument("--variants", nargs="+", help="some of them; all, if not given")
    parser.add_argument("--seconds-left", type=float, help="after so many nothing new is begun")
    parser.add_argument("--steps", type=int, help="of training, to try it out; if not given, as many as by default")
    parser.set_defaults(members=MEMBERS)
    carry_out(parser.parse_args(), run, table)


if __name__ == "__main__":
    program.run(main)
