"""What is shown as a table where a notebook asks for HTML. How it looks is known to `report`, which is asked then."""


class ShownInNotebook:
    def _repr_html_(self) -> str:
        from ropeval.report.notebook import to_notebook

        return to_notebook(self)
