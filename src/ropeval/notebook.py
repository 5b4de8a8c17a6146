"""What is shown as a table, in a notebook or printed. How it looks is known to `report`, which is asked then."""

from typing import Any


class ShownInNotebook:
    def _repr_html_(self) -> str:
        from ropeval.report.notebook import to_notebook

        return to_notebook(self)


class ShownAsTables(ShownInNotebook):
    """Estimates and rankings, printed as `ropeval evaluate` prints them."""

    estimates: list[Any]
    rankings: list[Any]
    truth: Any

    def __repr__(self) -> str:
        from ropeval.report.terminal import comparison_text

        return comparison_text(self.estimates, self.rankings, self.truth)
