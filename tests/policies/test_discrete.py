"""Networks that choose among actions: their draws, probabilities and features."""

from typing import Any

import numpy as np

from ropeval.data import Dataset
from ropeval.encoders.critic import critic_features
from ropeval.policies import load_policy
from tests.policies.hostile import FILES

RNG = np.random.default_rng(0)


def test_a_greedy_policys_values_are_linear_in_its_features(expected):
    policy: Any = load_policy(FILES / "dqn.zip")
    pairs = [policy.features(expected["observations"], np.full(20, a)) for a in range(4)]
    weight, bias = policy.weights["output"]
    values = np.stack([pair @ weight.reshape(-1) + bias[a] for a, pair in enumerate(pairs)], axis=1)
    np.testing.assert_allclose(values, expected["dqn/values"], rtol=1e-4, atol=1e-5)


def test_the_critic_encoder_takes_a_greedy_policys_features(columns):
    """φ of a logged pair: the state's hidden layer, in the block of the logged action."""
    log = Dataset.from_columns(columns | {"actions": np.arange(12) % 4})
    policy: Any = load_policy(FILES / "dqn.zip")
    features = critic_features(policy, log.observations, log.actions)  # [12, 4·3]
    blocks = features.reshape(12, 4, 3)
    np.testing.assert_array_equal(
        blocks[np.arange(12), log.actions], policy.hidden(np, policy.weights, log.observations)
    )
    assert np.count_nonzero(blocks.any(axis=-1).sum(axis=1) > 1) == 0


def test_draws_are_as_likely_as_it_says(expected):
    observation = np.repeat(expected["observations"][:1], 20_000, axis=0)
    policy: Any = load_policy(FILES / "ppo_discrete.zip")
    drawn = np.bincount(policy.sample(observation, RNG), minlength=4) / len(observation)
    np.testing.assert_allclose(drawn, np.exp(policy.log_probs(observation[:1])[0]), atol=0.02)


def test_probabilities_of_every_action(expected):
    """Drawn ones are those of log_prob; one that is not drawn has all of it."""
    observations = expected["observations"]
    drawn = load_policy(FILES / "ppo_discrete.zip")
    chances = drawn.action_probabilities(observations)
    for action in range(4):
        likelihood = drawn.log_prob(observations, np.full(len(observations), action))
        np.testing.assert_allclose(chances[:, action], np.exp(likelihood), rtol=1e-6)
    for spec in ("dqn.zip", "ppo_discrete.zip@mean"):
        policy: Any = load_policy(f"{FILES / spec}")
        chances = policy.action_probabilities(observations)
        np.testing.assert_array_equal(chances.sum(axis=1), 1)
        np.testing.assert_array_equal(chances.argmax(axis=1), policy.sample(observations, RNG))
        assert set(np.unique(chances)) == {0, 1}
