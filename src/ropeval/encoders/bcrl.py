"""BCRL: features in which the Bellman operator is linear, so that least squares can solve it.

φ is linearly Bellman complete if, for some matrix M, M φ(x) = [ γ·E φ(x'); r(x) ] for every pair x: reward and
discounted next features are linear in the features, and so is q. With a term that keeps every direction of φ in use:

    minimise over φ, M   E_D ‖ M φ(x) − [ γ φ(x'); r ] ‖²  −  λ·log det( E_D[ φ(x) φ(x)ᵀ ] + 1e-8·I )

M descends over one pass of the data, then φ over the next, and so on; gradients flow through φ(x'), too. φ(x') is the
mean over the drawn actions of π_e, and γ is 0 on terminated steps. The companion estimator is `lspe`.
"""

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from ropeval.data import Problem, Rows, Transitions, expected
from ropeval.encoders.encoder import Encoded, Encoder
from ropeval.encoders.similarity import Dim, feature_curves, output_dim
from ropeval.learning.engine import Hyper, Learner, Metrics, Run, train
from ropeval.learning.learner import made_once
from ropeval.learning.networks import MLP
from ropeval.settings import PartConfig

RIDGE = 1e-8
ROUNDING = float(np.finfo(np.float32).eps)


class BcrlConfig(PartConfig):
    steps: PositiveInt = 15_000
    learning_rate: PositiveFloat = 3e-4
    batch: PositiveInt = 256
    width: PositiveInt = 256
    depth: PositiveInt = 2
    dim: Dim = "X/2"  # size of φ; X is that of state and action together
    coverage: NonNegativeFloat = 1e-6  # λ; the authors of rope took 0 on logs of mixed policies
    block: PositiveInt | None = None  # steps before M and φ change turns; None: one pass over the data
    gradient_norm: PositiveFloat = 1.0  # of φ, clipped to this
    scale_rewards: bool = True  # train on r/rms(r); makes the features independent of the unit of the rewards


# The paper does not say how long it trained BCRL. 12,200 steps are 50 passes over its 1M transitions, half of them φ's.
PAPER = {"steps": 12_200, "batch": 4096, "scale_rewards": False}


def log_determinant(matrix: Array, ridge: float = RIDGE) -> Array:
    """log det(matrix + ridge·I) of a positive semidefinite matrix [d, d], by elimination: the sum of the log pivots.

    Batched LAPACK calls inside a compiled program can deadlock on machines with few cores (seen with jaxlib 0.10.2
    on two); d rank-one updates cost nothing beside a training step.

    The largest pivot goes first. What is left below the rounding of the largest is noise, and to divide by noise ends
    in infinite gradients (seen with 196 features): it counts as that rounding, and has no gradient.
    """
    floor = jax.lax.stop_gradient(jnp.maximum(ridge, ROUNDING * jnp.diag(matrix).max()))

    def eliminate(carry: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Array]:
        rest, unused = carry
        k = jnp.argmax(jnp.where(unused, jnp.diag(rest), -jnp.inf))
        sound = rest[k, k] > floor
        pivot = jnp.where(sound, rest[k, k], floor)
        column = jnp.where(sound, rest[:, k], 0.0)
        return (rest - jnp.outer(column, column) / pivot, unused.at[k].set(False)), jnp.log(pivot)

    size = matrix.shape[0]
    start = (matrix + ridge * jnp.eye(size), jnp.ones(size, bool))
    _, logs = jax.lax.scan(eliminate, start, None, length=size)
    return logs.sum()


class BcrlState(NamedTuple):
    phi: MLP  # with a linear head: q must be linear in φ, and a bounded φ would bound it
    model: Array  # M [d + 1, d]
    phi_optimiser: Any
    model_optimiser: Any
    step: Array


def completeness(phi: MLP, model: Array, row: Rows) -> Array:
    """‖M φ(x) − [γ φ(x'); r]‖² of one step: x [X], next_x [K, X]."""
    weight = None if row.next_weight is None else row.next_weight[None]
    following = row.discount * expected(phi(row.next_x)[None], weight)[0]  # E over a' ~ π_e; [d]
    return jnp.sum((model @ phi(row.x) - jnp.append(following, row.reward)) ** 2)


