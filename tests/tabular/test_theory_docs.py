"""The pictures of docs/guide/theory.md are there, and what made them still draws. (tests/docs runs the page.)"""

import re
from pathlib import Path

import pytest

from ropeval.tabular import theory

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "theory.md"


def test_its_pictures_are_there_and_light():
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", PAGE.read_text(encoding="utf-8"))
    assert len(pictures) == len(theory.PICTURES) + 1
    for picture in pictures:
        path = PAGE.parent / picture
        assert path.is_file()
        assert path.with_suffix(".svg").is_file()
        assert path.stat().st_size < 200_000


@pytest.mark.parametrize("name", ["theory-contraction", "theory-diffuse", "theory-lipschitz", "theory-aggregation"])
def test_the_pictures_draw(name):
    assert theory.PICTURES[name]().axes


def test_the_rate_picture_draws_and_says_its_rate():
    axes = theory.convergence(seeds=3).axes[0]
    assert "rate" in axes.get_legend().get_texts()[0].get_text()
