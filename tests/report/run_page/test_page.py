"""`report.html` of made-up results: every section is there, and it works in a real browser."""

import json
import re
from pathlib import Path

import pytest

from ropeval.errors import UserError
from ropeval.report.run_page import Outcome, read_outcome, run_page, write_page
from tests.report.html.test_page import HOSTILE, Outline
from tests.report.outcomes import estimate, folder

SECTIONS = [
    "Values", "What speaks against it", "Ranking", "Coverage", "Training", "Features", "Configuration", "How to cite",
]  # fmt: skip
TRUTH = {"left": 9.0, "right": 3.0}


@pytest.fixture
def page(tmp_path) -> str:
    return write_page(folder(tmp_path / "run"), TRUTH).read_text(encoding="utf-8")


def test_every_section_and_every_description(page):
    assert re.findall(r"<h2 [^>]*>(.*?)</h2>", page) == SECTIONS
    outline = Outline(page)
    plots = [a for a in outline.named("div") if a.get("class") == "plot"]
    assert len(plots) == 1 + 1 + 2 + 2 + 1 + 1  # values, distances, maps, training, loss, features
    assert all(len(a["aria-label"]) > 20 for a in plots)
    assert "left: mean-reward 5; fqe 10 (95% interval 9 … 12)" in plots[0]["aria-label"]
    ids = [a["id"] for _, a in outline.tags if "id" in a]
    assert len(ids) == len(set(ids))


def test_a_value_is_said_as_it_is_discounted():
    said = [run_page(Outcome([estimate("p", "fqe", 1.0)], {"gamma": gamma})).html() for gamma in (0.9, 1.0, 0.0)]
    told = ("by the factor γ.", "all rewards counting alike.", "what one of its actions earns on average.")
    assert all(words in html for html, words in zip(said, told, strict=True))


def test_policies_stand_with_the_best_first_in_pictures_of_the_log_too(tmp_path):
    run = folder(tmp_path / "run")
    swapped = (run / "result.json").read_text(encoding="utf-8").replace('"left"', '"@"').replace('"right"', '"left"')
    (run / "result.json").write_text(swapped.replace('"@"', '"right"'), encoding="utf-8")
    maps = re.findall(r"<p class=\"title\">(\w+): \d+% outside", write_page(run).read_text(encoding="utf-8"))
    assert maps == ["right", "left"]


def test_one_file_beside_the_results_and_nothing_else(tmp_path, page):
    names = {p.name for p in (tmp_path / "run").iterdir()}
    assert names == {"curves.parquet", "result.json", "report.html", "run.json", "trust.json"}
    assert len(page) < 1_500_000


def test_fields_of_the_wrong_kind_are_no_traceback(tmp_path):
    path = folder(tmp_path) / "result.json"
    rows = json.loads(path.read_text())
    path.write_text(json.dumps([rows[0] | {"value": "much"}]))
    with pytest.raises(UserError, match="not what ropeval"):
        write_page(tmp_path)
    assert not (tmp_path / "report.html").exists()
    path.write_text(
        json.dumps([rows[0] | {"diagnosis": [{"code": "new", "severity": "odd", "message": "m", "advice": ""}]}])
    )
    assert "<strong>odd</strong>" in write_page(tmp_path).read_text()


def test_settings_that_differ_between_policies_are_told_apart():
    left, right = estimate("left", "fqe", 1.0), estimate("right", "fqe", 2.0)
    same = run_page(Outcome([left, right])).html()
    assert '<th scope="row">fqe</th><td>fqe</td><td>steps = 100</td></tr>' in same
    right.config["fqe"] = {"steps": 200}
    tuned = run_page(Outcome([left, right])).html()
    assert "<td>steps = 100</td><td>left</td>" in tuned
    assert "<td>steps = 200</td><td>right</td>" in tuned


def test_many_policies_stay_a_page(tmp_path):
    outcome = read_outcome(folder(tmp_path, tuple(f"policy {i}" for i in range(30))))
    html = run_page(outcome).html()
    assert "The first 12 of 30 policies" in html
    assert "fqe: from -12 for policy 29 to 10 for policy 0. " in html
    assert html.count('class="plot"') == 1 + 1 + 12 + 12 + 1 + 1


@pytest.mark.process
def test_nothing_but_divergence(open_page):
    outcome = Outcome([estimate("left", "fqe", None), estimate("left", "rope+fqe", None)])
    html = run_page(outcome).html()
    assert "There is no answer" in html
    assert "Without an estimate, and therefore not drawn: left by fqe, left by rope+fqe." in html
    assert open_page(html).complaints == []


# ---- in a real browser


def test_it_draws_and_asks_for_nothing(open_page, page):
    opened = open_page(page)
    plots = opened.page.locator(".plot").count()
    assert opened.page.locator(".plot .main-svg .xtick, .plot .main-svg .ytick").count() > plots
    assert (
        opened.page.evaluate(
            "document.querySelectorAll('.plot').length - document.querySelectorAll('.js-plotly-plot').length"
        )
        == 0
    )
    assert [url for url in opened.requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert opened.complaints == []


def test_hovering_shows_the_interval(open_page, page):
    browser = open_page(page).page
    browser.locator("#plot-0 .points path.point").nth(1).hover(force=True)
    browser.wait_for_selector("#plot-0 .hovertext")
    assert "fqe: 10 (95% interval 9 … 12)" in browser.locator("#plot-0 .hovertext").text_content()


def test_switching_a_method_off_takes_it_out_of_every_picture(open_page, page):
    opened = open_page(page)
    count = "[0, 4].map((i) => document.querySelectorAll(`#plot-${i} .scatterlayer .trace`).length)"
    before = opened.page.evaluate(count)
    opened.page.locator('input[data-group="fqe"]').first.click()
    opened.until(count, [before[0] - 2, before[1] - 2])  # the intervals of two policies; the mean and the band
    boxes = 'input[data-group="fqe"]'
    assert opened.page.evaluate(f"[...document.querySelectorAll('{boxes}')].every((box) => !box.checked)")
    opened.page.locator(boxes).first.click()
    opened.until(count, before)


@pytest.mark.parametrize("look", ["light", "dark"])
def test_a_phone_in_both_dresses(open_page, page, look):
    opened = open_page(page, color_scheme=look, viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True)
    assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    paper = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 28)"}[look]
    assert opened.complaints == []


def test_hostile_names_of_policies_and_logs(open_page, tmp_path: Path):
    html = write_page(folder(tmp_path / "run", (HOSTILE, "<b>bold</b>")), {HOSTILE: 1.0}).read_text(encoding="utf-8")
    opened = open_page(html)
    assert opened.page.locator("img, b, iframe").count() == 0
    assert "<img src=x onerror" in opened.page.locator(".lead").inner_text()
    assert "</script><img" in opened.page.locator("#plot-0 .annotation").first.text_content()
    opened.page.locator("#plot-0 .points path.point").nth(1).hover(force=True)
    opened.page.wait_for_selector("#plot-0 .hovertext")
    assert "</script><img" in opened.page.locator("#plot-0 .hovertext").text_content()
    assert opened.complaints == []


def test_the_keyboard_reads_the_values(open_page, page):
    opened = open_page(page)
    opened.page.locator("#plot-0").focus()
    for _ in range(2):
        opened.page.keyboard.press("ArrowRight")
    opened.until(
        "document.querySelector('.reading').textContent.split(' (10')[0]", "left, fqe: 10 (95% interval 9 … 12)"
    )
