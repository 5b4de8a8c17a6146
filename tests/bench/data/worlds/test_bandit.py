"""The bandit: integrals against samples."""

import numpy as np

from ropeval.bench.data.worlds import bandit


def test_integration_agrees_with_sampling():
    policy = bandit.policies.good
    answer = bandit.answer(policy)
    rng = np.random.default_rng(0)
    contexts = rng.standard_normal((100_000, bandit.CONTEXT))
    actions = policy.sample(contexts.astype(np.float32), rng)
    rewards = bandit.mean_rewards(contexts)[np.arange(len(actions)), actions]
    assert abs(rewards.mean() - answer.discounted) < 4 * rewards.std() / len(rewards) ** 0.5
    assert answer.standard_error < 0.005 * 1.3  # of the range of its policies
    assert answer.total == answer.discounted
