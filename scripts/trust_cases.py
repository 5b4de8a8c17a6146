"""The cases of docs/guide: for every finding a log where it fires and one where it does not, and two tables of numbers.

    python scripts/trust_cases.py                 all cases, as they stand in the guide
    python scripts/trust_cases.py coverage        one of them
    python scripts/trust_cases.py --write         puts them into the pages, between their markers

Every case is a task of one or two numbers, so that one sees by hand why the finding is right.
"""

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ropeval import CallablePolicy, Dataset, Estimate, Policy, evaluate
from ropeval.evaluation.diagnosis.diagnose import compare_methods
from ropeval.evaluation.rank import rank
from ropeval.report.labels import number
from ropeval.runtime import prepare

Array = NDArray[np.float64]
GUIDE = Path(__file__).resolve().parents[1] / "docs" / "guide"
PAGES = {"interval": GUIDE / "intervals.md", "ranking": GUIDE / "ranking.md"}  # everything else: trust.md


class Case(NamedTuple):
    """A finding's name, and two situations: (in words, what was estimated)."""

    fires: tuple[str, Estimate]
    silent: tuple[str, Estimate]


# ---- small tasks


def push(
    episodes: int = 40,
    length: int = 20,
    start: float = 0.0,
    reward: Callable[[Array], Array] = lambda s: -(s**2),
    ends: bool = False,
) -> Dataset:
    """s' = 0.9·s + 0.5·a + noise, r = −s², logged with a = −0.2·s + 0.5·noise, from states around `start`.

    Episodes are cut off after `length` steps, or end there.
    """
    rng = np.random.default_rng(0)
    state: Any = start + rng.standard_normal((episodes, 1))
    columns: dict[str, list[Any]] = {n: [] for n in ("observations", "actions", "next_observations", "log_probs")}
    for _ in range(length):
        action: Any = -0.2 * state + 0.5 * rng.standard_normal((episodes, 1))
        following = 0.9 * state + 0.5 * action + 0.1 * rng.standard_normal((episodes, 1))
        log_prob = pull(0.2).log_prob(state, action)
        for name, value in zip(columns, (state, action, following, log_prob), strict=True):
            columns[name].append(value)
        state = following
    flat: dict[str, Any] = {
        n: np.stack(v, axis=1).reshape(episodes * length, *v[0].shape[1:]) for n, v in columns.items()
    }
    flat["rewards"] = reward(flat["observations"][:, 0])
    last = np.tile(np.arange(length) == length - 1, episodes)
    flat["truncations"], flat["terminations"] = last & (not ends), last & ends
    return Dataset.from_columns(flat, name="push")


def pull(strength: float, spread: float = 0.5) -> CallablePolicy:
    """a = −strength·s + spread·noise: with 0.2 and 0.5 it is whoever made the log."""
    return CallablePolicy(
        lambda s, rng: -strength * s + spread * rng.standard_normal((len(s), 1)),
        deterministic=False,
        name=f"a = −{strength:g}·s + {spread:g}·noise",
        log_prob=lambda s, a: (
            -0.5 * ((a + strength * s)[:, 0] / spread) ** 2 - np.log(spread) - 0.5 * np.log(2 * np.pi)
        ),
    )


def lever(reward: Callable[[Array], Array] = lambda a: a, episodes: int = 40, length: int = 20) -> Dataset:
    """Pull a lever by a, logged between 0 and 1, and earn `reward(a)`; the state is noise that does not matter."""
    rng = np.random.default_rng(0)
    size = episodes * length
    states, action = rng.standard_normal((size + 1, 1)), rng.uniform(0, 1, (size, 1))
    last = np.tile(np.arange(length) == length - 1, episodes)
    return Dataset.from_columns(
        {
            "observations": states[:-1], "next_observations": states[1:], "actions": action,
            "rewards": reward(action[:, 0]), "terminations": np.zeros(size, bool), "truncations": last,
        },
        name="lever",
    )  # fmt: skip


def always(action: float) -> Policy:
    return CallablePolicy(lambda s: np.full((len(s), 1), action), deterministic=True, name=f"a = {action:g}")


