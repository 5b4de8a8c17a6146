"""The shelf docs/methods: every method that can be named has a page, and the list of them leads to it."""

import re
from pathlib import Path

from ropeval.evaluation.methods import available_methods

SHELF = Path(__file__).resolve().parents[2] / "docs" / "methods"


def test_every_part_has_a_page_that_the_list_leads_to():
    listed = re.findall(r"\]\(([\w-]+\.md)\)", (SHELF / "README.md").read_text(encoding="utf-8"))
    titles = re.findall(r"^# (.+)$", "\n".join((SHELF / page).read_text("utf-8") for page in listed), re.MULTILINE)
    explained = re.findall(r"`([\w-]+)`", "\n".join(titles))
    parts = {part for method in available_methods() for part in method.split("+")}
    assert sorted(explained) == sorted(parts)
