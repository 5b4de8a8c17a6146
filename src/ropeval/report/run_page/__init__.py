"""`report.html`: what a run of `ropeval evaluate` found, as one page; `curves.png`, its picture of training."""

from ropeval.report.run_page.outcome import Outcome, read_outcome
from ropeval.report.run_page.page import draw_curves, run_page, write_page

__all__ = ["Outcome", "draw_curves", "read_outcome", "run_page", "write_page"]
