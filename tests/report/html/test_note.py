"""Notes: a sign and a word for how bad it is, and the cases folded away where they are many."""

from ropeval.report.html import Note


def test_a_note_says_how_bad_it_is_in_sign_and_word():
    html = Note("severe", "a < b", "do it", ["one"]).html()
    assert '<div class="note severe"><p><span class="sign" aria-hidden="true">✖</span><strong>severe</strong>' in html
    assert "a &lt; b" in html
    assert '<p class="action">do it</p>' in html
    assert "<details>" not in html


def test_many_cases_are_folded_away_and_an_unknown_severity_is_a_note():
    html = Note("odd", "s", about=[f"case {i}" for i in range(5)]).html()
    assert '<div class="note note">' in html
    assert "<strong>odd</strong>" in html
    assert "<summary>The 5 cases</summary>" in html
