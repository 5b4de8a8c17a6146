"""Writing the report: reads a study's folder, works everything out once, and sets it in every format asked for."""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Literal, NamedTuple

import polars as pl

from ropeval.bench.results.curve_bands import gather
from ropeval.bench.results.missing import Gap, find_gaps_of_all
from ropeval.bench.results.report.charts import all_charts
from ropeval.bench.results.report.flat_files import chart_frame, frames, suite_frames
from ropeval.bench.results.report.suite_charts import suite_charts
from ropeval.bench.results.report.suite_tables import absences, coarse_cases, refusals, suite_tables
from ropeval.bench.results.report.tables import all_tables, missing_tables, overview
from ropeval.bench.results.report.training import training_charts
from ropeval.bench.results.rows import BASELINES
from ropeval.bench.results.suite_scores import PRECISE, Suite, judges_many, score_suite
from ropeval.bench.results.summary import Summary, summarise
from ropeval.bench.results.together import Results, load_results
from ropeval.errors import UserError, unknown_name
from ropeval.files import write_text
from ropeval.report.chart import Chart
from ropeval.report.escape import latex, markdown
from ropeval.report.labels import counted
from ropeval.report.palette import Palette
from ropeval.report.table import Table
from ropeval.report.typeset import PREAMBLE, to_latex, to_markdown

FORMATS = ("md", "tex", "csv", "png", "pdf", "html")
CURVE_POINTS = 50  # of each line; a panel is not wide enough for more
MANIFEST = "report.json"
MANY_PANELS = 60  # from here on, processes of their own draw the figures
NAMED = 6  # devices, commits: so many are written out

Progress = Callable[[str, float], None]  # what is being done, fraction of all


class Fact(NamedTuple):
    """A sentence, and whether it speaks against the tables."""

    severity: Literal["info", "warning"]
    sentence: str


@dataclass(frozen=True)
class Report:
    """All there is to show about one protocol of a study."""

    name: str
    protocol: str
    summary: Summary
    charts: list[Chart]
    tables: list[Table]
    missing: list[Table]
    gaps: list[Gap]
    source: str
    logs: list[str]  # tasks whose rows come from several logs
    suite: Suite | None = None  # where tasks judge several policies each

    @property
    def title(self) -> str:
        return f"Study {self.name}, protocol {self.protocol}"

    @property
    def facts(self) -> list[Fact]:
        """What everybody must know before reading on."""
        rows, summary = self.summary.rows, self.summary
        lost = int((rows["diverged"] | rows["estimate"].is_null()).sum())
        absent = sum(gap.expected - gap.present for gap in self.gaps if not gap.refused)
        refused = sum(gap.expected - gap.present for gap in self.gaps if gap.refused)
        tasks = counted(rows["task"].n_unique(), "task")
        cases = f" ({len(summary.tasks)} cases of task and policy)" if rows["policy"].n_unique() > 1 else ""
        said = [
            Fact("info", f"{len(rows)} runs of {counted(len(summary.methods), 'method')} on {tasks}{cases}; "
                 f"{lost} runs diverged."),
            Fact("warning", f"{absent} runs of the study are missing; see below which and why.")
            if absent
            else Fact("info", "Nothing of the study is missing."),
        ]  # fmt: skip
        if refused:
            said.append(Fact("info", f"{refused} runs were refused: the method has no answer there; see below why."))
        said += [Fact("info", f"{sentence}.") for sentence in self.logs]
        said += [
            Fact("warning", f"{name} was not run, so nothing shows what a trivial answer earns.")
            for name in BASELINES
            if name not in summary.methods
        ]
        if self.suite is not None:
            return said + _suite_facts(self.suite)
        troubles = {(task, values.trouble) for (_, task), values in summary.truths.items() if values.trouble}
        return said + [Fact("warning", f"{task}: {trouble}.") for task, trouble in sorted(troubles)]


