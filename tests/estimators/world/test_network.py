"""The loss by hand, and what members say together."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ropeval.data import Rows
from ropeval.estimators.world.network import Prediction, Sizes, disagreement, make_learner, mean_prediction, row_loss

MOVING, CHOICES = 2, (3,)
OUTPUT = jnp.array([1.0, -1.0, 0.0, np.log(2.0), 0.0, 0.5, 0.0])  # changes, scores, reward, end


def row(goes_on: float) -> Rows:
    return Rows(jnp.zeros(4), jnp.array([[0.0, 1.0, 1.0]]), jnp.float32(2.5), jnp.float32(goes_on), None)


def test_the_loss_of_a_row_by_hand():
    """Squared changes 1 and 4, the second of three values with probability ½, a reward off by 2, an end at ½."""
    loss = float(row_loss(lambda x: OUTPUT, row(1.0), MOVING, CHOICES))
    assert loss == pytest.approx((1 + 4 + np.log(2)) / 3 + 4 + np.log(2), rel=1e-5)


def test_where_a_terminating_step_leads_says_nothing():
    loss = float(row_loss(lambda x: OUTPUT, row(0.0), MOVING, CHOICES))
    assert loss == pytest.approx(4 + np.log(2), rel=1e-5)


def members(change, chances, reward) -> Prediction:
    change, chances, reward = (jnp.asarray(a, jnp.float32) for a in (change, chances, reward))
    return Prediction(change, (chances,), reward, jnp.zeros(len(reward)))


def test_members_that_agree_are_not_apart():
    same = members([[1, 2]] * 3, [[0.2, 0.8]] * 3, [5] * 3)
    np.testing.assert_allclose(disagreement(same, jnp.full(3, 1 / 3)), 0.0, atol=1e-6)


def test_disagreement_is_the_members_standard_deviation():
    two = members([[0, 1], [2, 1]], [[1, 0], [0, 1]], [3, 7])
    found = np.asarray(disagreement(two, jnp.full(2, 0.5)))
    np.testing.assert_allclose(found, [np.sqrt(1 / 2), 0.5, 2.0], rtol=1e-6)  # over two columns, of which one differs


def test_a_member_without_weight_has_no_say():
    two, weights = members([[0, 1], [9, 9]], [[1, 0], [0, 1]], [3, 99]), jnp.array([1.0, 0.0])
    np.testing.assert_array_equal(disagreement(two, weights), 0.0)
    joint = mean_prediction(two, weights)
    np.testing.assert_array_equal(joint.change, [0, 1])
    assert float(joint.reward) == 3


def test_the_learning_rate_falls_to_a_hundredth():
    """By the size of a step: Adam's is that of the learning rate, whatever the gradient's."""
    sizes = Sizes(steps=100, batch=4, width=8, depth=1, tau=0.1, weight_decay=0.0)
    learner, hyper = make_learner(sizes, 4, MOVING, CHOICES), {"learning_rate": jnp.float32(1e-3)}
    update = jax.jit(learner.update)
    start = jax.jit(learner.init)(jax.random.key(0), hyper)
    batch = jax.tree.map(lambda a: jnp.broadcast_to(a, (4, *a.shape)), row(1.0))

    def moved(step):
        state = start._replace(step=jnp.int32(step))
        after = update(state, batch, jax.random.key(1), hyper)[0]
        change = jax.tree.map(lambda a, b: np.abs(a - b).max(), state.learned.params, after.learned.params)
        return max(jax.tree.leaves(change))

    assert moved(0) == pytest.approx(1e-3, rel=1e-2)
    assert moved(100) == moved(250) == pytest.approx(1e-5, rel=0.1)