SMALL = {"fqe": {"width": 32, "batch": 64, "learning_rate": 3e-3, "tau": 0.05}}


def fqe(log: Dataset, policy: Policy, steps: int, gamma: float = 0.9, **settings: float) -> Estimate:
    return evaluate(
        log, policy, "fqe", gamma=gamma, members=4, settings={"fqe": {**SMALL["fqe"], "steps": steps, **settings}}
    )


def lspe(log: Dataset, policy: Policy, gamma: float = 0.9, **settings: object) -> Estimate:
    return evaluate(log, policy, "lspe", gamma=gamma, settings={"lspe": settings})


def world(log: Dataset, policy: Policy, steps: int = 1_000) -> Estimate:
    small = {"width": 32, "depth": 2, "batch": 64, "steps": steps, "rollouts": 64}
    return evaluate(log, policy, "world", gamma=0.9, members=4, settings={"world": small})


# ---- the cases


def divergence() -> Case:
    return Case(
        ("fqe, learning rate 1,000", fqe(push(), pull(0.8), 300, learning_rate=1000.0)),
        ("fqe, learning rate 0.003", fqe(push(), pull(0.8), 300)),
    )


def out_of_bounds() -> Case:
    return Case(
        ("lspe, the policy pulls by 5, the log by at most 1: the straight line goes on", lspe(lever(), always(5.0))),
        ("the policy pulls by 0.8", lspe(lever(), always(0.8))),
    )


def support() -> Case:
    """In the first case the state tends to 25. The log has seen up to 3."""
    return Case(
        ("world, the policy always pushes by 5, and the log by hardly more than 1", world(push(), always(5.0))),
        ("the policy of the task", world(push(), pull(0.8))),
    )


def replay() -> Case:
    """Episodes that start at 5 earn −25 at first, and less than −1 in the end: whoever says the mean is wrong twice."""
    log = push(start=5.0)
    return Case(
        ("world, 10 steps of training, episodes that start around 5", world(log, pull(0.8), steps=10)),
        ("1,000 steps", world(log, pull(0.8))),
    )


def collapse() -> Case:
    """The paper's form of the distance on rewards that are too large for it, and with the range matched.

    Far too large: with −10·s² it is rounding that decides how many members collapse.
    """
    settings = {"width": 32, "batch": 64, "steps": 600, "learning_rate": 3e-3}
    log, policy = push(reward=lambda s: -100 * s**2), pull(0.8)

    def encoded(name: str) -> Estimate:
        return evaluate(log, policy, f"{name}+lspe", gamma=0.9, members=4, settings={name: settings})

    return Case(
        ("rope+lspe, whose distances between features of at most 1 cannot hold these rewards", encoded("rope")),
        ("rope-range+lspe, which scales them to fit", encoded("rope-range")),
    )


def coverage() -> Case:
    """The value is 10·4·1 = 40 in the first case, and lspe says the mean reward of the log."""
    log = lever(lambda a: 4 * (a - 0.5) ** 2)
    return Case(
        ("r = 4·(a − ½)², the policy pulls by 1.5, the log between 0 and 1", lspe(log, always(1.5))),
        ("the policy pulls by 0.8", lspe(log, always(0.8))),
    )


def effective_sample_size() -> Case:
    log = push()
    return Case(
        ("wis, a policy with half the log's noise", evaluate(log, pull(0.8, 0.25), "wis", gamma=0.9)),
        ("wis, the policy that made the log: only a note", evaluate(log, pull(0.2), "wis", gamma=0.9)),
    )


def too_short() -> Case:
    """A reward of ½ a step: the value is 5. In the first case there are 6 backups: exp(−0.6) of it is missing."""
    return Case(
        ("fqe, 120 steps with τ = 0.05, the policy pulls by ½: the value is 5", fqe(lever(), always(0.5), 120)),
        ("800 steps", fqe(lever(), always(0.5), 800)),
    )


