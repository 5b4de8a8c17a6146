"""Settings: from text to a checked configuration."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import PositiveInt

from ropeval.errors import UserError
from ropeval.settings import PartConfig, make_config, parse_assignments, read_toml

WORD = st.text(string.ascii_lowercase + "_", min_size=1, max_size=8)


class Config(PartConfig):
    steps: PositiveInt = 10
    rate: float = 0.1


def test_later_layers_win():
    assert make_config(Config, "part") == Config()
    assert make_config(Config, "part", {"steps": 5, "rate": 0.2}, {"steps": 7}) == Config(steps=7, rate=0.2)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"step": 5}, r"unknown setting 'part\.step'; did you mean part\.steps\? choose from: part\.steps, part\.rate"),
        ({"steps": 0}, r"setting part\.steps is 0: Input should be greater than 0"),
        ({"rate": "fast"}, r"setting part\.rate is 'fast'"),
    ],
)
def test_what_does_not_fit_is_named(fields, message):
    with pytest.raises(UserError, match=message):
        make_config(Config, "part", fields)


def test_a_part_trains_as_long_as_it_says():
    assert Config(steps=3).stages("fqe") == {"fqe": 3}
    assert PartConfig().stages("lspe") == {"lspe": 0}


NUMBERS = st.integers(-(2**63), 2**63 - 1)  # all that TOML has


@given(part=WORD, field=WORD, value=NUMBERS | st.booleans() | st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_and_truths_are_read_as_toml_reads_them(part, field, value):
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    assert parse_assignments([f"{part}.{field} = {text}"]) == {part: {field: value}}


def test_assignments_are_gathered_by_part_and_bare_words_are_words():
    given = ["fqe.steps=5", "rope.kind=cosine", "fqe.rate=1e-4", "fqe.sizes=[1, 2]", 'rope.name="a b"', "fqe.steps=6"]
    assert parse_assignments(given) == {
        "fqe": {"steps": 6, "rate": 1e-4, "sizes": [1, 2]},
        "rope": {"kind": "cosine", "name": "a b"},
    }


@pytest.mark.parametrize("text", ["", "fqe", "fqe.steps", "steps=5", ".steps=5", "fqe.=5", "=5"])
def test_what_is_no_assignment_is_shown_how(text):
    with pytest.raises(UserError, match=r"expected PART\.FIELD=VALUE"):
        parse_assignments([text])


def test_files(tmp_path):
    path = tmp_path / "settings.toml"
    with pytest.raises(UserError, match=r"settings\.toml: no such configuration file"):
        read_toml(path)
    for content in (b"a = ", b"\xff\xfe"):
        path.write_bytes(content)
        with pytest.raises(UserError, match="cannot be read as TOML"):
            read_toml(path)
    path.write_text("[fqe]\nsteps = 5\n")
    assert read_toml(path) == {"fqe": {"steps": 5}}
