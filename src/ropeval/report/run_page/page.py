"""The page of a run: the answer first, then what it rests on, then what speaks against it, then how it was made."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from ropeval.errors import UserError
from ropeval.evaluation.result import Ranking
from ropeval.files import write_alone
from ropeval.report.by_group import groups_table
from ropeval.report.html import Note, Page
from ropeval.report.labels import shown
from ropeval.report.run_page.citation import citation
from ropeval.report.run_page.coverage import distance_chart, map_chart
from ropeval.report.run_page.headline import answer, best_first, headline_method, short_answer
from ropeval.report.run_page.may_happen import add_may_happen, simulated
from ropeval.report.run_page.notes import notes
from ropeval.report.run_page.outcome import Outcome, facts, read_outcome
from ropeval.report.run_page.training import MOST_POLICIES, estimates_chart, feature_chart, feature_table, loss_chart
from ropeval.report.run_page.values import values_chart
from ropeval.report.run_page.verdicts import verdicts_table
from ropeval.report.table import Cell, Table, Value
from ropeval.version import __version__

NAME = "report.html"


def write_page(
    folder: Path,
    truth: Mapping[str, float] | None = None,
    out: Path | None = None,
    write: Callable[[Path, str], None] = write_alone,
) -> Path:
    """Draw the results in `folder` as one page, `report.html` beside them unless `out` is given."""
    path = out or folder / NAME
    outcome = read_outcome(folder, truth)
    try:
        html = run_page(_arranged(outcome)).html()
    except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
        raise UserError(f"{folder}: its files are not what ropeval {__version__} writes ({error!r})") from error
    write(path, html)
    return path


def _arranged(outcome: Outcome) -> Outcome:
    """The best policy first, wherever policies stand in a row."""
    ordered = replace(outcome, estimates=best_first(outcome.estimates))
    places = {policy: place for place, policy in enumerate(ordered.policies)}
    return replace(ordered, coverage=sorted(outcome.coverage, key=lambda c: places.get(c.policy, len(places))))


def draw_curves(folder: Path) -> None:
    """The page's picture of training as `curves.png` beside it, where something was trained."""
    from ropeval.report.draw_paper import draw

    outcome = read_outcome(folder)
    chart = estimates_chart(outcome)
    if chart is not None:
        draw(chart, folder, ["png"], f"{' · '.join(facts(outcome))} · ropeval {__version__}")


def run_page(outcome: Outcome) -> Page:
    who = outcome.policies[0] if len(outcome.policies) == 1 else f"these {len(outcome.policies)} policies"
    page = Page(f"What would {who} earn?", short_answer(outcome), facts(outcome))
    _add_values(page, outcome)
    _add_groups(page, outcome)
    _add_warnings(page, outcome)
    _add_ranking(page, outcome)
    _add_may_happen(page, outcome)
    _add_coverage(page, outcome)
    _add_training(page, outcome)
    _add_features(page, outcome)
    _add_configuration(page, outcome)
    _add_citation(page, outcome)
    return page


def _add_values(page: Page, outcome: Outcome) -> None:
    method = headline_method(outcome)
    intro = _value_in_words(outcome.about.get("gamma"))
    judged = any(e.verdict for e in outcome.estimates)
    if judged:
        intro = f"{answer(outcome)} {intro}"
    if method is not None and len(outcome.methods) > 1 and not judged:
        intro += (
            f" The sentence above speaks for {method}, the learned method with least against it; which method is right "
            "cannot be seen from a log, so look at all of them."
        )
    section = page.section("Values", intro).chart(values_chart(outcome))
    if judged:
        section.heading("How far to rely on each").text(
            "Supported, partly or guess: a rule that was fitted where true values are known, and tested on other tasks "
            "and policies. The expected error is what nine of ten estimates with the same verdict stayed below, as a "
            "share of the range of values that policies of a task have."
        ).table(verdicts_table(outcome))


def _value_in_words(gamma: float | None) -> str:
    if gamma == 0:
        return "The value of a policy is what one of its actions earns on average."
    less = "every reward counting less than the one before it by the factor γ"
    earned = "The value of a policy is what it earns on average from the start of an episode"
    return f"{earned}, {'all rewards counting alike' if gamma == 1 else less}."


def _add_groups(page: Page, outcome: Outcome) -> None:
    table = groups_table(outcome.estimates)
    if table is not None:
        page.section(
            f"Values by {outcome.about.get('by', 'group')}",
            "From the initial states of each group alone, by the same fit. A group of few episodes says little: its "
            "interval is wide.",
        ).table(table)


def _add_warnings(page: Page, outcome: Outcome) -> None:
    found = notes(outcome)
    section = page.section("What speaks against it")
    if not found:
        section.note(Note("good", "Nothing was found. That is no proof: see what an interval does not cover."))
    for note in found:
        section.note(note)


def _add_ranking(page: Page, outcome: Outcome) -> None:
    if not outcome.rankings:
        return
    section = page.section(
        "Ranking",
        "Policies are compared within the same resamples of the log, so that luck which all of them share cancels out.",
    )
    scores = list(dict.fromkeys(name for ranking in outcome.rankings for name in ranking.truth or {}))
    if scores:
        rows = [[r.method, *((r.truth or {}).get(name) for name in scores)] for r in outcome.rankings]
        caption = "Against the true values, as the DOPE benchmark scores"
        section.table(Table(["method", *scores], rows, caption=caption))
    for ranking in outcome.rankings:
        section.heading(ranking.method).table(_best(ranking), row_headers=False).table(_pairs(ranking))


