"""The page of a study, in a browser: many figures of many panels, which are drawn as they are scrolled to."""

import pytest

DRAWN = "document.querySelectorAll('.plot .main-svg').length > 0"


@pytest.fixture
def page(small):
    return (small / "report.html").read_text(encoding="utf-8")


@pytest.mark.process
def test_figures_are_drawn_when_they_come_near_and_nothing_is_asked_for(open_page, page):
    opened = open_page(page)
    opened.until(DRAWN, True)
    count = opened.page.evaluate("document.querySelectorAll('.plot').length")
    last = f"document.getElementById('plot-{count - 1}')"
    assert count == 18
    assert opened.page.evaluate(f"{last}.querySelector('.main-svg') === null")
    opened.page.evaluate(f"{last}.scrollIntoView()")
    opened.until(f"{last}.querySelectorAll('.main-svg').length > 0", True)
    assert opened.page.evaluate(f"{last}._fullLayout._plots.x2y2 !== undefined")  # both tasks have a panel
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith(("file:", "data:", "blob:"))] == []


def test_hiding_a_method_reaches_figures_that_are_drawn_later(open_page, page):
    opened = open_page(page)
    opened.page.evaluate("document.querySelector('input[data-group=\"fqe\"]').click()")
    number = opened.page.evaluate("[...document.querySelectorAll('.plot')].length") - 4
    plot = f"document.getElementById('plot-{number}')"
    opened.page.evaluate(f"{plot}.scrollIntoView()")
    opened.until(f"{plot}.querySelectorAll('.main-svg').length > 0", True)
    shown = f"{plot}.data.filter((t) => t.visible !== false).map((t) => t.name)"
    assert "fqe" not in opened.page.evaluate(shown)
    assert "rope+fqe" in opened.page.evaluate(shown)


def test_the_baselines_and_their_lines_are_in_the_figures(open_page, page):
    opened = open_page(page)
    plot = "document.getElementById('plot-2')"  # the error over training
    opened.page.evaluate(f"{plot}.scrollIntoView()")
    opened.until(f"{plot}.querySelectorAll('.main-svg').length > 0", True)
    lines = opened.page.evaluate(f"{plot}.data.filter((t) => t.name === 'mean-reward').map((t) => t.y[0])")
    assert lines == pytest.approx([0.1, 0.1])


def test_a_screen_of_1280_pixels_is_used_and_nothing_is_cut_off(open_page, page):
    opened = open_page(page, viewport={"width": 1280, "height": 900})
    assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert opened.page.locator("main").bounding_box()["width"] > 1200
    first = "document.querySelector('main .scroll')"
    assert opened.page.evaluate(f"{first}.scrollWidth <= {first}.clientWidth")
