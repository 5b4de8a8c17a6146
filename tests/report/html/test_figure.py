"""Around a picture: the switches of its legend, its description, the numbers behind it."""

from ropeval.report.chart import Entry
from ropeval.report.html.figure import figure_html, legend_html
from ropeval.report.palette import Style
from ropeval.report.table import Table
from tests.report.test_chart import chart


def test_a_switch_has_its_group_its_colour_and_its_state():
    html = legend_html([Entry("policy a", Style("c3", "solid", "square"), label="<a>", shown=False)])
    assert '<input type="checkbox" data-group="policy a">' in html
    assert 'style="color:var(--c3)" aria-hidden="true">■</span>&lt;a&gt;</label>' in html
    assert " checked " in legend_html([Entry("m", Style("c1"))])
    assert legend_html([]) == ""


def test_who_does_not_see_it_is_told():
    assert 'aria-label="T: 2 panels, error; fqe. C."' in figure_html(chart(), 0, 300)
    assert 'aria-label="in words"' in figure_html(chart(alt="in words"), 0, 300)


def test_the_numbers_behind_it():
    assert "<details>" not in figure_html(chart(), 0, 300)
    assert "<summary>The numbers behind it</summary>" in figure_html(chart(table=Table(["a"], [["b"]])), 0, 300)
