"""The skeleton of a page: complete in itself, well-formed, readable, and at work in a real browser."""

import base64
import csv
import hashlib
import re
from html.parser import HTMLParser
from importlib import resources

import numpy as np
import pytest

from ropeval.report.chart import Chart, Entry, Panel, Series
from ropeval.report.html import Note, Page
from ropeval.report.palette import DARK, LIGHT, Style
from ropeval.report.table import Cell, Table

HOSTILE = "</script><img src=x onerror=\"document.title='owned'\"><!-- 'javascript:alert(1)' \u2028\u202e${x} %{y}"


def example(name: str = "beta") -> Page:
    """Two series, of which the second carries `name` wherever a name can stand."""
    page = Page(f"Two series: {name}", lead=f"alpha earns more than {name}.", details=[name], footer=name)
    series, legend = [], []
    for at, group in enumerate(("alpha", name), start=1):
        words = [f"{group} {i}" for i in range(3)]
        series.append(Series(group, Style(f"c{at}"), np.arange(3), np.arange(3) + at, kind="points", words=words))
        legend.append(Entry(group, Style(f"c{at}")))
    table = Table(["series", "first", "share"], [["alpha", 1.0, Cell(0.2, share=0.2)], [name, None, 2.5]], caption=name)
    chart = Chart(
        "both", name, name, [Panel(f"Panel {name}", series)], legend, x_label=name, x_names=["one", name, "three"],
        alt=f"Alt {name}", table=table,
    )  # fmt: skip
    page.section(f"Values {name}", name).chart(chart)
    page.section("Notes").note(Note("warning", name, f"do {name}", [name])).heading(name).text(name)
    page.section("Rest").pairs({name: name}).code(name, name).table(table).panels(chart)
    return page


class Outline(HTMLParser):
    """Every tag with its attributes, and whether all of them are closed in order."""

    VOID = ("meta", "link", "input", "br", "img")

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def test_a_name_changes_no_markup():
    plain, hostile = Outline(example().html()), Outline(example(HOSTILE).html())
    assert not plain.open
    assert not hostile.open
    assert [(t, sorted(a)) for t, a in hostile.tags] == [(t, sorted(a)) for t, a in plain.tags]


def test_nothing_is_loaded_and_only_our_scripts_may_run():
    html = example(HOSTILE).html()
    outline = Outline(html)
    assert not [
        a for _, a in outline.tags for k, v in a.items() if k in ("src", "href") and not re.match(r"#|data:,$", v)
    ]
    assert not [a for _, a in outline.tags if any(k.startswith("on") for k in a)]
    rules = outline.named("meta")[1]["content"]
    assert rules.startswith("default-src 'none'")
    scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert len(scripts) == 3  # what draws, the drawing, the tables
    for script in scripts:
        assert f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" in rules
    assert "unsafe-inline" not in rules.split("style-src")[0]


def test_a_page_without_figures_carries_no_script():
    page = Page("Bare")
    page.section("Only words").text("a < b")
    assert "<p>a &lt; b</p>" in page.html()
    assert "script-src 'none'" in page.html()
    assert len(page.html()) < 20_000


def test_the_drawing_library_comes_with_its_licence():
    folder = resources.files("ropeval.report.html") / "plotly"
    script = (folder / "plotly-basic.min.js").read_text(encoding="utf-8")
    assert "Licensed under the MIT license" in script[:300]
    assert "</script" not in script.lower()
    assert (folder / "LICENSE").read_text().startswith("MIT License")


def test_both_dresses_of_the_palette_are_in_the_page():
    assert f"--c1: {LIGHT['c1']};" in Page("Bare").html()
    assert f"--c1: {DARK['c1']};" in Page("Bare").html()


def test_a_page_of_tables_carries_only_their_script():
    page = Page("Bare")
    page.section("Numbers").table(Table(["a"], [[1.0]]))
    assert "plotly" not in page.html()
    assert len(re.findall(r"<script>", page.html())) == 1


# ---- in a real browser


