"""KROPE: its sampled loss against the exact kernel. What it finds with lspe is in tests/contracts."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ropeval.data import Rows, Transitions
from ropeval.encoders.krope import KropeConfig, make_learner
from ropeval.tabular.kernel import StateActionKernel, features


def test_the_loss_vanishes_at_the_factor_of_the_exact_kernel() -> None:
    """Three pairs in a row, then the end: a network whose head is Φ itself, on one-hot pairs, has nothing to learn."""
    gamma, reward = 0.9, np.array([0.0, 1.0, 0.25])
    P = np.diag([1.0, 1.0], k=1)
    phi = features(StateActionKernel(reward, P, gamma).fixed_point())  # [3, d]
    assert phi.shape == (3, 3)

    learner = make_learner(KropeConfig(width=3, depth=1, batch=9), 3, 3, gamma)
    hyper = {"learning_rate": jnp.float32(1e-3)}
    state = learner.init(jax.random.key(0), hyper)
    exact = (jnp.eye(3), jnp.asarray(phi, jnp.float32))
    net = eqx.tree_at(lambda net: (net.hidden[0].weight, net.head.weight), state.params, exact)
    state = state._replace(params=net, target=net)
    first, second = (a.reshape(-1) for a in np.meshgrid(np.arange(3), np.arange(3)))
    pair = np.concatenate([first, second])  # every pair of pairs once
    eye = np.eye(3, dtype=np.float32)
    ends = pair == 2
    batch = Rows(
        jnp.asarray(eye[pair]),
        jnp.asarray(eye[np.minimum(pair + 1, 2)][:, None]),  # what follows the end is not looked at
        jnp.asarray(reward[pair], jnp.float32),
        jnp.asarray(np.where(ends, 0.0, gamma), jnp.float32),
    )
    update = jax.jit(learner.update)
    after, metrics = update(state, batch, jax.random.key(1), hyper)
    assert float(metrics["loss"]) < 1e-10
    wrong = batch._replace(reward=batch.reward[::-1])
    assert float(update(state, wrong, jax.random.key(1), hyper)[1]["loss"]) > 1e-2
    shown = learner.probe(after, Transitions(batch, batch.next_x))
    assert set(shown) == {"feature_mean", "feature_std", "feature_size"}