def _suite_facts(suite: Suite) -> list[Fact]:
    coarse, lone = coarse_cases(suite), suite.unscored
    said = []
    if coarse:
        sentence = f"known only to a standard error of more than {PRECISE:.1%} of the range: {_some(coarse)}."
        said.append(Fact("warning", f"{counted(len(coarse), 'true value')} {sentence}"))
    if lone:
        said.append(Fact("warning", f"No range of true values, so only an RMAE: {_some(lone)}."))
    return said


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def write_report(
    folders: Path | Sequence[Path],
    out: Path,
    formats: Sequence[str] = FORMATS,
    progress: Progress | None = None,
    overwrite: bool = False,
    processes: int = 1,
) -> list[Path]:
    """Write the report of a study, or of several together, to `out`; returns the files.

    Each protocol has a report of its own: in `out` itself if there is one, else in a folder of its name below it.
    Files of an earlier report that this one does not have are removed. `processes` draw the figures of a large study;
    a script that asks for more than one needs the usual `if __name__ == "__main__"`.
    """
    for name in formats:
        if name not in FORMATS:
            raise unknown_name("format", name, list(FORMATS))
    say = progress or (lambda words, fraction: None)
    earlier = _earlier(out, overwrite)
    results = load_results([folders] if isinstance(folders, Path) else folders)
    many = judges_many(results.rows)  # then curves would fill pages, and say nothing about the suite
    curves = None if many else results.curves(CURVE_POINTS, lambda f: say("reading curves", 0.2 * f))
    protocols = sorted(results.rows["protocol"].unique())
    written = []
    for place, protocol in enumerate(protocols):
        own = partial(_part, say, 0.2 + 0.8 * place / len(protocols), 0.8 / len(protocols))
        report = make_report(results, curves, protocol, own)
        written += _write(report, out / protocol if len(protocols) > 1 else out, formats, processes, own)
    about = {"made_by": "ropeval bench report", "files": sorted(str(path.relative_to(out)) for path in written)}
    write_text(out / MANIFEST, json.dumps(about, indent=1, ensure_ascii=False))
    for name in set(earlier) - set(about["files"]):
        (out / name).unlink(missing_ok=True)
    return written


def make_report(results: Results, curves: pl.DataFrame | None, protocol: str, say: Progress) -> Report:
    """`curves`: None leaves out what they would show."""
    mine = replace(results, rows=results.rows.filter(protocol=protocol))
    summary = summarise(mine.rows, results.study, lambda f: say("scoring", 0.1 * f))
    say("drawing", 0.12)
    palette = Palette(summary.methods, BASELINES)
    gaps = find_gaps_of_all(results.parts, mine.rows)
    called = " ".join(folder.resolve().name for folder in results.folders)
    source = source_line(mine.rows, f"ropeval bench report {called}", results.name)
    suite = score_suite(summary, results.failures) if judges_many(mine.rows) else None
    if suite is not None and suite.splits:
        charts = suite_charts(suite, palette)
        tables = [*suite_tables(suite), overview(summary, suite.truth)]
    else:
        suite = None
        own = None if curves is None else curves.filter(pl.col("protocol").cast(pl.String) == protocol)
        lines = {} if own is None else gather(own, mine.rows)
        charts = [*all_charts(summary, palette), *training_charts(summary, lines, palette)]
        tables = all_tables(summary)
    missing = missing_tables(gaps, results.failures)
    if suite is not None:
        told = [failure for failure in results.failures if failure.refused]
        others = [failure for failure in results.failures if not failure.refused]
        lacking = [gap for gap in gaps if not gap.refused]
        missing = [refusals(told)] if told else []
        missing += [absences(lacking)] if lacking else []
        missing += missing_tables([], others)
    drawn = [c for c in charts if c.drawn]
    tables, missing = ([replace(table, source=source) for table in some] for some in (tables, missing))
    return Report(results.name, protocol, summary, drawn, tables, missing, gaps, source, mine.logs, suite)


def source_line(rows: pl.DataFrame, command: str, name: str) -> str:
    """Command, hardware and commit, as the rows tell them."""
    found = {column: sorted(rows[column].drop_nulls().unique()) for column in ("device", "commit", "version")}
    words = {column: _some(values) for column, values in found.items()}
    (protocol,) = rows["protocol"].unique()
    return (
        f"Study {name}, protocol {protocol}, {len(rows)} runs; `{command}`; ran on "
        f"{words['device'] or 'unknown hardware'}; commit {words['commit'] or 'unknown'}, ropeval {words['version']}."
    )


def _part(say: Progress, start: float, share: float, words: str, fraction: float) -> None:
    say(words, start + share * fraction)


# --- the folder ---------------------------------------------------------------------------------------------------


