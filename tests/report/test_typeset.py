"""One table for every reader. The words are made up, with signs that each of the languages would read."""

from io import StringIO

from rich.console import Console

from ropeval.report.table import Cell, Table
from ropeval.report.typeset import to_html, to_latex, to_markdown, to_terminal

TABLE = Table(
    ["name", "value", "share"], [["a_1", 12345.678, Cell(0.25, share=0.25)], ["b|<i>", None, Cell(2.5, bold=True)]],
    "A & B", "Said [below].", "ab", 1, "From a log.",
)  # fmt: skip


def printed(table: Table, width: int = 80) -> list[str]:
    console = Console(width=width, record=True, file=StringIO())
    console.print(to_terminal(table))
    return [line.rstrip() for line in console.export_text().splitlines()]


def test_markdown():
    assert to_markdown(TABLE) == (
        "## A \\& B\n\n| name | value | share |\n| :-- | --: | --: |\n| a\\_1 | 12,346 | 0.25 |\n"
        "| b\\|\\<i\\> | – | **2.5** |\n\nSaid \\[below\\]. From a log.\n"
    )


def test_latex():
    lines = to_latex(TABLE).splitlines()
    assert lines[1] == r"\begin{longtable}{lrr}"
    assert lines[2] == r"\caption{\textbf{A \& B.} Said {[}below{]}. From a log.}\\ \hline"
    assert r"b$|$$<$i$>$ & -- & \textbf{2.5} \\" in lines


def test_html_sets_numbers_to_the_right_and_absence_as_a_dash():
    html = to_html(TABLE)
    assert '<td class="number" data-value="12345.678">12,346</td>' in html
    assert '<td class="number"><span aria-label="none">–</span></td>' in html
    assert '<th scope="row">b|&lt;i&gt;</th>' in html
    assert '<td class="shaded" style="--share:0.250" data-value="0.25">0.25</td>' in html
    assert '<td class="number" data-value="2.5"><strong>2.5</strong></td>' in html
    assert "<caption>A &amp; B. Said [below]. From a log.</caption>" in html
    assert '<table data-name="ab" class="whole">' in to_html(TABLE, whole=True)
    assert '<th scope="row"' not in to_html(TABLE, row_headers=False)


def test_the_terminal_reads_no_markup_and_sets_numbers_to_the_right():
    table = Table(["[bold]n", "value"], [[Cell("[red]a", below="kind"), 1.5], ["b", 10.25]], left=1, rules=[1])
    assert printed(table) == ["[bold]n  value", 15 * "─", "[red]a     1.5", "kind", "", "b        10.25"]


def test_in_a_narrow_terminal_names_break_and_numbers_do_not():
    table = Table(["policy", "value", "error"], [["x" * 30, "-1234.5 … 1234.5", 2.25]], left=1)
    lines = printed(table, width=40)
    assert all(len(line) <= 40 for line in lines)
    assert any("-1234.5 … 1234.5" in line for line in lines)
    assert "".join(line.split()[0] for line in lines[2:]).count("x") == 30


def test_a_column_of_sentences_is_wide_enough_to_read_on_a_phone():
    html = to_html(
        Table(["policy", "because"], [["a", "resampled logs differ by half of what returns differ by"], ["b", "ok"]])
    )
    assert html.count('<td class="sentence">resampled') == html.count("sentence") == 1
