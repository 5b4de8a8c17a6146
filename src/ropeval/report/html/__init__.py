"""Self-contained pages: one HTML file that carries its style, its script and its pictures' numbers."""

from ropeval.report.html.blocks import Figure, Note, Series, Shaded, Table
from ropeval.report.html.page import Page, Section

__all__ = ["Figure", "Note", "Page", "Section", "Series", "Shaded", "Table"]
