"""The update that every learned part shares: clipped AdamW, and a slow copy of the parameters."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import optax
from jax import Array
from jaxtyping import Float

from ropeval.data.transitions import Rows, Transitions
from ropeval.learning.learner import Hyper, Learner, Metrics

Loss = Callable[[Any, Any, Rows, Hyper, Array], Array]  # of parameters, their average, a batch; with a key to draw with


class Learned(NamedTuple):
    """The state of a network in training."""

    params: Any
    target: Any  # exponentially moving average of params; the copy that is used in the end
    optimiser: Any


def adamw(clip: float, weight_decay: float) -> optax.GradientTransformation:
    """AdamW up to its learning rate (per member, see `descend`); every gradient entry is clipped to ±`clip`."""
    return optax.chain(
        optax.clip(clip), optax.scale_by_adam(b1=0.9, b2=0.999, eps=1e-8), optax.add_decayed_weights(weight_decay)
    )


def start(params: Any, transform: optax.GradientTransformation) -> Learned:
    return Learned(params, params, transform.init(params))


def descend(
    state: Learned, gradient: Any, transform: optax.GradientTransformation, learning_rate: Float[Array, ""], tau: float
) -> Learned:
    """One step down the gradient, and the target a step of τ towards the new parameters."""
    direction, optimiser = transform.update(gradient, state.optimiser, state.params)
    params = jax.tree.map(lambda p, d: p - learning_rate * d, state.params, direction)
    target = jax.tree.map(lambda t, p: t + tau * (p - t), state.target, params)
    return Learned(params, target, optimiser)


def huber(error: Float[Array, "*batch"], delta: float) -> Float[Array, "*batch"]:
    """½e² where |e| ≤ δ, δ(|e| − ½δ) beyond."""
    return optax.huber_loss(error, delta=delta)


def descending(
    net: Callable[[Array], Any],
    loss: Loss,
    probe: Callable[[Learned, Transitions], Metrics],
    config: Any,
    rows: int,
    segment: int = 1,
    turn: int = 1,
) -> Learner:
    """Parameters that begin as `net(key)` and go down the loss, whose gradient is taken in them alone.

    Of the part's settings, `gradient_clip`, `weight_decay` and `tau` are asked for, and `learning_rate` of each member.
    """
    transform = adamw(config.gradient_clip, config.weight_decay)

    def init(key: Array, hyper: Hyper) -> Learned:
        return start(net(key), transform)

    def update(state: Learned, batch: Rows, key: Array, hyper: Hyper) -> tuple[Learned, Metrics]:
        error, gradient = jax.value_and_grad(loss)(state.params, state.target, batch, hyper, key)
        return descend(state, gradient, transform, hyper["learning_rate"], config.tau), {"loss": error}

    return Learner(init, update, probe, rows, segment, turn)
