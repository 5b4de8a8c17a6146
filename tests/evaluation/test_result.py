"""Results: to JSON and back, and as a line."""

import json
from dataclasses import replace

import numpy as np
import pytest

from ropeval.evaluation.result import Estimate, Finding, Interval, curve_rows, finite_or_none
from ropeval.learning.engine import Trained

FOUND = Finding("coverage", "warning", "The log shows little", "collect more", {"outside": 0.5})
ONE = Estimate(
    policy="p", policy_kind="deterministic", method="fqe", value=1.5, lowest=1.0, highest=2.0, members=[1.0, 2.0, None],
    diverged=[2], warnings=[FOUND.sentence], config={"fqe": {"steps": 1}}, data_sha256="d", version="v", seconds=2.0,
    curves=[{"stage": "fqe"}], interval=Interval(0.5, 2.5, 0.95, "t", 2, 20), diagnosis=[FOUND], replicates=[1.0, 2.0],
)  # fmt: skip


def again(estimate: Estimate, everything: bool = True) -> Estimate:
    return Estimate.from_json(json.loads(json.dumps(estimate.to_json(everything))))


@pytest.mark.parametrize("one", [ONE, replace(ONE, interval=None, diagnosis=[])])
def test_to_json_and_back(one):
    assert vars(again(one)) == vars(one)
    assert vars(again(one, everything=False)) == vars(replace(one, curves=[], replicates=[]))


def test_it_prints_itself():
    assert repr(ONE) == (
        "p (deterministic), fqe: 1.5  (0.95 interval 0.5 … 2.5)\n  ! The log shows little; collect more"
    )
    assert "(members 1 … 2)" in repr(replace(ONE, interval=None))
    assert repr(replace(ONE, value=None, interval=None, lowest=None, warnings=[])) == "p (deterministic), fqe: diverged"


def test_without_advice_a_sentence_is_its_message():
    assert replace(FOUND, advice="").sentence == "The log shows little"


def test_curves_in_long_form():
    curves = {"loss": np.array([[1.0, 2.0], [3.0, 4.0]])}  # [chunks, M]
    rows = curve_rows({"fqe": Trained("fqe", None, np.array([10, 20]), curves, np.array([-1, -1]))})
    assert [(row["member"], row["step"], row["value"]) for row in rows] == [
        (0, 10, 1.0), (1, 10, 2.0), (0, 20, 3.0), (1, 20, 4.0),
    ]  # fmt: skip
    assert {(row["stage"], row["metric"]) for row in rows} == {("fqe", "loss")}


def test_what_is_no_number_is_none():
    assert [finite_or_none(value) for value in (1.0, np.inf, np.nan)] == [1.0, None, None]


def test_files_from_before_the_members_ends_were_renamed_are_read():
    row = ONE.to_json()
    old = {{"lowest": "low", "highest": "high"}.get(name, name): value for name, value in row.items()}
    assert "low" in old
    assert vars(Estimate.from_json(old)) == vars(Estimate.from_json(row))
