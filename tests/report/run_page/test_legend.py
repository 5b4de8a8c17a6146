"""Who has which colour, and who is hidden at first."""

from dataclasses import replace

from ropeval.evaluation.result import Interval
from ropeval.report.palette import GREY
from ropeval.report.run_page import Outcome
from ropeval.report.run_page.headline import headline_method
from ropeval.report.run_page.legend import flattening, method_legend, policy_legend
from tests.report.outcomes import estimate, estimates


def test_a_method_that_would_flatten_the_rest_is_hidden_at_first():
    sane = [estimate("p", "fqe", 1.0), estimate("p", "lspe", 4.0)]
    assert flattening(Outcome(sane)) == set()
    wild = Outcome([*sane, estimate("p", "is", 1e6), estimate("p", "dr", -1e9), estimate("p", "model", None)])
    assert flattening(wild) == {"is", "dr"}
    assert [entry.shown for entry in method_legend(wild).values()] == [True, True, False, False, True]


def test_what_the_headline_speaks_of_is_always_shown():
    """As on CartPole: the baselines nearly agree, and the only learned method lies far from both."""
    trivial = [estimate("p", m, v) for m, v in (("mean-reward", 5.0), ("mean-return", 5.1))]
    narrow = [replace(e, interval=Interval(e.value - 0.1, e.value + 0.1, 0.95, "percentile", 200, 40)) for e in trivial]
    for baselines in (narrow, narrow[:1]):
        outcome = Outcome([*baselines, estimate("p", "fqe", 500.0)])
        assert headline_method(outcome) == "fqe"
        assert flattening(outcome) == set()
        assert method_legend(outcome)["fqe"].shown


def test_methods_that_learn_nothing_are_grey_and_a_policy_is_no_method():
    methods, policies = method_legend(Outcome(estimates())), policy_legend(["fqe", "left"])
    assert [entry.style.colour == GREY for entry in methods.values()] == [True, False, False]
    assert policies["fqe"].label == "fqe"
    assert policies["fqe"].group != methods["fqe"].group
