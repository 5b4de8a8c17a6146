"""The card of a run: one page of paper."""

import re
from dataclasses import replace

import pytest

from ropeval.errors import UserError
from ropeval.evaluation.result import Finding, Verdict, Versus
from ropeval.report.card import make_card, next_step, to_page, to_text, write_card
from ropeval.report.run_page.outcome import Outcome
from tests.report.outcomes import estimate, folder

SEVERE = Finding("collapse", "severe", "the representation collapsed", "compare with mean-reward")


def with_chance(better: float | None, *findings: Finding):
    versus = Versus(10.0, 1.0, -1.0, 3.0, 0.95, better)
    return replace(estimate("new", "fqe", 11.0, findings), versus_log=versus)


def test_it_says_what_was_asked_the_number_and_what_speaks_against_it(tmp_path):
    path = write_card(folder(tmp_path))
    words = path.read_text()
    assert path.name == "card.html"
    for part in ("What speaks against it, and what to do next", "left", "right", "γ = "):
        assert part in words
    assert "plotly" not in words
    text = write_card(tmp_path, tmp_path / "card.md").read_text()
    assert text.startswith("# May left replace what was done?")
    assert "| left |" in text


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (with_chance(0.97), "The log speaks for new"),
        (with_chance(0.5), "does not tell whether new is better"),
        (with_chance(0.01), "speaks against new: keep what is done"),
        (with_chance(None), "was not measured"),
        (with_chance(0.97, SEVERE), "Do not decide on this number"),
        (with_chance(0.97, Finding("disagreement", "warning", "x contradicts y", "")), "contradict each other"),
        (
            replace(with_chance(0.97), verdict=Verdict("guess", "it left the log")),
            "it is a guess, since it left the log",
        ),
        (None, "Decide nothing on this log"),
    ],
)
def test_what_to_do_next_follows_what_was_found(found, words):
    assert words in next_step(found)


def test_a_guess_contradicts_nobody():
    best = with_chance(0.97, Finding("disagreement", "warning", "x contradicts y", "", {"lspe": 1.0}))
    other = replace(estimate("new", "lspe", 1.0), verdict=Verdict("guess", "it left the log"))
    assert "The log speaks for new" in next_step(best, [best, other])
    relied = replace(other, verdict=Verdict("supported", "the log shows it"))
    assert "contradict each other" in next_step(best, [best, relied])


def test_advice_follows_and_many_findings_leave_room_for_the_rest():
    many = [Finding(f"f{i}", "warning", f"finding {i}", f"do {i}") for i in range(7)]
    card = make_card(Outcome([with_chance(0.97, *many)]))
    assert (len(card.against), card.left_out) == (2, 5)
    assert "do 0" in to_text(card)
    assert "and 5 more" in to_text(card)
    assert "5 more" in to_page(card).html()


def test_only_pages_and_text_are_written(tmp_path):
    with pytest.raises(UserError, match=r"a card is written as \.html or \.md"):
        write_card(folder(tmp_path), tmp_path / "card.pdf")


def test_it_prints_on_one_page(browser, tmp_path):
    many = [Finding(f"f{i}", "warning", f"finding {i} " + "and so on " * 20, "do something " * 4) for i in range(7)]
    rows = [replace(with_chance(0.97, *many), policy=f"policy {i}") for i in range(12)]
    path = tmp_path / "card.html"
    path.write_text(to_page(make_card(Outcome(rows))).html())
    page = browser.new_page()
    page.goto(path.as_uri())
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) == 1
    page.close()