@pytest.mark.process
def test_it_draws_asks_for_nothing_and_complains_of_nothing(open_page):
    opened = open_page(example().html())
    assert opened.page.locator(".plot .main-svg").count() >= 2
    assert opened.page.locator("#plot-0 .scatterlayer .trace").count() == 2
    picture = opened.page.evaluate("Plotly.toImage(document.getElementById('plot-0'), {width: 300, height: 200})")
    assert picture.startswith("data:image/png;base64,")
    assert [url for url in opened.requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert len([url for url in opened.requests if url.startswith("file:")]) == 1
    assert opened.complaints == []


def test_the_rules_stop_a_request(open_page):
    """The test above cannot see what the rules already forbid: here they are seen to forbid it."""
    opened = open_page(example().html())
    blocked = opened.page.evaluate("fetch('https://example.org/').then(() => 'sent', () => 'blocked')")
    assert blocked == "blocked"
    assert any("Content Security Policy" in words for words in opened.complaints)


def test_hovering_shows_the_value(open_page):
    page = open_page(example().html()).page
    page.locator("#plot-0 .points path").nth(1).hover(force=True)
    page.wait_for_selector("#plot-0 .hovertext")
    assert page.locator("#plot-0 .hovertext").text_content() == "alpha 1"
    assert page.locator("figure").first.locator(".reading").inner_text() == "alpha 1 (1, 2)"


def test_a_series_goes_and_comes_back_in_every_figure(open_page):
    opened = open_page(example().html())
    count = "[0, 1].map((i) => document.querySelectorAll(`#plot-${i} .scatterlayer .trace`).length)"
    for expected in ([1, 1], [2, 2]):
        opened.page.locator('input[data-group="beta"]').first.click()
        opened.until(count, expected)


def test_the_keyboard_reaches_everything(open_page):
    opened = open_page(example().html())
    page, reached = opened.page, []
    for _ in range(30):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.dataset.group ?? document.activeElement.id ?? ''"))
        if reached[-1] == "plot-0":
            break
    assert {"alpha", "beta", "plot-0"} <= set(reached)
    for expected in ("alpha 0", "alpha 1", "alpha 2", "beta 0"):
        page.keyboard.press("ArrowRight")
        opened.until("document.querySelector('.reading').textContent.split(' (')[0]", expected)
    for _ in range(4):  # past the buttons of the picture
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.tagName") == "SUMMARY":
            break
    page.keyboard.press("Enter")
    assert page.locator("details").first.evaluate("box => box.open")


def test_dark_dress_for_page_and_pictures(open_page):
    opened = open_page(example().html(), color_scheme="dark")
    look = """[getComputedStyle(document.body).backgroundColor,
        getComputedStyle(document.querySelector('#plot-0 .xtick text')).fill,
        getComputedStyle(document.querySelector('#plot-0 .points path')).fill]"""
    opened.until(look, ["rgb(20, 23, 28)", "rgb(165, 173, 184)", "rgb(88, 178, 242)"])
    opened.page.emulate_media(color_scheme="light")
    opened.until(look, ["rgb(255, 255, 255)", "rgb(87, 96, 106)", "rgb(0, 114, 178)"])
    assert opened.complaints == []


def test_on_a_phone_the_words_above_a_wide_table_are_not_as_wide_as_it(open_page):
    page = example()
    page.section("Wide").table(Table([f"column {i}" for i in range(30)], [[1.0] * 30], caption="many words " * 30))
    shown = open_page(page.html(), viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True).page
    table = shown.locator("table").last
    assert table.bounding_box()["width"] > 1000
    assert table.locator("caption").bounding_box()["width"] <= 360


@pytest.mark.parametrize("name", ["beta", HOSTILE, "long" * 60], ids=["plain", "hostile", "long"])
def test_a_phone_shows_it_without_scrolling_sideways(open_page, name):
    page = open_page(example(name).html(), viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True).page
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("#plot-0 .main-svg").first.bounding_box()["width"] <= 360


def test_hostile_names_are_shown_as_text(open_page):
    opened = open_page(example(HOSTILE).html())
    page = opened.page
    assert "owned" not in page.title().replace("='owned'", "")
    assert page.locator("img, iframe, object").count() == 0
    assert "<img src=x onerror" in page.locator("h1").inner_text()
    assert "<img src=x onerror" in page.locator("#plot-0 .xtitle").text_content()
    assert "</script><img src" in page.locator("#plot-0 .xtick").nth(1).text_content()
    page.locator("#plot-0 .points path").nth(4).hover(force=True)
    page.wait_for_selector("#plot-0 .hovertext")
    assert "<img src=x onerror" in page.locator("#plot-0 .hovertext").text_content()
    assert "${x} %{y}" in page.locator("#plot-0 .hovertext").text_content()
    assert "<img src=x onerror" in page.locator(".reading").first.inner_text()
    page.locator("input[data-group]").nth(1).click()
    opened.until("document.querySelectorAll('#plot-0 .scatterlayer .trace').length", 1)
    assert opened.complaints == []


def on_paper(opened):
    opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    opened.page.emulate_media(media="print")


def test_paper_keeps_the_legend_of_what_is_shown(open_page):
    page = Page("Folded")
    page.section("Values").chart(next(b for b in example().sections[0].blocks if isinstance(b, Chart)))
    page.section("Notes").note(Note("warning", "often", about=[str(i) for i in range(9)]))
    opened = open_page(page.html())
    opened.page.locator('input[data-group="beta"]').first.click()
    on_paper(opened)
    legend = opened.page.locator("figure").first.locator(".legend label")
    assert [legend.nth(i).is_visible() for i in range(2)] == [True, False]
    assert not opened.page.locator(".legend input").first.is_visible()
    assert opened.page.locator(".note li").last.is_visible()  # nobody unfolds paper
    assert not opened.page.locator(".tools").first.is_visible()
    assert opened.page.locator("#plot-0 .main-svg").first.bounding_box()["width"] <= 690
    assert opened.page.evaluate("getComputedStyle(document.querySelector('h2')).breakAfter") == "avoid"


TALL = Table(
    ["task", "method", "error"],
    [["one", "b", 0.123456789], ["", "=1+1", None], ["two", 'say "a"', -12345.678], ["", HOSTILE, 7.0]],
    caption="Errors", slug="errors",
)  # fmt: skip


@pytest.fixture
def tall(open_page):
    page = Page("Tables")
    page.section("Rest").chart(next(b for b in example().sections[0].blocks if isinstance(b, Chart))).table(TALL)
    return open_page(page.html())


def test_a_table_sorts_and_rows_keep_their_names(tall):
    heading = tall.page.locator("table[data-name=errors] thead button").nth(2)
    column = "[...document.querySelectorAll('table[data-name=errors] tbody tr')].map((r) => r.cells[%d].innerText)"
    heading.click()
    assert tall.page.evaluate(column % 2) == ["-12,346", "0.1235", "7", "–"]
    assert tall.page.evaluate(column % 0) == ["two", "one", "two", "one"]
    heading.click()
    assert tall.page.evaluate(column % 2) == ["7", "0.1235", "-12,346", "–"]  # what is not known stays last
    assert tall.page.locator("[aria-sort=descending]").count() == 1
    assert tall.complaints == []


def test_a_table_is_kept_as_csv_with_all_digits_and_without_formulas(tall):
    with tall.page.expect_download() as started:
        tall.page.locator("table[data-name=errors]").locator("xpath=../following-sibling::div[1]//button[2]").click()
    assert started.value.suggested_filename == "errors.csv"
    with open(started.value.path(), encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[:4] == [
        ["task", "method", "error"], ["one", "b", "0.123456789"], ["one", "'=1+1", ""], ["two", 'say "a"', "-12345.678"]
    ]  # fmt: skip
    assert "<img src=x onerror" in rows[4][1]
    assert tall.complaints == []


def test_a_table_is_copied(tall):
    tall.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tall.page.locator(".tools button", has_text="Copy").last.click()
    tall.until("navigator.clipboard.readText().then((t) => t.split('\\n')[1])", "one\tb\t0.123456789")
