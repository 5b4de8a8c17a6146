"""The histogram: labels whose mean is the target, a support that the log's returns give, and one that holds q."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ropeval.data import Rows, make_problem
from ropeval.estimators.fqe_hl import (
    PADDING,
    FQEHLConfig,
    Support,
    centres,
    labels,
    make_learner,
    mean_value,
    support,
)
from tests.problems import Chain, LinearQuadratic


def test_the_mean_of_a_label_is_its_target():
    """So the minimiser of the cross-entropy has the targets' mean for its own: FQE's fixed point is this one's, too."""
    target = jnp.linspace(-2.0, 5.0, 23)
    shares = labels(target, -2.0, 5.0, 51)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(shares @ centres(-2.0, 5.0, 51), target, atol=1e-3)
    beyond = labels(jnp.array([-100.0, 100.0]), -2.0, 5.0, 51) @ centres(-2.0, 5.0, 51)
    np.testing.assert_allclose(beyond, [-2.0, 5.0], atol=1e-3)


def test_sweeps_of_mean_labels_find_the_exact_values():
    """The whole operator on a finite MDP, a table of histograms in the place of the network."""
    chain, right = Chain(size=3, gamma=0.8), 0.7
    P, r = chain.tables()
    exact, _ = chain.values(right)
    low, high, bins = -2.0, 3.0, 101
    middle = np.asarray(centres(low, high, bins))
    table = np.full((3, 2, len(middle)), 1 / len(middle))
    for _ in range(60):
        value = np.append((table @ middle) @ [1 - right, right], 0.0)  # [S + 1], nothing after the end
        target = r[..., None] + 0.8 * value[None, None]  # [S, A, S + 1]
        shares = np.asarray(labels(jnp.asarray(target.reshape(-1)), low, high, bins)).reshape(3, 2, 4, -1)
        table = np.einsum("sat,satb->sab", P, shares)
    np.testing.assert_allclose(table @ middle, exact, atol=2e-3)


def test_the_support_is_what_the_returns_span_and_within_the_bounds():
    problem = make_problem(LinearQuadratic().log(20), LinearQuadratic().policy(0.5), 0.9)
    narrow, wide = (support(problem, FQEHLConfig(margin=margin)) for margin in (0.0, 0.5))
    assert wide.low < narrow.low < narrow.mean < narrow.high <= wide.high
    assert wide.high <= problem.log.bounds[1]
    assert narrow.over(2.0).low == pytest.approx(narrow.low / 2)


def test_whatever_it_bootstraps_on_it_stays_in_its_support():
    config = FQEHLConfig(width=8, depth=1, batch=4)
    learner = make_learner(config, 3, Support(-1.0, 2.0, 0.5, 0.3))
    hyper = {"learning_rate": jnp.float32(1e-3)}
    state = jax.jit(learner.init)(jax.random.key(0), hyper)
    x = jax.random.normal(jax.random.key(1), (4, 3))
    start = mean_value(state.params, 0 * x, -1.0, 2.0, config.bins)
    np.testing.assert_allclose(start, 0.5, atol=0.05)  # the log's own mean
    wild = state._replace(target=jax.tree.map(lambda a: 1e4 * a, state.params))
    batch = Rows(x, x[:, None], jnp.full(4, 1e6), jnp.full(4, 0.9))
    after, metrics = jax.jit(learner.update)(wild, batch, jax.random.key(2), hyper)
    edge = 3.0 / (config.bins - 1) * PADDING
    values = mean_value(after.params, 1e3 * x, -1.0, 2.0, config.bins)
    assert np.isfinite(float(metrics["loss"]))
    assert float(values.max()) <= 2.0 + edge
    assert float(values.min()) >= -1.0 - edge