def _best(ranking: Ranking) -> Table:
    rows: list[list[Cell | Value]] = [
        [place, policy, value, Cell(f"{best:.2f}", share=best)]
        for place, (policy, value, best) in enumerate(
            zip(ranking.policies, ranking.values, ranking.best, strict=True), start=1
        )
    ]
    caption = f"By {ranking.method}, from {ranking.replicates:,} resamples"
    return Table(["rank", "policy", "estimate", "probability of being best"], rows, caption=caption)


def _pairs(ranking: Ranking) -> Table:
    rows: list[list[Cell | Value]] = [
        [policy, *(Cell("–", share=0.0) if i == j else Cell(f"{p:.2f}", share=p) for j, p in enumerate(chances))]
        for i, (policy, chances) in enumerate(zip(ranking.policies, ranking.beats, strict=True))
    ]
    caption = "Probability that the row's policy beats the column's"
    return Table(["worth more than", *map(shown, ranking.policies)], rows, caption=caption)


def _add_may_happen(page: Page, outcome: Outcome) -> None:
    if simulated(outcome) or any(e.extras.get("risk") for e in outcome.estimates):
        add_may_happen(
            page.section("What may happen", "A value is a mean; single episodes earn more or less."), outcome
        )


def _add_coverage(page: Page, outcome: Outcome) -> None:
    if not outcome.coverage:
        return
    section = page.section(
        "Coverage",
        "An estimate can only be as good as the log where the policy goes. Distances are between pairs of state and "
        "action, each column in units of its spread over the log.",
    )
    section.chart(distance_chart(outcome))
    maps = map_chart(outcome)
    if maps is not None:
        section.heading("Maps").text(
            "Logged pairs in grey, the policy's in colour, on the two axes along which the log varies most. A "
            "percentage is the axis's share of the log's variance; the distances above leave nothing out."
        )
        section.panels(maps)


def _add_training(page: Page, outcome: Outcome) -> None:
    chart = estimates_chart(outcome)
    if chart is None:
        return
    section = page.section(
        "Training",
        "The estimate while its method learned: the mean of the members, and their range around it. A curve that still "
        "moves at its end was stopped too early.",
    ).panels(chart)
    if len(outcome.policies) > MOST_POLICIES:
        section.text(
            f"The first {MOST_POLICIES} of {len(outcome.policies)} policies; curves.parquet holds all of them."
        )
    losses = loss_chart(outcome)
    if losses is not None:
        section.heading("Loss").chart(losses)


def _add_features(page: Page, outcome: Outcome) -> None:
    table, chart = feature_table(outcome), feature_chart(outcome)
    if table is None:
        return
    section = page.section(
        "Features",
        "A representation whose features hardly vary over the log, or all sit at the ends of their range, tells few "
        "states apart; an estimate built on it drifts to a constant.",
    )
    if chart is not None:
        section.chart(chart)
    section.table(table)


def _add_configuration(page: Page, outcome: Outcome) -> None:
    about, section = outcome.about, page.section("Configuration")
    entries = {
        "log": about.get("log"),
        "SHA-256 of the log": about.get("data_sha256") or next((e.data_sha256 for e in outcome.estimates), None),
        "γ": about.get("gamma"),
        "members": about.get("members"),
        "seed": about.get("seed"),
        "actions drawn per state": about.get("draws"),
        "episodes resampled": ("yes" if about["resample"] else "no") if "resample" in about else None,
        "settings chosen by a tournament": "yes, from the log alone" if about.get("tune") else None,
        "ropeval": about.get("version"),
        "time": f"{sum(e.seconds for e in outcome.estimates):,.0f} s",
    }
    section.pairs({name: value for name, value in entries.items() if value is not None})
    policies = [[p.get("name"), p.get("kind"), str(p.get("sha256"))[:16]] for p in about.get("policies", [])]
    if policies:
        section.table(Table(["policy", "kind", "SHA-256 begins with"], policies))
    section.table(_settings(outcome))


def _settings(outcome: Outcome) -> Table:
    """What every estimate was made with; a tuned method may have other settings for each policy."""
    users: dict[tuple[str, str, str], list[str]] = {}
    for estimate in outcome.estimates:
        for part, fields in estimate.config.items():
            if isinstance(fields, dict):
                told = ", ".join(f"{name} = {value}" for name, value in fields.items()) or "–"
                users.setdefault((estimate.method, part, told), []).append(estimate.policy)
    everyone = all(len(policies) == len(outcome.policies) for policies in users.values())
    if everyone:
        return Table(["method", "part", "settings"], list(users))
    rows = [[*key, ", ".join(policies)] for key, policies in users.items()]
    return Table(["method", "part", "settings", "for"], rows)


def _add_citation(page: Page, outcome: Outcome) -> None:
    section = page.section("How to cite")
    section.text(
        "Name the method, its settings, the log's hash, the interval and the findings beside the number; the table of "
        "settings above and the folder of this file hold them all."
    )
    section.code(citation(outcome), "BibTeX entries")
