"""An option is declared once: the command line, a file and Python agree on names, defaults, types and what is wrong."""

import inspect
from typing import Any

import numpy as np
import pytest
from pydantic import create_model

import ropeval
from ropeval.errors import UserError
from ropeval.evaluation.methods import make_methods
from ropeval.evaluation.options import EFFORT, Options, make_options, option, read_options, takes_options
from tests.problems import Chain


def test_the_command_line_wins_over_the_file_and_the_file_over_the_defaults(tmp_path):
    file = tmp_path / "my.toml"
    file.write_text('gamma = 0.5\nmembers = 3\nmethod = "fqe"\n[fqe]\nwidth = 16\ndepth = 3\n')
    found = read_options({"gamma": 0.9, "settings": ["fqe.depth=1", "rope.beta=10"]}, file)
    assert (found.gamma, found.members, found.seed, found.method) == (0.9, 3, 0, ("fqe",))
    assert found.settings == {"fqe": {"width": 16, "depth": 1}, "rope": {"beta": 10}}


BAD = {
    "gamma": (1.1, "gamma is 1.1; it must be a number, at least 0 and at most 1"),
    "horizon": (0, "horizon is 0; it must be a whole number, at least 1"),
    "by": (3, "by is 3; it must be a word"),
    "risk": (0, "risk is 0; it must be a number, more than 0 and less than 1"),
    "below": ("low", "below is 'low'; it must be a number"),
    "members": (2.5, "members is 2.5; it must be a whole number, at least 1 and at most 100000"),
    "minutes": (0.0, "minutes is 0.0; it must be a number, more than 0"),
    "steps": (True, "steps is True; it must be a whole number, at least 1 and less than 2147483648"),
    "draws": (0, "draws is 0; it must be a whole number, at least 1 and at most 100000"),
    "seed": (2**31, "seed is 2147483648; it must be a whole number, at least 0 and less than 2147483648"),
    "level": (float("nan"), "level is nan; it must be a number, more than 0 and less than 1"),
    "tune": (1, "tune is 1; it must be true or false"),
    "resample": ("no", "resample is 'no'; it must be true or false"),
    "method": ([], "method is (); it must be a word or a list of them"),
    "columns": ({"a": "b"}, "columns is {'a': 'b'}; it must be a word or a list of them"),
    "numbers": ("words", "unknown numbers 'words'; choose from: auto, names, quantity"),
    "interval": ("wide", "unknown interval 'wide'; choose from: bca, percentile"),
    "preset": ("wild", "unknown preset 'wild'; choose from: default, dope, paper"),
    "settings": ({"fqe": 3}, "settings.fqe is 3; it must be fields by part, for example {'fqe': {'steps': 1000}}"),
}


def test_every_option_is_checked():
    assert set(BAD) == set(Options.model_fields)


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_named_with_where_it_stands(name):
    value, message = BAD[name]
    with pytest.raises(UserError) as caught:
        make_options({name: value})
    assert str(caught.value) == message
    with pytest.raises(UserError, match=r"^my\.toml: ") as caught:
        make_options({name: value}, "my.toml: ")
    assert str(caught.value) == f"my.toml: {message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gama = 0.5", "unknown option 'gama'; did you mean gamma? choose from"),
        ("gamma = true", "gamma is True"),
        ("members = 2.0", "members is 2.0"),
        ("settings = 3", "write a table per part"),
        ("members = " + "9" * 5000, "cannot be read as TOML"),
        ("members = 0x" + "f" * 5000, "more than 64 bits"),
        ("a = " + "[" * 9999, "cannot be read as TOML"),
    ],
)
def test_a_files_mistakes_are_the_files(tmp_path, text, message):
    file = tmp_path / "my.toml"
    file.write_text(text)
    with pytest.raises(UserError, match=r"my\.toml: ") as caught:
        read_options({}, file)
    assert message in str(caught.value)


def test_numbers_of_numpy_and_none_are_welcome():
    found = make_options({"members": np.int64(3), "gamma": np.float32(0.5), "tune": np.bool_(True), "draws": None})
    assert (found.members, found.gamma, found.tune, found.draws) == (3, 0.5, True, None)


def test_python_takes_the_same_options():
    spelt = inspect.signature(ropeval.evaluate).parameters
    for name, field in Options.model_fields.items():
        if name not in ("method", "columns"):
            assert spelt[name].default == field.default
            assert field.description.split()[0] in ropeval.evaluate.__doc__
    log, policy = Chain().log(20), Chain().policy(0.6)
    for given, message in (
        ({"gama": 0.5}, "unknown option 'gama'"),
        ({"gamma": 2}, "gamma is 2"),
        ({"columns": "a=b"}, "give them to load_dataset"),
        ({"method": ["fqe", "lspe"]}, "one at a time"),
    ):
        with pytest.raises(UserError, match=message):
            ropeval.evaluate(log, policy, **{"method": "mean-reward", **given})
    by_seed, by_key = (ropeval.evaluate(log, policy, "mean-return", **{name: 3}) for name in ("seed", "key"))
    assert by_seed.config["seed"] == 3
    assert by_seed.interval == by_key.interval


def test_settings_of_a_part_that_takes_no_part_are_refused():
    log, policy, narrow = Chain().log(20), Chain().policy(0.6), {"width": 8}
    with pytest.raises(UserError, match=r"setting fqe\.width: fqe takes no part in mean-reward"):
        ropeval.evaluate(log, policy, "mean-reward", settings={"fqe": narrow})
    with pytest.raises(UserError, match="unknown part 'fqee'"):
        ropeval.evaluate(log, policy, "mean-reward", settings={"fqee": narrow})
    assert ropeval.evaluate(log, policy, "mean-reward", settings={"fqe": {}}).value is not None


@pytest.mark.training
def test_python_tunes_as_the_command_line_does():
    small = {"fqe": {"width": 8, "depth": 1, "steps": 20, "batch": 16}}
    found = ropeval.evaluate(Chain().log(20), Chain().policy(0.6), "fqe", members=1, settings=small, tune=True)
    assert found.config["fqe"]["learning_rate"] in (1e-4, 3e-4, 1e-3)


def test_a_new_option_is_one_line(monkeypatch):
    """Declared, it is spelt out for Python; test_model_options does the same for the command line."""
    more = create_model("More", __base__=Options, minutes=(int, option(10, EFFORT, "How long.", ge=1)))
    monkeypatch.setattr("ropeval.evaluation.options.Options", more)

    @takes_options
    def ask(**options: object) -> Any:
        """Asks."""
        return make_options(options)

    assert inspect.signature(ask).parameters["minutes"].default == 10
    assert "How long." in ask.__doc__
    assert ask(minutes=3).minutes == 3
    with pytest.raises(UserError, match="minutes is 0; it must be a whole number, at least 1"):
        ask(minutes=0)


@pytest.mark.parametrize("asked", [{"risk": 0.1}, {"below": -5}])
def test_who_asks_how_returns_spread_needs_a_method_that_knows(asked):
    (name, value), *_ = asked.items()
    with pytest.raises(UserError, match=rf"{name} is {value}.*, but fqe cannot tell how returns spread.*can: .*world"):
        make_methods(make_options({"method": ["fqe"], **asked}))
    for knows in ("world", "wis", "dr"):
        assert make_methods(make_options({"method": ["fqe", knows], **asked}))
