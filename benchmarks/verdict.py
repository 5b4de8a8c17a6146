"""Fit the rule behind verdicts on the suite's dev cases, and measure it on its test cases.

    python -m benchmarks.verdict            writes src/ropeval/evaluation/verdict/table.json, and docs/guide/trust.md
    python -m benchmarks.verdict --check    says what it would write, and whether that is what is there

Reads the rows in benchmarks/suite and trains nothing. Limits are from a coarse grid: those that call the most dev
cases `supported` while at least 98 % of them are within a tenth of the range (where no limits have so many, within 1 %
of the most that any have), and those that call the fewest others a `guess` while at least 98 % of the cases that are
off by three tenths or more are called so.
"""

import argparse
import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.program import run
from benchmarks.suite_page import ROOT, ROWS, filled, studies
from benchmarks.verdict_cases import Case, cases, looks, words
from benchmarks.verdict_picture import reliability

from ropeval.bench.results.scores import iqm
from ropeval.bench.results.together import load_results
from ropeval.evaluation.options import DEFAULT_METHODS
from ropeval.evaluation.result import BASELINES
from ropeval.evaluation.verdict import rule
from ropeval.evaluation.verdict.one_answer import one_answer
from ropeval.evaluation.verdict.rule import WORDS, Kind, Limits
from ropeval.evaluation.verdict.verdict import distances, read
from ropeval.files import write_text
from ropeval.report.draw_paper import draw

TABLE, PAGE = ROOT / "src/ropeval/evaluation/verdict/table.json", ROOT / "docs/guide/trust.md"
BEGIN, END = "<!-- from here on: python -m benchmarks.verdict -->", "<!-- to here: verdict -->"
NEAR, FAR = 0.1, 0.3  # of the range: right, and wrong
WANTED = 0.98  # of dev cases; on test 0.9 is asked for. Leaving out one environment at a time, 0.95 gave 0.948
ALIKE = 0.01  # where so many are not to be had: shares of dev cases that differ by less are the same
NEVER = 1e9
# The suite's methods when the rule was made. Those that came later are measured by it, and change nothing.
FITTED_WITH = {
    "mean-reward", "mean-return", "world", "fqe", "fqe-clip", "fqe-ln", "lspe", "is", "wis", "pdis", "wpdis", "dr",
    "wdr", "rope+fqe", "rope-range+fqe", "bcrl+lspe",
}  # fmt: skip
GRID: dict[Kind, dict[str, tuple[Sequence[float], Sequence[float]]]] = {
    "simulator": {
        "unsupported": ((0.1, 0.2, 0.3, 0.5), (0.5, 0.6, 0.7, 0.8)),
        "blurred": ((0.03, 0.05, 0.1, 0.15), (0.2, 0.3, 0.5)),
        "beyond": ((0.0, 0.1, 0.3), (0.5, 1.0, 2.0)),
        "outside": ((0.3, 0.5, 0.7), (NEVER,)),
        "fallback": ((0.02, 0.1), (0.3, 0.5, 0.7)),
    },
    # a simulator may be off by a tenth itself: who is two tenths from it may be off by three
    "beside": {"disputed": ((0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1), (0.05, 0.1, 0.15, 0.2))},
    "alone": {
        "spread": ((0.02, 0.05, 0.1), (0.05, 0.1, 0.2, 0.3)),
        "beyond": ((0.0, 0.1), (0.1, 0.5, 1.0)),
        "outside": ((0.1, 0.2, 0.3), (0.2, 0.3, 0.5)),
        "lost": ((0.0, 0.2), (0.2, 0.5)),
    },
    "weights": {
        "spread": ((0.02, 0.05, 0.1), (0.1, 0.2, 0.3)),
        "few": ((0.05, 0.1, 0.2), (0.1, 0.2, 0.3, 0.5)),
        "unlike": ((0.1, 0.3, 0.7), (0.3, 0.7, 1.5)),
    },
}


# --- fitting ------------------------------------------------------------------------------------------------------