@made_once
def make_learner(config: BcrlConfig, inputs: int, dim: int, gamma: float, scale: float, block: int) -> Learner:
    """`scale`: the unit that rewards are trained in; `block`: steps before M and φ change turns."""
    phi_transform = optax.chain(optax.clip_by_global_norm(config.gradient_norm), optax.scale_by_adam())
    model_transform = optax.scale_by_adam()

    def init(key: Array, hyper: Hyper) -> BcrlState:
        phi = MLP(key, inputs, dim, config.width, config.depth)
        # Tomorrow's features are guessed to be today's. From M = 0 the first thing φ would learn is to vanish.
        model = jnp.concatenate([gamma * jnp.eye(dim), jnp.zeros((1, dim))])
        return BcrlState(phi, model, phi_transform.init(phi), model_transform.init(model), jnp.int32(0))

    def loss(learned: tuple[MLP, Array], batch: Rows) -> tuple[Array, Metrics]:
        phi, model = learned
        errors = jax.vmap(partial(completeness, phi, model))(batch._replace(reward=batch.reward / scale))
        features = phi(batch.x)  # [batch, d]
        spread = log_determinant(jnp.matmul(features.T, features, precision="highest") / config.batch)
        return errors.mean() - config.coverage * spread, {"loss": errors.mean(), "log_det": spread}

    def update(state: BcrlState, batch: Rows, key: Array, hyper: Hyper) -> tuple[BcrlState, Metrics]:
        (_, metrics), (phi_gradient, model_gradient) = jax.value_and_grad(loss, has_aux=True)(
            (state.phi, state.model), batch
        )
        turn_of_phi = (state.step // block) % 2 == 1
        phi, phi_optimiser = descend(state.phi, phi_gradient, state.phi_optimiser, phi_transform, hyper)
        model, model_optimiser = descend(state.model, model_gradient, state.model_optimiser, model_transform, hyper)
        phi, phi_optimiser = choose(turn_of_phi, (phi, phi_optimiser), (state.phi, state.phi_optimiser))
        model, model_optimiser = choose(turn_of_phi, (state.model, state.model_optimiser), (model, model_optimiser))
        return BcrlState(phi, model, phi_optimiser, model_optimiser, state.step + 1), metrics

    def probe(state: BcrlState, transitions: Transitions) -> Metrics:
        return feature_curves(state.phi, transitions)

    return Learner(init, update, probe, config.batch)


def descend(
    params: Any, gradient: Any, optimiser: Any, transform: optax.GradientTransformation, hyper: Hyper
) -> tuple[Any, Any]:
    direction, optimiser = transform.update(gradient, optimiser, params)
    return jax.tree.map(lambda p, d: p - hyper["learning_rate"] * d, params, direction), optimiser


def choose(first: Array, yes: Any, no: Any) -> Any:
    return jax.tree.map(partial(jnp.where, first), yes, no)


def fit(problem: Problem, config: BcrlConfig, run: Run) -> Encoded:
    """Train φ and M for every member, then encode the whole log with each member's own φ."""
    raw, rewards = problem.transitions, problem.dataset.rewards
    scale = float(np.sqrt(np.mean(rewards.astype(np.float64) ** 2))) if config.scale_rewards else 1.0
    block = config.block or math.ceil(raw.size / config.batch)
    dim = output_dim(config.dim, raw.dim)
    learner = make_learner(config, raw.dim, dim, problem.gamma, scale or 1.0, block)
    hyper = {"learning_rate": run.spread("learning_rate", config.learning_rate)}
    trained = train(learner, raw, hyper, config.steps, run)
    return Encoded(raw.with_encoder(trained.state.phi), (trained,))


BCRL = Encoder(
    name="bcrl",
    config=BcrlConfig,
    fit=fit,
    summary="linearly Bellman complete features; lspe is the estimator that they are made for",
    before="lspe",
    presets={"paper": PAPER},
    spread=("learning_rate",),
)
