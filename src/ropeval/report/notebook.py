"""Estimates, rankings, findings and logs in a notebook: the tables of the terminal, as HTML."""

from collections.abc import Sequence
from functools import singledispatch

from ropeval.data import Dataset
from ropeval.data.quality import summarise
from ropeval.evaluation.compare import Comparison
from ropeval.evaluation.rank import Truth
from ropeval.evaluation.result import Estimate, Finding, Ranking
from ropeval.report.by_group import groups_table
from ropeval.report.escape import escape
from ropeval.report.log_summary import columns_tables, facts_table
from ropeval.report.risk import risk_sentence
from ropeval.report.run_page.headline import best_first
from ropeval.report.table import Table
from ropeval.report.terminal import ranking_table, results_table
from ropeval.report.typeset import to_html

# Notebooks have a look of their own, light or dark: only the alignment is ours.
STYLE = (
    "<style>.ropeval table{margin:.5em 0} "
    ".ropeval th,.ropeval td{text-align:left;vertical-align:top;padding:.1em .6em} "
    ".ropeval .number{text-align:right;white-space:nowrap}</style>"
)


@singledispatch
def to_notebook(shown: object) -> str:
    """HTML without scripts and without anything from elsewhere."""
    raise TypeError(f"no table for a {type(shown).__name__}")


@to_notebook.register
def _(estimate: Estimate) -> str:
    return _page(_results([estimate]))


@to_notebook.register
def _(comparison: Comparison) -> str:
    ranking = to_html(ranking_table(comparison.rankings)) if comparison.rankings else ""
    groups = groups_table(best_first(comparison.estimates))
    by_group = "" if groups is None else to_html(groups)
    return _page(_results(best_first(comparison.estimates), comparison.truth) + by_group + ranking)


@to_notebook.register
def _(ranking: Ranking) -> str:
    return _page(to_html(ranking_table([ranking])))


@to_notebook.register
def _(finding: Finding) -> str:
    table = Table(["severity", "finding", "what was found", "what to do"],
                  [[finding.severity, finding.code, finding.message, finding.advice]])  # fmt: skip
    return _page(to_html(table))


@to_notebook.register
def _(log: Dataset) -> str:
    summary = summarise(log)
    tables = (facts_table(summary, log.name), *columns_tables(summary))
    return _page(*map(to_html, tables), _list([*log.notices, *summary.warnings]))


def _results(estimates: Sequence[Estimate], truth: Truth | None = None) -> str:
    sentences = list(dict.fromkeys(warning for estimate in estimates for warning in estimate.warnings))
    risks = [sentence for estimate in estimates if (sentence := risk_sentence(estimate))]
    spread = "".join(f"<p>{escape(sentence)}</p>" for sentence in risks)
    return to_html(results_table(estimates, sentences, truth)) + _list(sentences) + spread


def _list(sentences: Sequence[str]) -> str:
    return f"<ol>{''.join(f'<li>{escape(sentence)}</li>' for sentence in sentences)}</ol>" if sentences else ""


def _page(*parts: str) -> str:
    return f'<div class="ropeval">{STYLE}{"".join(parts)}</div>'