def fit(dev: Sequence[Case]) -> dict[str, Any]:
    """The content of table.json. The limits of the simulator come first: the others depend on them.

    What was trained too briefly is judged by reason (`rule.BY_REASON`): no other sign shall learn to tell it.
    """
    dev = [case for case in dev if rule.judge(case.estimate.signs, rule.BY_REASON).word == "supported"]
    limits: dict[Kind, dict[str, Limits]] = {}
    own = [case for case in dev if case.simulator is None and "support" in case.estimate.signs]
    limits["simulator"] = _limits("simulator", [(read(case.estimate.signs, case.differ), case.error) for case in own])
    known = [case for case in dev if case.simulator is not None]
    limits["beside"] = _limits("beside", _beside_supported(known, limits["simulator"]))
    seeing = [case for case in known if case.estimate.family != BASELINES]
    kinds: tuple[tuple[Kind, bool], ...] = (("alone", False), ("weights", True))
    for kind, weighs in kinds:
        some = [case for case in seeing if ("effective" in case.estimate.signs) is weighs]
        limits[kind] = _limits(kind, [(read(case.estimate.signs), case.error) for case in some])
    return {"limits": {kind: {n: list(both) for n, both in one.items()} for kind, one in limits.items()}}


def _beside_supported(some: Sequence[Case], limits: Mapping[str, Limits]) -> list[tuple[Mapping[str, float], float]]:
    """How far they are from a simulator that these limits support, and how far off."""
    found: list[tuple[Mapping[str, float], float]] = []
    for case in some:
        assert case.simulator is not None
        if rule.judge(read(case.simulator.signs, case.differ), limits).word == "supported":
            found.append((distances(case.estimate, case.simulator, case.differ), case.error))
    return found


def _limits(kind: Kind, seen: Sequence[tuple[Mapping[str, float], float]]) -> dict[str, Limits]:
    names = list(GRID[kind])
    errors = np.array([error for _, error in seen])
    values = np.array([[signs.get(name, 0.0) for name in names] for signs, _ in seen]).reshape(
        -1, len(names)
    )  # [n, signs]

    def grave(chosen: tuple[float, ...]) -> tuple[bool, float, tuple[float, ...]]:
        called = np.asarray((values > np.array(chosen)).any(axis=1))
        caught = float(called[errors > FAR].mean()) if (errors > FAR).any() else 1.0
        enough = caught >= WANTED
        return enough, -float((called & (errors <= FAR)).sum()) if enough else caught, tuple(-x for x in chosen)

    def right(chosen: tuple[float, ...]) -> tuple[float, int]:
        inside = (values <= np.array(chosen)).all(axis=1)
        return float((errors[inside] <= NEAR).mean()) if inside.any() else 0.0, int(inside.sum())

    guess = max(itertools.product(*(GRID[kind][name][1] for name in names)), key=grave)
    below = [[limit for limit in GRID[kind][name][0] if limit < g] for name, g in zip(names, guess, strict=True)]
    candidates = list(itertools.product(*below))  # there is always something between harmless and a guess
    most = max(right(chosen)[0] for chosen in candidates)
    wanted = WANTED if most >= WANTED else most - ALIKE

    def calm(chosen: tuple[float, ...]) -> tuple[bool, int, tuple[float, ...]]:
        share, count = right(chosen)
        return share >= wanted, count, tuple(-x for x in chosen)  # the most cases, then the strictest

    harmless = max(candidates, key=calm)
    return {name: Limits(h, g) for name, h, g in zip(names, harmless, guess, strict=True)}


def expected(dev: Sequence[Case]) -> dict[str, dict[str, dict[str, float]]]:
    """By kind and word: what nine of ten stayed below."""
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for case in dev:
        for kind, word, off in looks(case):
            found.setdefault(kind, {}).setdefault(word, []).append((case.error, off))
    return {
        kind: {
            word: {
                "share": _rounded(np.quantile([error for error, _ in some], 0.9)),
                "scale": _rounded(np.quantile([off for _, off in some], 0.9)),
                "cases": len(some),
            }
            for word, some in sorted(by_word.items())
        }
        for kind, by_word in sorted(found.items())
    }


