"""The pages run, in order: Python blocks, files that a page has its reader write, and its `sh` commands.

A page is one session in an empty folder. Everything happens in this process, so that pages share compiled programs.
"""

import sys
from pathlib import Path

import pytest
from scripts.gallery_pictures import BLOCK, run_page
from typer.testing import CliRunner

from ropeval.cli.main import app
from ropeval.encoders import ENCODERS
from ropeval.estimators import ESTIMATORS

DOCS = Path(__file__).resolve().parents[2] / "docs"
RUN = {"python", "sh"}
PAGES = sorted(
    page for page in DOCS.rglob("*.md") if RUN & {block[1] for block in BLOCK.finditer(page.read_text("utf-8"))}
)


@pytest.fixture(autouse=True)
def _left_as_found(tmp_path, monkeypatch):
    """A page works in a folder of its own; what it adds to registries and the search path goes with it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])  # as in a session that starts there
    registries = [(registry, dict(registry)) for registry in (ENCODERS, ESTIMATORS)]
    yield
    for registry, before in registries:
        registry.clear()
        registry.update(before)


def test_these_pages_run():
    """A page that loses its blocks would fall out of the list below in silence."""
    assert [str(page.relative_to(DOCS)) for page in PAGES] == [
        "gallery/medicine.md",
        "gallery/operations.md",
        "gallery/recommendation.md",
        "gallery/robotics.md",
        "guide/extending.md",
        "guide/studies.md",
        "guide/theory.md",
        "start/quickstart.md",
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
@pytest.mark.process
@pytest.mark.training
def test_the_page_runs(page, monkeypatch):
    run_page(page, lambda words: _command(words, monkeypatch))


def _command(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`export NAME=VALUE`, or a verb of ropeval."""
    if words[0] == "export":
        for name, _, value in (word.partition("=") for word in words[1:]):
            monkeypatch.setenv(name, value)
        return
    assert words[0] == "ropeval", f"what is {words[0]!r}? These tests run ropeval and nothing else"
    done = CliRunner().invoke(app, words[1:], catch_exceptions=False)
    assert done.exit_code == 0, done.output
