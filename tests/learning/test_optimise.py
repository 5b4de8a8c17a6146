"""The update that every learned part shares, against steps worked out by hand."""

import jax.numpy as jnp
import numpy as np

from ropeval.learning.optimise import Learned, adamw, descend, huber, start


def test_adamw_step_by_hand():
    """Two steps of decoupled AdamW with entry-wise clipping, and the moving average, computed plainly."""
    transform = adamw(clip=1.0, weight_decay=0.01)
    p = np.array([1.0, -2.0])
    state = start(jnp.asarray(p), transform)
    target, m, v = p.copy(), np.zeros(2), np.zeros(2)
    for t, g in enumerate(np.array([[5.0, 0.1], [-0.5, 0.2]]), start=1):
        state = descend(state, jnp.asarray(g), transform, jnp.asarray(0.1), tau=0.25)
        g = np.clip(g, -1, 1)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        p = p - 0.1 * (m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8) + 0.01 * p)
        target = target + 0.25 * (p - target)
    assert isinstance(state, Learned)
    np.testing.assert_allclose(state.params, p, rtol=1e-5)
    np.testing.assert_allclose(state.target, target, rtol=1e-5)


def test_huber_is_quadratic_then_linear():
    np.testing.assert_allclose(huber(jnp.array([0.5, -1.0, 3.0]), 1.0), [0.125, 0.5, 2.5])
    np.testing.assert_allclose(huber(jnp.array([3.0]), 10.0), [4.5])
