"""KROPE: features whose products are a kernel, alike where rewards are alike and what follows under π_e is alike.

    k(x₁, x₂) = 1 − |r₁ − r₂|/(r_max − r_min) + γ·E[ k(x₁', x₂') ],      a₁', a₂' ~ π_e independently

It is learned as k(x₁, x₂) ≈ φ(x₁)·φ(x₂), by bootstrapping over pairs of independently drawn rows:

    minimise  E_D[ huber( 1 − |r₁ − r₂|/(r_max − r_min) + γ φ̄(x₁')·φ̄(x₂') − φ(x₁)·φ(x₂) ) ]

φ̄ is the moving average of φ, and the encoder that is used in the end; φ̄(x') is its mean over π_e's actions. The exact
side, and why least squares is stable on such features, stands in `tabular/kernel.py`.

The next pair of a row that terminated has the features 0, as it has for `lspe`: with others, what is proved of the
kernel would not hold. φ has a linear head: k(x, x) is of the order 1/(1−γ), and a bounded head could not express it.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from ropeval.data import Problem, Rows, Transitions, expected
from ropeval.encoders.encoder import Encoded, Encoder
from ropeval.encoders.similarity import PAPER, Dim, feature_curves, output_dim
from ropeval.learning.engine import Hyper, Learner, Metrics, Run, train
from ropeval.learning.learner import made_once
from ropeval.learning.networks import MLP
from ropeval.learning.optimise import Learned, descending, huber
from ropeval.settings import PartConfig


class KropeConfig(PartConfig):
    steps: PositiveInt = 15_000
    learning_rate: PositiveFloat = 3e-4
    batch: PositiveInt = 256  # pairs of rows
    width: PositiveInt = 256
    depth: PositiveInt = 2
    dim: Dim = "X"  # size of φ; X is that of state and action together
    huber_delta: PositiveFloat = 1.0  # in units of the kernel of two rewards, which is 1 where they are equal
    tau: PositiveFloat = 0.02
    weight_decay: NonNegativeFloat = 1e-2
    gradient_clip: PositiveFloat = 1.0


@made_once
def make_learner(config: KropeConfig, inputs: int, dim: int, gamma: float) -> Learner:
    """Rewards are given in units of r_max − r_min."""

    def net(key: Array) -> MLP:
        return MLP(key, inputs, dim, config.width, config.depth)

    def loss(phi: MLP, average: MLP, batch: Rows, hyper: Hyper, key: Array) -> Array:
        goes_on = (batch.discount > 0.0).astype(batch.x.dtype)[:, None]  # [2·batch, 1]
        following = goes_on * expected(average(batch.next_x), batch.next_weight)  # [2·batch, d]
        pair: Any = jax.tree.map(lambda a: a.reshape(2, config.batch, *a.shape[1:]), (batch.x, batch.reward, following))
        x, reward, next_phi = pair
        target = 1.0 - jnp.abs(reward[0] - reward[1]) + gamma * (next_phi[0] * next_phi[1]).sum(axis=-1)  # [batch]
        features = phi(x)  # [2, batch, d]
        return huber(target - (features[0] * features[1]).sum(axis=-1), config.huber_delta).mean()

    def probe(state: Learned, transitions: Transitions) -> Metrics:
        return feature_curves(state.target, transitions)

    return descending(net, loss, probe, config, 2 * config.batch)


def fit(problem: Problem, config: KropeConfig, run: Run) -> Encoded:
    """Train φ for every member, then encode the whole log with each member's own φ."""
    raw = problem.transitions
    span = float(np.ptp(problem.dataset.rewards.astype(np.float64))) or 1.0  # all rewards equal: alike, in any unit
    learner = make_learner(config, raw.dim, output_dim(config.dim, raw.dim), problem.gamma)
    hyper = {"learning_rate": run.spread("learning_rate", config.learning_rate)}
    trained = train(learner, raw.with_reward(raw.rows.reward / span), hyper, config.steps, run)
    return Encoded(raw.with_encoder(trained.state.target), (trained,))


KROPE = Encoder(
    name="krope",
    config=KropeConfig,
    fit=fit,
    summary="features whose products are a kernel of rewards to come; lspe is the estimator that they are made for",
    before="lspe",
    presets={"paper": PAPER},  # as of `rope`: the same authors' protocol
    spread=("learning_rate",),
)
