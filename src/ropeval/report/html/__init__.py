"""Self-contained pages: one HTML file that carries its style, its script and its pictures' numbers."""

from ropeval.report.html.note import Note
from ropeval.report.html.page import Page, Section

__all__ = ["Note", "Page", "Section"]
