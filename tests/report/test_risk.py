"""What --risk and --below ask for, in words."""

from io import StringIO

from rich.console import Console

from ropeval.report.notebook import to_notebook
from ropeval.report.risk import print_risk, risk_sentence, risk_table
from tests.report.outcomes import estimate, simulated

SENTENCE = "p, world: the worst 5% of its episodes earn at most -1.5, and -2.5 on average"


def test_one_sentence_for_whoever_asked():
    assert risk_sentence(simulated("p")) == f"{SENTENCE}; 3.1% of all earn less than -2"
    assert risk_sentence(simulated("p", below=None)) == SENTENCE
    assert risk_sentence(estimate("p", "fqe", 1.0)) == ""


def test_it_is_printed_and_shown_in_a_notebook():
    console = Console(width=60, record=True, file=StringIO())
    print_risk([simulated("p"), estimate("p", "fqe", 1.0)], console)
    assert SENTENCE in console.export_text()  # in one line, however narrow
    assert f"<p>{SENTENCE}" in to_notebook(simulated("p"))
    assert "support 0.93, 2% from the log" in to_notebook(simulated("p"))
    assert repr(simulated("p")).endswith("  support 0.93, 2% from the log")


def test_the_table_has_a_row_for_every_method_that_knows():
    table = risk_table([simulated("p"), estimate("p", "fqe", 1.0), simulated("q", 4.0)])
    assert table is not None
    assert table.columns[-2:] == ["mean of the worst 5%", "share below -2"]
    assert [row[:3] for row in table.rows] == [["p", "world", 3.0], ["q", "world", 4.0]]
    assert [row[-1] for row in table.rows] == [0.031, 0.031]
    assert risk_table([estimate("p", "fqe", 1.0)]) is None
