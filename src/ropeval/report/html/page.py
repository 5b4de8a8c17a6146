"""The page itself: title, answer, sections, and the rules under which a browser may show it."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from ropeval.report.chart import Chart
from ropeval.report.draw_page import to_plotly
from ropeval.report.escape import data_block, escape, plot_data
from ropeval.report.html.figure import figure_html, legend_html, numbers_html
from ropeval.report.html.note import Note
from ropeval.report.palette import DARK, LIGHT
from ropeval.report.table import Table
from ropeval.report.typeset import to_html
from ropeval.version import __version__

# Nothing is fetched, sent or framed, whatever a name in a log may contain; scripts run only if they are ours.
POLICY = (
    "default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)


@dataclass
class Section:
    """A heading and what stands below it, in order."""

    title: str
    intro: str = ""
    blocks: list[str | Chart] = field(default_factory=list)  # HTML that is safe already, and what is to be drawn

    def _add(self, *blocks: str | Chart) -> "Section":
        self.blocks += blocks
        return self

    def text(self, words: str) -> "Section":
        return self._add(f"<p>{escape(words)}</p>")

    def heading(self, words: str) -> "Section":
        return self._add(f"<h3>{escape(words)}</h3>")

    def code(self, words: str, label: str) -> "Section":
        """Text to copy, as it is; `label` says what it is to those who cannot see it."""
        box = f'<div class="scroll" tabindex="0" role="group" aria-label="{escape(label)}">'
        return self._add(f"{box}<pre>{escape(words)}</pre></div>")

    def pairs(self, entries: Mapping[str, object]) -> "Section":
        """Names and their values."""
        rows = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in entries.items())
        return self._add(f"<dl>{rows}</dl>")

    def table(self, table: Table, row_headers: bool = True, whole: bool = False) -> "Section":
        return self._add(to_html(table, row_headers, whole))

    def note(self, note: Note) -> "Section":
        return self._add(note.html())

    def chart(self, chart: Chart) -> "Section":
        """All panels in one picture."""
        return self._add(chart)

    def panels(self, chart: Chart) -> "Section":
        """A small picture for each panel, side by side where there is room, under one legend."""
        self._add(legend_html(chart.legend), '<div class="side">', *chart.apart())
        return self._add("</div>", numbers_html(chart))


@dataclass
class Page:
    """One HTML file, complete in itself.

    page = Page("Four policies", lead="The answer in one sentence.")
    page.section("Values").chart(Chart(…)).table(Table(…)).text("…")
    page.html()

    Every word is escaped on its way in: there is no way to hand over markup.
    """

    title: str
    lead: str = ""
    details: Sequence[str] = ()  # short facts below the answer
    footer: str = ""
    wide: bool = False  # for large tables: as wide as the window, rather than as a line of text
    sections: list[Section] = field(default_factory=list)

    def section(self, title: str, intro: str = "") -> Section:
        self.sections.append(Section(title, intro))
        return self.sections[-1]

    def html(self) -> str:
        figures: list[dict[str, Any]] = []
        sections = [self._section(i, section, figures) for i, section in enumerate(self.sections, start=1)]
        scripts = [_asset("plotly/plotly-basic.min.js"), _asset("page.js")] if figures else []
        scripts += [_asset("tables.js")] if any("<table" in section for section in sections) else []
        drawn = [plot_data(figure) for figure in figures]
        return "\n".join(
            [
                '<!DOCTYPE html>\n<html lang="en">',
                self._head(scripts),
                '<body class="wide">' if self.wide else "<body>",
                '<a class="skip" href="#main">Skip to the content</a>',
                self._header(),
                f'<main id="main">\n{"".join(sections)}</main>',
                self._footer(bool(figures)),
                f'<script type="application/json" id="figures">{data_block(drawn)}</script>',
                *(f"<script>{script}</script>" for script in scripts),
                "</body>\n</html>\n",
            ]
        )

    def _head(self, scripts: list[str]) -> str:
        allowed = " ".join(f"'sha256-{_digest(script)}'" for script in scripts) or "'none'"
        return (
            '<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY.format(scripts=allowed)}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
            f'<meta name="generator" content="ropeval {__version__}">\n<link rel="icon" href="data:,">\n'
            f"<title>{escape(self.title)}</title>\n<style>\n{_colours()}{_asset('page.css')}</style>\n</head>"
        )

    def _header(self) -> str:
        links = "".join(f'<li><a href="#s{i}">{escape(s.title)}</a></li>' for i, s in enumerate(self.sections, start=1))
        facts = "".join(f"<li>{escape(fact)}</li>" for fact in self.details)
        return (
            f"<header>\n<h1>{escape(self.title)}</h1>\n"
            + (f'<p class="lead">{escape(self.lead)}</p>\n' if self.lead else "")
            + (f'<ul class="facts">{facts}</ul>\n' if facts else "")
            + (f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n' if len(self.sections) > 2 else "")
            + "</header>"
        )

    def _footer(self, drawn: bool) -> str:
        words = [self.footer, f"Written by ropeval {__version__}.", "This file loads nothing and sends nothing."]
        if drawn:
            words.append("Pictures drawn by plotly.js, © Plotly, Inc., MIT licence.")
        without = (
            "<noscript><p>The pictures need JavaScript; the tables below them hold the same numbers.</p></noscript>"
        )
        return f"<footer><p>{escape(' '.join(filter(None, words)))}</p>{without if drawn else ''}</footer>"

    @staticmethod
    def _section(place: int, section: Section, figures: list[dict[str, Any]]) -> str:
        parts = []
        for block in section.blocks:
            if isinstance(block, Chart):
                figure = to_plotly(block)
                parts.append(figure_html(block, len(figures), figure["layout"]["height"]))
                figures.append(figure)
            else:
                parts.append(block)
        intro = f"<p>{escape(section.intro)}</p>" if section.intro else ""
        return (
            f'<section id="s{place}" aria-labelledby="h{place}"><h2 id="h{place}">{escape(section.title)}</h2>'
            f"\n{intro}{''.join(parts)}</section>\n"
        )


def _colours() -> str:
    """The palette as the style sheet's variables; paper is light."""
    light, dark = (" ".join(f"--{name}: {colour};" for name, colour in dress.items()) for dress in (LIGHT, DARK))
    return f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root:not(.printing) {{ {dark} }} }}\n"


@cache
def _asset(name: str) -> str:
    return resources.files("ropeval.report.html").joinpath(name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