def _rounded(value: Any) -> float:
    return float(f"{float(value):.2g}")


# --- measuring ----------------------------------------------------------------------------------------------------


class Measured(NamedTuple):
    who: str
    cases: int
    supported: int
    right: float  # of those called supported
    far: int  # off by more than three tenths of the range
    escaped: float  # share of those that were not called a guess
    partly: int
    guess: int
    covered: float  # share of the intervals of those called supported that hold the truth
    width: float  # median, as a share of the range


def measure(who: str, some: Sequence[Case], way: int = 0) -> Measured:
    """`way`: 0 as judged, 1 as if there were no other policy, -1 as if there were no simulator."""
    said = [words(case)[way][1] for case in some]
    errors = np.array([case.error for case in some])
    is_word = {word: np.array([one == word for one in said]) for word in WORDS}
    good, far = is_word["supported"], errors > FAR
    spans = [
        (case.covered, case.width) for case, one in zip(some, good, strict=True) if one and case.covered is not None
    ]
    return Measured(
        who, len(some), int(good.sum()), float((errors[good] <= NEAR).mean()) if good.any() else np.nan,
        int(far.sum()), float((~is_word["guess"])[far].mean()) if far.any() else np.nan,
        int(is_word["partly"].sum()), int(is_word["guess"].sum()),
        float(np.mean([c for c, _ in spans])) if spans else np.nan,
        float(np.median([w for _, w in spans])) if spans else np.nan,
    )  # fmt: skip


def tables(every: Sequence[Case]) -> str:
    parts = []
    for split in ("test", "dev"):
        own = [case for case in every if case.split == split]
        methods = sorted({case.estimate.method for case in own}, key=lambda name: (name != "world", name))
        lines = [measure("all", own)]
        lines += [measure(f"`{name}`", [case for case in own if case.estimate.method == name]) for name in methods]
        families = sorted({case.family for case in own})
        worlds = [case for case in own if case.estimate.method == "world"]
        lines += [measure(f"`world`, {name}", [case for case in worlds if case.family == name]) for name in families]
        learned = [case for case in own if case.simulator is not None and case.estimate.family != BASELINES]
        lines.append(measure("all, one policy at a time", own, way=1))
        lines.append(measure("`world`, likewise", worlds, way=1))
        lines.append(measure("without a simulator beside them", learned, way=-1))
        parts.append(f"### On the {split} cases\n\n{_markdown(lines)}")
    return "\n\n".join(parts)


def against_single_methods(every: Sequence[Case]) -> str:
    """The one answer of a default run, beside each method that answered everything: errors as shares of the range."""
    parts = []
    for split in ("test", "dev"):
        own = [case for case in every if case.split == split]
        groups: dict[tuple[str, str], list[Case]] = {}
        for case in own:
            groups.setdefault((case.task, case.estimate.policy), []).append(case)
        families = sorted({case.family for case in own})
        errors: dict[str, list[float]] = {"one number (`auto`)": []}
        for group in groups.values():
            answer = one_answer([case.estimate for case in group if case.estimate.method in DEFAULT_METHODS])
            assert answer is not None
            errors["one number (`auto`)"].append(abs(answer.value - group[0].truth) / group[0].wide)
            for case in group:
                errors.setdefault(f"`{case.estimate.method}`", []).append(case.error)
        whole = {who: np.array(found) for who, found in errors.items() if len(found) == len(groups)}
        of_family = np.array([group[0].family for group in groups.values()])
        head = f"| {split} cases ({len(groups)}) | IQM | median | mean | within 10% | off by over 30% |"
        head += "".join(f" {family} ({(of_family == family).sum()}) |" for family in families)
        head += "\n|---|" + "--:|" * (5 + len(families))
        rows = [
            f"| {who} | {iqm(x):.3f} | {np.median(x):.3f} | {x.mean():.3f} | {(x <= NEAR).mean():.0%} "
            f"| {(x > FAR).mean():.0%} | {' | '.join(f'{iqm(x[of_family == family]):.3f}' for family in families)} |"
            for who, x in sorted(whole.items(), key=lambda item: iqm(item[1]))
        ]
        parts.append("\n".join([head, *rows]))
    return "\n\n".join(parts)


