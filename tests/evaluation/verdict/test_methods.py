"""What a verdict knows about a method by its name."""

from ropeval.evaluation.verdict.methods import is_blind, is_fitted_q


def test_names_with_an_encoder_are_those_of_their_estimator():
    assert is_fitted_q("rope+fqe")
    assert not is_fitted_q("rope+lspe")


def test_baselines_are_blind_and_unknown_methods_are_nothing():
    assert is_blind("mean-return")
    assert not is_blind("world")
    assert not is_blind("my-own")
    assert not is_fitted_q("my-own")
