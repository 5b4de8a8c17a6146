"""`report.html`: what a run of `ropeval evaluate` found, as one page."""

from ropeval.report.run_page.outcome import Outcome, read_outcome
from ropeval.report.run_page.page import run_page, write_page

__all__ = ["Outcome", "read_outcome", "run_page", "write_page"]
