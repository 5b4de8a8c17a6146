"""The Python blocks of the documents run, in order."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("page", ["quickstart.md", "adding-a-method.md", "extend.md", "tasks.md", "reporting.md"])
def test_the_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert blocks
    session: dict[str, object] = {"__name__": "__page__"}
    for block in blocks:
        exec(compile(block, page, "exec"), session)  # our own pages
