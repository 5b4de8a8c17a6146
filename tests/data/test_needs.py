"""What methods need is refused by name, with what is missing and what to do."""

import numpy as np
import pytest

from ropeval.data import needs
from ropeval.data.needs import check_needs
from ropeval.errors import UserError
from ropeval.policies import CallablePolicy
from tests.problems import Chain, LinearQuadratic

CHAIN, LQ = Chain().log(2), LinearQuadratic().log(2, length=2)
SILENT = CallablePolicy(lambda o, rng: rng.standard_normal((len(o), 1)), deterministic=False, name="silent")


@pytest.mark.parametrize(
    ("need", "log", "policy", "words"),
    [
        (needs.STOCHASTIC, LQ, LinearQuadratic().policy(0.0), "policy linear: it is deterministic"),
        (needs.PROBABILITIES, LQ, SILENT, "policy silent: it cannot tell the probability"),
        (needs.DISCRETE, LQ, SILENT, "log lq: its actions are continuous; krope needs discrete actions"),
        (needs.CRITIC, LQ, SILENT, "policy silent: it has no action-value network"),
        (needs.package("no_such_module", "trees"), LQ, SILENT, r"needs no_such_module \(pip install 'ropeval\[trees\]"),
    ],
)
def test_what_is_missing_is_named(need, log, policy, words):
    with pytest.raises(UserError, match=words):
        check_needs("krope", [need], log, policy)


def test_what_is_there_is_not_refused():
    check_needs("is", needs.WEIGHTS, CHAIN, Chain.policy(1.0).fitted(CHAIN.space))  # probabilities 0 and 1
    check_needs("is", needs.WEIGHTS, LQ, LinearQuadratic().policy(0.5))
    check_needs("krope", [needs.DISCRETE, needs.package("numpy", "x")], CHAIN, SILENT)
    knowing = type("Knowing", (CallablePolicy,), {"features": lambda self, o, a: np.ones((len(o), 1))})
    check_needs("critic", [needs.CRITIC], LQ, knowing(lambda o: o, deterministic=True, name="k"))