def findings_table(every: Sequence[Case]) -> str:
    """How often an estimate is off where a finding fires, and where it does not, among the methods it ever spoke of."""
    head = (
        "| finding | severity | fires | off by over 10% where it fires | where it does not "
        "| off by over 30%: of these it names |\n|---|---|--:|--:|--:|--:|"
    )
    parts = []
    for split in ("test", "dev"):
        own = [case for case in every if case.split == split and case.estimate.family != BASELINES]
        kinds = sorted({(code, severity) for case in own for code, severity in case.findings.items()})
        lines = [head]
        for code, severity in kinds:
            fires = np.array([case.findings.get(code) == severity for case in own])
            methods = {case.estimate.method for case, here in zip(own, fires, strict=True) if here}
            asked = np.array([case.estimate.method in methods for case in own])
            errors = np.array([case.error for case in own])
            quiet = asked & np.array([code not in case.findings for case in own])
            off = [f"{(errors[some] > NEAR).mean():.0%}" if some.any() else "–" for some in (fires, quiet)]
            far = asked & (errors > FAR)
            named = f"{fires[far].mean():.0%}" if far.any() else "–"
            lines.append(f"| `{code}` | {severity} | {fires.sum()} | {off[0]} | {off[1]} | {named} |")
        parts.append(f"On the {split} cases:\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


def _markdown(lines: Sequence[Measured]) -> str:
    head = (
        "| estimates | cases | supported | … within 10% | … interval holds | … its width | partly | guess "
        "| off by over 30% | … not called guess |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    )

    def percent(value: float) -> str:
        return "–" if np.isnan(value) else f"{value:.0%}"

    rows = [
        f"| {m.who} | {m.cases} | {m.supported} | {percent(m.right)} | {percent(m.covered)} | {percent(m.width)} "
        f"| {m.partly} | {m.guess} | {m.far} | {percent(m.escaped)} |"
        for m in lines
    ]
    return "\n".join([head, *rows])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--study", type=Path, nargs="+", default=studies(ROWS))
    options = parser.parse_args(arguments)
    rows = load_results(options.study).rows
    every = cases(rows)
    dev = [case for case in every if case.split == "dev" and case.estimate.method in FITTED_WITH]
    made = fit(dev)
    text = json.dumps({"from": __doc__.splitlines()[0], **made, "expected": {}}, indent=1)
    before = TABLE.read_text(encoding="utf-8") if TABLE.exists() else ""
    write_text(TABLE, text)
    rule.table.cache_clear()
    text = json.dumps({**json.loads(text), "expected": expected(dev)}, indent=1) + "\n"
    write_text(TABLE, text)
    rule.table.cache_clear()
    words_for_page = f"{tables(every)}\n\n### One answer, and each method by itself\n\n{against_single_methods(every)}"
    words_for_page += f"\n\n### What a finding is worth\n\n{findings_table(every)}"
    print(words_for_page)
    if options.check:
        write_text(TABLE, before)
        print("as it is" if before == text else "table.json is not what these rows give")
    else:
        ran = [", ".join(sorted(rows[column].unique())) for column in ("device", "commit")]
        source = f"python -m benchmarks.verdict; {len(every):,} estimates of the suite, {ran[0]}, commit {ran[1]}"
        drawn = draw(reliability(every, "test"), PAGE.with_suffix(""), ["png"], source)
        words_for_page = f"![What verdicts are worth](trust/{drawn[0].name})\n\n{words_for_page}"
        write_text(PAGE, filled(PAGE.read_text(encoding="utf-8"), words_for_page, BEGIN, END))


if __name__ == "__main__":
    run(main)
