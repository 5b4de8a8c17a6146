"""The report of a study: everything the paper shows, from the rows alone."""

from ropeval.bench.results.report.write import FORMATS, write_report

__all__ = ["FORMATS", "write_report"]
