"""Curves in long form; what all policies share stands there once."""

import numpy as np

from ropeval.bench.run.schema import CURVES
from ropeval.bench.run.study import Member, Unit
from ropeval.bench.run.unit_curves import Curves
from ropeval.learning.engine import Trained

UNIT = Unit("task", "rope+fqe", (Member({}, 3), Member({"rope.beta": 1.0}, 5)), "u", {}, ("a", "b"))


def trained(stage, *points):
    """[C, M] points of two members."""
    values = np.array(points, np.float32)
    return Trained(stage, None, 10 * np.arange(1, len(values) + 1), {"loss": values}, np.array([-1, -1]))


def test_every_point_has_its_member_and_its_step():
    curves = Curves(UNIT, "standard")
    curves.add("a", {"fqe": trained("fqe", [1.0, 2.0], [3.0, 4.0])})
    frame = curves.frame()
    assert dict(frame.schema) == CURVES
    assert frame.select("seed", "hyper", "step", "value").rows() == [
        (3, UNIT.members[0].hyper, 10, 1.0), (3, UNIT.members[0].hyper, 20, 3.0),
        (5, UNIT.members[1].hyper, 10, 2.0), (5, UNIT.members[1].hyper, 20, 4.0),
    ]  # fmt: skip
    assert set(frame["policy"]) == {"a"}


def test_what_was_trained_for_all_policies_has_no_policys_name():
    shared, curves = trained("rope", [1.0, 1.0]), Curves(UNIT, "standard")
    for policy in ("a", "b"):
        curves.add(policy, {"rope": shared, "fqe": trained("fqe", [2.0, 2.0])})
    frame = curves.frame()
    assert frame.filter(stage="rope")["policy"].to_list() == ["", ""]
    assert frame.filter(stage="fqe")["policy"].to_list() == ["a", "a", "b", "b"]


def test_more_resamples_than_members_are_counted():
    unit = Unit("task", "fqe", (Member({}, 7),), "u", {}, ("a",))
    curves = Curves(unit, "standard")
    curves.add("a", {"fqe": trained("fqe", [1.0, 2.0])})
    assert curves.frame()["seed"].to_list() == [0, 1]


def test_nothing_trained_is_an_empty_table():
    curves = Curves(UNIT, "standard")
    curves.add("a", {})
    assert curves.frame().is_empty()
    assert dict(curves.frame().schema) == CURVES
