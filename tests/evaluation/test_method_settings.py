"""Methods by name, with their settings."""

import pytest

from ropeval.encoders import ENCODERS
from ropeval.errors import UserError
from ropeval.estimators import ESTIMATORS
from ropeval.evaluation.methods import available_methods, make_method, make_methods
from ropeval.evaluation.options import Options


def test_every_listed_name_can_be_made_and_is_two_parts_at_most():
    for name in available_methods():
        method = make_method(name)
        assert method.name == name
        assert list(method.configs) == name.split("+")
    assert {*ESTIMATORS} < {*available_methods()}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fqa", "unknown method 'fqa'"),
        ("+fqe", "unknown method"),
        ("fqe+rope", "unknown method"),
        ("rope+rope+fqe", "unknown method"),
        ("rope+mean-return", "mean-return takes no features"),
    ],
)
def test_what_is_no_method(name, message):
    with pytest.raises(UserError, match=message):
        make_method(name)


def test_an_unknown_preset_lists_the_presets():
    with pytest.raises(UserError, match="unknown preset 'fast'; choose from: default, dope, paper"):
        make_method("fqe", preset="fast")


def test_overrides_lie_over_the_preset_and_the_preset_over_the_defaults():
    paper = {**ESTIMATORS["fqe"].presets["paper"]}
    field, value = next((f, v) for f, v in paper.items() if f != "steps")
    made = make_method("rope+fqe", {"fqe": {"steps": 7}}, "paper")
    assert made.describe()["fqe"]["steps"] == 7
    assert getattr(made.configs["fqe"], field) == value
    assert made.stages["fqe"] == 7
    assert list(made.stages) == ["rope", "fqe"]


def test_what_members_may_differ_in_has_the_parts_name():
    own = [f"fqe.{field}" for field in ESTIMATORS["fqe"].spread]
    assert make_method("fqe").spread == own
    assert make_method("rope+fqe").spread == [f"rope.{f}" for f in ENCODERS["rope"].spread] + own


def test_what_a_method_was_called_before_is_still_its_name_and_each_is_asked_once():
    options = Options(method=("model", "world", "fqe", "fqe"))
    assert [method.name for method in make_methods(options)] == ["world", "fqe"]


def test_steps_are_those_of_everything_that_learns_unless_a_part_says_otherwise():
    options = Options(method=("rope+fqe", "lspe"), steps=9, settings={"rope": {"steps": 4}})
    one, other = make_methods(options)
    assert one.stages == {"rope": 4, "fqe": 9}
    assert other.describe() == make_method("lspe").describe()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"fqa": {"steps": 1}}, "unknown part 'fqa'"),
        ({"fqe": {"stepz": 1}}, r"unknown setting 'fqe\.stepz'"),
        ({"rope": {"beta": 1.0}}, r"setting rope\.beta: rope takes no part in fqe"),
    ],
)
def test_settings_that_would_change_nothing_are_refused(settings, message):
    with pytest.raises(UserError, match=message):
        make_methods(Options(method=("fqe",), settings=settings))
