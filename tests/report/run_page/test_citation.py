"""What a reader should cite."""

from ropeval.report.run_page import Outcome
from ropeval.report.run_page.citation import citation
from tests.report.outcomes import estimate, estimates


def test_the_paper_is_cited_where_its_method_was_used():
    assert "Pavse" in citation(Outcome(estimates()))
    assert "Pavse" not in citation(Outcome([estimate("p", "fqe", 1.0)]))