def not_converged() -> Case:
    """600 steps are enough for γ, but not at such a rate."""
    return Case(
        ("fqe, 600 steps with a learning rate of 0.00003", fqe(push(), pull(0.8), 600, learning_rate=3e-5)),
        ("6,000 such steps", fqe(push(), pull(0.8), 6000, learning_rate=3e-5)),
    )


def bellman_residual() -> Case:
    return Case(
        ("fqe, 3,000 steps on 40 episodes: enough to learn them by heart", fqe(push(), pull(0.8), 3000)),
        ("the same on 400 episodes", fqe(push(episodes=400), pull(0.8), 3000)),
    )


def few_episodes() -> Case:
    return Case(
        ("12 episodes", lspe(push(episodes=12), pull(0.8))),
        ("40 episodes", lspe(push(), pull(0.8))),
    )


def truncation() -> Case:
    return Case(
        ("γ = 0.99, all episodes cut off after 20 steps: 0.99²⁰ = 0.82", lspe(push(), pull(0.8), 0.99)),
        ("γ = 0.9: 0.9²⁰ = 0.12", lspe(push(), pull(0.8), 0.9)),
    )


def clock() -> Case:
    """A reward of 1 a step: (1 − 0.9²⁰)/(1 − 0.9) = 8.784 in the first case, 1/(1 − 0.9) = 10 in the second."""

    def one_a_step(ends: bool) -> Estimate:
        return lspe(push(reward=np.ones_like, ends=ends), pull(0.8))

    return Case(
        ("r = 1, all episodes end after 20 steps: the value is 8.784", one_a_step(ends=True)),
        ("they are cut off there, and go on: the value is 10", one_a_step(ends=False)),
    )


def horizon() -> Case:
    return Case(
        ("γ = 0.99, episodes of 20 steps", lspe(push(), pull(0.8), 0.99)),
        ("γ = 0.9", lspe(push(), pull(0.8), 0.9)),
    )


def disagreement() -> Case:
    """lspe draws a straight line through the rewards, fqe bends."""

    def both(reward: Callable[[Array], Array], pull: float) -> Estimate:
        log, policy = lever(reward), always(pull)
        return compare_methods([fqe(log, policy, 3000), lspe(log, policy)], set())[0]

    return Case(
        (
            "r = 4·(a − ½)², the policy pulls by ¼: the value is 2.5, and lspe says the mean reward",
            both(lambda a: 4 * (a - 0.5) ** 2, 0.25),
        ),
        ("r = a: the value is 5, and both say so", both(lambda a: a, 0.5)),
    )


def method() -> Case:
    return Case(
        ("wis, all episodes cut off after 20 steps", evaluate(push(), pull(0.2), "wis", gamma=0.9)),
        ("wis, all episodes end there", evaluate(push(ends=True), pull(0.2), "wis", gamma=0.9)),
    )


CASES: dict[str, Callable[[], Case]] = {  # by the code of the finding, for which the function is called
    case.__name__.replace("_", "-"): case
    for case in (
        divergence, out_of_bounds, support, replay, collapse, coverage, effective_sample_size, too_short, not_converged,
        bellman_residual, few_episodes, truncation, clock, horizon, disagreement, method,
    )
}  # fmt: skip


# ---- numbers, not findings


def linear(episodes: int = 40) -> Dataset:
    """The task with r = s, from states around 1."""
    return push(episodes, start=1.0, reward=lambda s: s)


def exact_pull(strength: float) -> float:
    """Its value there: the state shrinks by 0.9 − 0.5·k a step."""
    return 1.0 / (1.0 - 0.9 * (0.9 - 0.5 * strength))


def exact_always(action: float) -> float:
    """The state tends from 1 to 5·a: s_t = 0.9^t + 5·a·(1 − 0.9^t)."""
    return 1.0 / (1.0 - 0.81) + 5.0 * action * (1.0 / (1.0 - 0.9) - 1.0 / (1.0 - 0.81))


