"""Policies that see states otherwise than they are told: a code for a number, a number for a code."""

import numpy as np
import pytest

from ropeval.errors import UserError
from ropeval.policies import CategoricalMLP, UniformPolicy
from ropeval.policies.policy import Space, draw_actions
from ropeval.policies.through import Through

KINDS, ACTIONS = 6, 3
SPACE = Space(1, ACTIONS, discrete=True, states=5)  # of six states, the last does not occur


def network() -> CategoricalMLP:
    rng = np.random.default_rng(0)
    layers = [(rng.standard_normal((4, KINDS)), np.zeros(4)), (rng.standard_normal((ACTIONS, 4)), np.zeros(ACTIONS))]
    single = [(w.astype(np.float32), b.astype(np.float32)) for w, b in layers]
    return CategoricalMLP([single[0]], single[1], "stochastic", "net", "tanh")


def test_a_network_over_one_hot_codes_takes_numbers():
    net, numbers = network(), np.array([[4], [0], [2]], np.float32)
    fitted, codes = net.fitted(SPACE), np.eye(KINDS, dtype=np.float32)[[4, 0, 2]]
    assert fitted.observation_size == 1
    assert (fitted.name, fitted.kind, fitted.sha256) == ("net", "stochastic", net.sha256)
    assert np.array_equal(fitted.action_probabilities(numbers), net.action_probabilities(codes))
    ours, theirs = (
        draw_actions(policy, states, 7, np.random.default_rng(1))
        for policy, states in ((fitted, numbers), (net, codes))
    )
    assert np.array_equal(ours, theirs)
    actions = np.array([0, 1, 2])
    assert np.array_equal(fitted.log_prob(numbers, actions), net.log_prob(codes, actions))
    assert fitted.has_log_prob
    assert fitted.fitted(SPACE) is fitted


@pytest.mark.parametrize("space", [Space(1, ACTIONS, True), Space(1, ACTIONS, True, states=KINDS + 1)])
def test_numbers_that_are_none_or_too_large_are_refused(space):
    with pytest.raises(UserError, match="observations of size 6, but the log's have size 1"):
        network().fitted(space)


def test_what_a_policy_knows_it_still_knows():
    policy = UniformPolicy(num_actions=2)
    asked = Through(policy, lambda codes: codes.argmax(axis=1)[:, None], 3)
    assert (asked.observation_size, asked.has_features, asked.box) == (3, False, policy.box)
    assert asked.action_probabilities(np.eye(3)) == pytest.approx(np.full((3, 2), 0.5))
    with pytest.raises(UserError, match="no features"):
        asked.features(np.eye(3), np.zeros(3, int))
