"""Links between the documents lead somewhere: to a file that is there, and to a heading that it has."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/**/*.md")])
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_is_linked_exists(page):
    links = re.findall(r"\]\(([^)\s]+)[^)]*\)", FENCED.sub("", page.read_text(encoding="utf-8")))
    assert [link for link in links if "://" not in link and not _leads_somewhere(page, link)] == []


def test_the_contents_list_every_page():
    """docs/README.md, or the page of its shelf that it leads to, links to every page; none lies about unread."""
    contents = ROOT / "docs" / "README.md"
    linked = {contents.resolve()}
    for page in (contents, ROOT / "docs" / "methods" / "README.md", ROOT / "docs" / "results" / "reproduction.md"):
        links = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
        linked |= {(page.parent / link).resolve() for link in links}
    assert [str(page) for page in ROOT.glob("docs/**/*.md") if page.resolve() not in linked] == []


def test_every_page_says_what_to_do_next():
    """But the contents, and the tables behind results/reproduction.md: a program makes them, and that page leads on."""
    docs = ROOT / "docs"
    pages = set(docs.rglob("*.md")) - set((docs / "results" / "reproduction").glob("*.md")) - {docs / "README.md"}
    assert len(pages) > 35
    leads_on = re.compile(r"^## What to do next\n\n[^#]*\]\([^)]+\)", re.MULTILINE)
    silent = [page for page in pages if not leads_on.search(page.read_text(encoding="utf-8"))]
    assert [str(page.relative_to(docs)) for page in silent] == []


def test_pages_that_the_code_names_exist():
    """In help texts, comments and docstrings."""
    code = [path for room in ("src", "scripts", "benchmarks", "tests") for path in (ROOT / room).rglob("*.py")]
    named = {
        (path, page) for path in code for page in re.findall(r"docs/[\w/-]+\.md", path.read_text(encoding="utf-8"))
    }
    assert len(named) >= 10
    assert [f"{path.relative_to(ROOT)}: {page}" for path, page in named if not (ROOT / page).is_file()] == []


def _leads_somewhere(page: Path, link: str) -> bool:
    path, _, heading = link.partition("#")
    target = page.parent / path if path else page
    return target.exists() and (not heading or heading in _anchors(target))


@cache
def _anchors(page: Path) -> set[str]:
    """The headings of a page as links write them: small letters, no signs, hyphens for spaces."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
