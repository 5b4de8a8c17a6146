"""What a notebook is given to show."""

import re

import numpy as np
import pytest

import ropeval
from ropeval.evaluation.result import Finding
from ropeval.report.notebook import to_notebook
from tests.problems import Chain


@pytest.fixture(scope="module")
def log():
    return Chain(size=2).log(60, log_probs=True)


@pytest.fixture(scope="module")
def found(log):
    return ropeval.compare(log, {"<b>right</b>": lambda o: np.ones(len(o), int), "dice": "uniform"}, ["wis"], gamma=0.7)


def words(html):
    return " ".join(re.sub("<style>.*?</style>|<[^>]+>", " ", html).split())


def test_a_comparison_shows_table_warnings_and_ranking(found):
    html = found._repr_html_()
    assert "<b>right</b>" not in html  # names are words, never markup
    assert "<script" not in html
    assert html.count("<table") == 2
    for part in ("estimate", "95% interval", "effective sample size", "probability of being the best", "stochastic"):
        assert part in words(html)


def test_an_estimate_a_ranking_and_a_finding(found):
    (dice,) = [estimate for estimate in found if estimate.policy == "dice"]
    assert f"{dice.value:.4g}" in words(dice._repr_html_())
    assert "dice" in words(found.rankings[0]._repr_html_())
    finding = Finding("coverage", "severe", "far <away>", "log more")
    assert words(finding._repr_html_()).endswith("severe coverage far &lt;away&gt; log more")


def test_a_log_shows_its_columns_by_name(log):
    html = log.named(["left", "right & up"], ["back", "forth"])._repr_html_()
    for part in ("60 episodes", "left", "right &amp; up", "forth", "terminated"):
        assert part in words(html)


def test_what_has_no_table():
    with pytest.raises(TypeError, match="no table for a int"):
        to_notebook(3)


def test_only_public_names_are_listed():
    assert dir(ropeval) == sorted(ropeval.__all__)
    assert all(hasattr(ropeval, name) for name in dir(ropeval))
