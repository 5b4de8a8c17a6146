"""Words stay words in HTML, in JSON inside a script, in Plotly's texts, in Markdown and in LaTeX."""

import html
import json
from html.parser import HTMLParser

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ropeval.report.escape import data_block, escape, latex, markdown, plot_data
from ropeval.words import clean

NASTY = st.one_of(
    st.text(),
    st.lists(
        st.sampled_from(
            [
                "</script>",
                "<script>",
                "<!--",
                "-->",
                "]]>",
                "&lt;",
                "'",
                '"',
                "\u2028",
                "\u202e",
                "javascript:",
                "<",
                "%{x}",
            ]
        )
    ).map("".join),
)


@given(NASTY)
def test_html_gives_back_the_words_and_no_tag(words):
    class Reader(HTMLParser):
        tags, text = 0, ""

        def handle_starttag(self, tag, attributes):
            self.tags += 1
            self.title = dict(attributes)["title"]

        def handle_data(self, data):
            self.text += data

    reader = Reader(convert_charrefs=True)
    reader.feed(f'<p title="{escape(words)}">{escape(words)}')
    reader.close()
    assert reader.tags == 1
    assert reader.text == reader.title == clean(words)


@given(NASTY)
def test_json_in_a_script_cannot_leave_it(words):
    block = data_block({"name": clean(words)})
    assert not set("<>&\u2028\u2029") & set(block)
    assert json.loads(block) == {"name": clean(words)}


@given(NASTY)
def test_plotlys_words_hold_no_tags(words):
    figure = plot_data({"data": [{"name": words, "text": [words], "x": [words], "hovertemplate": "%{x}<br>"}]})
    trace = figure["data"][0]
    assert "<" not in trace["name"]
    assert html.unescape(trace["name"]) == html.unescape(trace["text"][0]) == html.unescape(trace["x"][0])
    assert html.unescape(trace["name"]) == clean(words) or "&" in words
    assert trace["hovertemplate"] == "%{x}<br>"


def test_nested_titles_are_words_too():
    assert plot_data({"xaxis": {"title": {"text": "<b>"}, "ticktext": ["<i>"]}}) == {
        "xaxis": {"title": {"text": "&lt;b&gt;"}, "ticktext": ["&lt;i&gt;"]}
    }


def test_numbers_are_short_finite_and_plain():
    data = plot_data({"x": np.array([1 / 3, np.nan, np.inf]), "y": (np.float32(0.1), np.int64(3), True, None)})
    assert data == {"x": [0.3333333, None, None], "y": [0.1, 3, True, None]}
    assert json.loads(data_block(data)) == data


def test_what_cannot_be_written_or_seen_is_replaced():
    assert clean("a\x00b\ud800c\u202ed\u2066e") == "a\ufffdb\ufffdc\ufffdd\ufffde"
    assert clean("naïve γ\t日本 🙂\n") == "naïve γ\t日本 🙂\n"
    clean("\ud800").encode()


def test_latex_spells_out_what_tex_would_read():
    assert latex("50% of a_b & $5 \\x") == r"50\% of a\_b \& \$5 \textbackslash{}x"
    assert latex("β ≤ ∞†") == r"$\beta$ $\leq$ $\infty$$^\dagger$"
    assert latex("é") == "(U+00E9)"


def test_markdown_has_no_markup_of_a_name():
    assert markdown("a|b_c\n# <i>\u202e") == r"a\|b\_c \# \<i\>"