def _earlier(out: Path, overwrite: bool) -> list[str]:
    """The files of the report that stands in `out`, which will be replaced. Refuses a folder of something else."""
    if not out.exists():
        return []
    if not out.is_dir():
        raise UserError(f"{out}: this is a file; --out needs a folder")
    try:
        about = json.loads((out / MANIFEST).read_text(encoding="utf-8"))
        names = [str(name) for name in about["files"]]
    except (OSError, ValueError, KeyError, TypeError):
        if any(out.iterdir()) and not overwrite:
            raise UserError(
                f"{out}: holds something else than a report; choose another --out, or add --overwrite"
            ) from None
        return []
    return [n for n in names if (out / n).resolve().is_relative_to(out.resolve()) and (out / n).is_file()]


def _write(report: Report, out: Path, formats: Sequence[str], processes: int, say: Progress) -> list[Path]:
    written = []

    def text(name: str, words: str) -> None:
        write_text(out / name, words)
        written.append(out / name)

    kinds = [kind for kind in ("png", "pdf") if kind in formats]
    if kinds:
        written += _draw(report, out / "figures", kinds, processes, say)
    if "csv" in formats:
        tables = {f"tables/{name}.csv": frame for name, frame in frames(report.summary).items()}
        if report.suite is not None:
            tables |= {f"tables/{name}.csv": frame for name, frame in suite_frames(report.suite).items()}
        tables |= {f"figures/{chart.slug}.csv": chart_frame(chart) for chart in report.charts}
        for name, frame in tables.items():
            text(name, frame.write_csv())
    say("writing", 0.96)
    if "md" in formats:
        text("report.md", as_markdown(report, "png" in formats))
    if "tex" in formats:
        text("report.tex", as_latex(report, "pdf" in formats))
        for table in (*report.tables, *report.missing):
            text(f"tables/{table.slug}.tex", to_latex(table))
    if "html" in formats:
        from ropeval.bench.results.report.page import as_page
        from ropeval.bench.results.report.suite_page import suite_page

        page = as_page(report) if report.suite is None else suite_page(report, report.suite)
        text("report.html", page.html())
    say("written", 1.0)
    return written


def _draw(report: Report, folder: Path, kinds: list[str], processes: int, say: Progress) -> list[Path]:
    """All figures, in several processes where they are large: drawing is most of the work."""
    from ropeval.report.draw_paper import draw

    jobs = [(chart, folder, kinds, report.source) for chart in report.charts]
    share = 0.7 / max(1, len(jobs))
    if processes == 1 or sum(len(chart.panels) for chart in report.charts) < MANY_PANELS:
        found = []
        for place, job in enumerate(jobs):
            say(f"drawing {job[0].slug}", 0.25 + share * place)
            found += draw(*job)
        return found
    # Fresh processes, since a forked one inherits the locks of JAX's threads.
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        running = [pool.submit(draw, *job) for job in jobs]
        for done, _ in enumerate(as_completed(running), start=1):
            say("drawing figures", 0.25 + share * done)
        return [path for one in running for path in one.result()]


def as_markdown(report: Report, pictures: bool) -> str:
    parts = [f"# {markdown(report.title)}\n", "\n".join(f"- {markdown(fact.sentence)}" for fact in report.facts) + "\n"]
    parts += [to_markdown(table) for table in report.tables]
    if pictures:
        parts.append("## Figures\n")
        for chart in report.charts:
            words = markdown(f"{chart.caption} {report.source}")
            parts.append(
                f"### {markdown(chart.title)}\n\n![{markdown(chart.title)}](figures/{chart.slug}.png)\n\n{words}\n"
            )
    parts += [to_markdown(table) for table in report.missing]
    return "\n".join(parts)


def as_latex(report: Report, pictures: bool) -> str:
    """A document that compiles by itself in the report's folder; tables/ holds its tables one by one."""
    facts = "\n".join(rf"\item {latex(fact.sentence)}" for fact in report.facts)
    body = [rf"\section*{{{latex(report.title)}}}", rf"\begin{{itemize}}{facts}\end{{itemize}}"]
    body += [r"{\footnotesize", *(to_latex(table) for table in (*report.tables, *report.missing)), "}"]
    if pictures:
        body += [
            "\n".join(
                [
                    r"\begin{figure}[p]\centering",
                    rf"\includegraphics[width=\linewidth,height=0.82\textheight,keepaspectratio]{{figures/{chart.slug}.pdf}}",
                    rf"\caption{{\textbf{{{latex(chart.title)}.}} {latex(chart.caption)}}}\end{{figure}}\clearpage",
                ]
            )
            for chart in report.charts
        ]
    return "\n".join([PREAMBLE, r"\begin{document}", *body, r"\end{document}", ""])