def interval_table() -> str:
    """One estimate under other logs, levels and kinds."""
    rows = []
    for words, episodes, arguments in (
        ("40 episodes", 40, {}),
        ("400 episodes", 400, {}),
        ("40 episodes, level 0.5", 40, {"level": 0.5}),
        ("40 episodes, bca", 40, {"interval": "bca"}),
    ):
        found = evaluate(linear(episodes), pull(0.8), "lspe", gamma=0.9, **arguments)
        i = found.interval
        assert i is not None
        assert found.value is not None
        ends = f"{number(i.low)} … {number(i.high)}"
        rows.append([words, number(found.value), ends, i.kind, str(i.replicates), number(exact_pull(0.8))])
    return _table(["", "estimate", "interval", "kind", "resamples", "true value"], rows)


def ranking_table() -> str:
    """A pair that shares its luck, and a pair that a lucky start turns around."""
    pairs: dict[str, dict[Policy, float]] = {
        "same direction": {pull(0.2): exact_pull(0.2), pull(0.8): exact_pull(0.8)},
        "a toss-up": {pull(0.5): exact_pull(0.5), always(-0.12): exact_always(-0.12)},
    }
    rows = []
    for words, policies in pairs.items():
        truth = {policy.name: value for policy, value in policies.items()}
        (found,) = rank([evaluate(linear(), policy, "lspe", gamma=0.9) for policy in policies], 40)
        for policy, value, best in zip(found.policies, found.values, found.best, strict=True):
            rows.append([words, f"`{policy}`", number(value), f"{best:.2f}", number(truth[policy])])
    return _table(["", "policy", "estimate", "probability of being the best", "true value"], rows)


NUMBERS = {"interval": interval_table, "ranking": ranking_table}


# ---- writing


def told(code: str, case: Case) -> str:
    """A case in Markdown; it is an error if the finding does not behave as the case says."""
    (fires, loud), (silent, quiet) = case
    found = [f for f in loud.diagnosis if f.code == code]
    left = [f for f in quiet.diagnosis if f.code == code and f.severity != "note"]
    if not found or left:
        raise SystemExit(f"{code}: {'it does not fire: ' + fires if not found else 'it fires: ' + silent}")
    advice = f" *What to do:* {found[0].advice}." if found[0].advice else ""
    return (
        f"- Fires: {fires}; estimate {_estimate(loud)}.\n  > **{found[0].severity}**: {found[0].message}.{advice}\n\n"
        f"- Does not: {silent}; estimate {_estimate(quiet)}."
    )


def _estimate(e: Estimate) -> str:
    ends = f" ({number(e.interval.low)} … {number(e.interval.high)})" if e.interval else ""
    return "none" if e.value is None else f"{number(e.value)}{ends}"


def _table(columns: list[str], rows: list[list[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def block(name: str) -> str:
    return NUMBERS[name]() if name in NUMBERS else told(name, CASES[name]())


def page_of(name: str) -> Path:
    return PAGES.get(name, GUIDE / "trust.md")


def marked(name: str) -> re.Pattern[str]:
    """The place of a case in its page: what stands before, the case, and what stands behind."""
    return re.compile(f"(<!-- case {name} -->\n)(.*?)(\n<!-- end -->)", re.DOTALL)


def kept(name: str) -> str:
    """A case as its page has it."""
    found = marked(name).search(page_of(name).read_text(encoding="utf-8"))
    if found is None:
        raise SystemExit(f"{page_of(name).name} has no place for {name}: <!-- case {name} --> … <!-- end -->")
    return found[2]


def write(name: str, made: str) -> None:
    kept(name)  # or it is refused
    page = page_of(name)
    text = marked(name).sub(lambda found: f"{found[1]}{made}{found[3]}", page.read_text(encoding="utf-8"))
    page.write_text(text, encoding="utf-8")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("names", nargs="*", help=f"of {', '.join([*NUMBERS, *CASES])}")
    arguments.add_argument("--write", action="store_true", help="put them into the pages of docs/guide")
    options = arguments.parse_args()
    prepare()
    for name in options.names or [*NUMBERS, *CASES]:
        if name not in NUMBERS and name not in CASES:
            arguments.error(f"there is no case {name!r}")
        made = block(name)
        print(f"{name}\n\n{made}\n", flush=True)
        if options.write:
            write(name, made)


if __name__ == "__main__":
    main()
