"""Names that people write, and `all`."""

import pytest

from ropeval.data.needs import DISCRETE
from ropeval.errors import UserError
from ropeval.estimators import ESTIMATORS
from ropeval.evaluation.methods import applicable_methods, available_methods, known_name, make_method, usual_methods
from ropeval.evaluation.options import Options, make_options
from tests.problems import Chain, LinearQuadratic


@pytest.mark.parametrize(
    ("written", "meant"),
    [("FQE", "fqe"), ("fqe_clip", "fqe-clip"), ("Rope_Range+FQE", "rope-range+fqe"), ("meanreturn", "mean-return"),
     ("Model", "world"), ("fqe", "fqe"), ("nothing+fqe", "nothing+fqe")],
)  # fmt: skip
def test_case_and_underscores_do_not_matter(written, meant):
    assert known_name(written) == meant


def test_names_of_methods_differ_in_more_than_hyphens():
    assert len({known_name(name) for name in available_methods()}) == len(available_methods())


@pytest.mark.parametrize(
    ("written", "words"),
    [("wpdsi", "did you mean wpdis"), ("rop+fqe", r"did you mean rope\+fqe"), ("zzz", "'zzz'; choose from: ")],
)
def test_the_nearest_name_is_proposed(written, words):
    with pytest.raises(UserError, match=words):
        make_method(written)


def test_all_are_those_that_apply_and_the_others_are_named_with_the_reason(monkeypatch):
    lq = LinearQuadratic()
    every = make_options({"method": "all"})
    with_densities = applicable_methods(every, lq.log(2, length=2), [lq.policy(0.5)])
    assert set(with_densities.left_out) == {"critic+fqe"}
    assert [m.name for m in with_densities.methods] == [m for m in usual_methods() if m != "critic+fqe"]
    without = applicable_methods(every, lq.log(2, length=2), [lq.policy(0.5), lq.policy(0.0)])
    assert {"is", "wdr", "psm+fqe"} < set(without.left_out)
    assert "policy linear: it is deterministic" in without.left_out["is"]
    assert "fqe" in [m.name for m in without.methods]
    discrete = applicable_methods(every, Chain().log(2), [Chain.policy(0.5)])
    assert set(discrete.left_out) == {"critic+fqe"}


def test_who_is_named_beside_all_is_refused_and_not_left_out():
    lq = LinearQuadratic()
    found = applicable_methods(Options(method=("is", "ALL")), lq.log(2, length=2), [lq.policy(0.0)])
    assert found.methods[0].name == "is"  # its check refuses it, in the session
    with pytest.raises(UserError, match="is needs a stochastic policy"):
        found.methods[0].check(lq.log(2, length=2), lq.policy(0.0))


def test_needs_of_encoder_and_estimator_are_both_asked_for(monkeypatch):
    from dataclasses import replace

    monkeypatch.setitem(ESTIMATORS, "fqe", replace(ESTIMATORS["fqe"], needs=(DISCRETE,)))
    with pytest.raises(UserError, match="critic needs the policy's critic"):
        make_method("critic+fqe").check(Chain().log(2), Chain.policy(0.5))
    with pytest.raises(UserError, match="fqe needs discrete actions"):
        make_method("rope+fqe").check(LinearQuadratic().log(2), LinearQuadratic().policy(0.5))
