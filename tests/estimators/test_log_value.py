"""V_b: a regression on the log's own returns."""

import numpy as np
import pytest

from ropeval.data import Log, streaming
from ropeval.errors import UserError
from ropeval.estimators.log_value import LogValueConfig, log_value
from ropeval.evaluation.methods import make_method
from ropeval.learning.engine import Run, member_keys
from tests.problems import Chain


@pytest.mark.parametrize("method", ["fqe-horizon", "sope"])
def test_states_that_cannot_be_held_are_refused_by_name(method, monkeypatch):
    data, policy = Chain().log(3), Chain().policy(0.8)
    make_method(method).check(data, policy)
    monkeypatch.setattr(streaming, "HELD_ON_CPU", 0)
    with pytest.raises(UserError, match=f"held in memory; {method} needs"):
        make_method(method).check(data, policy)


@pytest.mark.training
def test_it_is_what_the_behaviour_earns_and_made_once():
    chain = Chain(size=3, gamma=0.7)
    data = chain.log(400, right=0.6)
    log, run = Log(data, chain.gamma), Run(member_keys(0, 1))
    config = LogValueConfig(steps=400, width=16, depth=1, batch=128, learning_rate=1e-2)
    found = log_value(log, config, run)
    values = chain.values(0.6)[0] @ [0.4, 0.6]
    goes_on = ~data.terminations
    following = data.next_observations.argmax(axis=1)
    for state in range(3):
        at = goes_on & (following == state)
        assert found.following[0, at].mean() == pytest.approx(values[state], abs=0.1)
    assert log_value(log, config, run) is found
    assert np.isfinite(found.following).all()
