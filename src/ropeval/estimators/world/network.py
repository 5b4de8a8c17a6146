"""The network, and what it is trained by.

    minimise  E_D[ (1 − d)·( ‖Δ − Δ̂(s, a)‖² + Σ_choices −log p̂(v | s, a) ) / columns  +  (r − r̂(s, a))²  +  BCE(d, d̂) ]

in standardised units. The mean of a change is fitted by squared error: with a likelihood, a network that may call its
error noise stops correcting it (measured: 4 to 8 times the error on held-out rows). Where a terminating step leads
says nothing about those that go on, so it is left out. LayerNorm keeps errors from feeding on themselves in rollouts.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from ropeval.data import Rows, Transitions
from ropeval.estimators.world.units import Units
from ropeval.learning.engine import Hyper, Learner, Metrics
from ropeval.learning.learner import made_once
from ropeval.learning.networks import MLP
from ropeval.learning.optimise import Learned, descend, start

PROBED = 4096  # rows behind a point of the curve
LAST_RATE = 0.01  # the learning rate falls along a cosine to this share of itself
GRADIENT_NORM = 10.0


class Sizes(NamedTuple):
    """Of the networks and of their training."""

    steps: int
    batch: int
    width: int
    depth: int
    tau: float  # step of the averaged parameters, which are the ones used
    weight_decay: float
    norm: bool = True  # LayerNorm

    def __str__(self) -> str:
        plain = "" if self.norm else " without LayerNorm"
        return f"{self.depth} layers of {self.width}{plain}, {self.steps:,} steps of {self.batch} rows"

    def shortened(self, steps: int) -> "Sizes":
        return self._replace(steps=steps, tau=averaging(steps))


def averaging(steps: int) -> float:
    """The averaged parameters look back over a tenth of the training, at most."""
    return float(np.clip(10.0 / steps, 1e-3, 0.1))


class Annealed(NamedTuple):
    learned: Learned
    step: Array

    @property
    def target(self) -> Any:
        return self.learned.target


class Outcome(NamedTuple):
    """What the network says of one pair, in its own units."""

    change: Array  # [D]
    scores: tuple[Array, ...]  # of every choice, [C]
    reward: Array  # []
    end: Array  # [] logit


def split(output: Array, moving: int, choices: tuple[int, ...]) -> Outcome:
    scores, place = [], moving
    for size in choices:
        scores.append(output[place : place + size])
        place += size
    return Outcome(output[:moving], tuple(scores), output[place], output[place + 1])


def row_loss(net: MLP, row: Rows, moving: int, choices: tuple[int, ...]) -> Array:
    """Of one row: `next_x` [1, D + choices] is where it leads, `discount` whether the episode goes on."""
    found, outcome = split(net(row.x), moving, choices), row.next_x[0]
    state = ((found.change - outcome[:moving]) ** 2).sum()
    for scores, number in zip(found.scores, outcome[moving:], strict=True):
        state = state - jax.nn.log_softmax(scores)[number.astype(int)]
    ends = -jax.nn.log_sigmoid(jnp.where(row.discount > 0, -found.end, found.end))
    return row.discount * state / max(1, moving + len(choices)) + (row.reward - found.reward) ** 2 + ends


@made_once
def make_learner(sizes: Sizes, pair: int, moving: int, choices: tuple[int, ...]) -> Learner:
    """`pair`: length of a state and an action; `moving`: columns that change; `choices`: how many values each has."""
    outputs = moving + sum(choices) + 2
    loss_of = jax.vmap(partial(row_loss, moving=moving, choices=choices), in_axes=(None, 0))

    def loss(net: MLP, rows: Rows) -> Array:
        return loss_of(net, rows).mean()

    return annealed_learner(sizes, pair, outputs, loss)


@made_once
def make_value_learner(sizes: Sizes, states: int) -> Learner:
    """V_b: the log's own returns regressed on its states. `reward` holds them, `discount` which ones are known."""

    def loss(net: MLP, rows: Rows) -> Array:
        error = net(rows.x[:, :states])[:, 0] - rows.reward
        return (rows.discount * error**2).mean()

    return annealed_learner(sizes, states, 1, loss)


def annealed_learner(sizes: Sizes, inputs: int, outputs: int, loss: Callable[[MLP, Rows], Array]) -> Learner:
    """Adam down the loss, its rate along a cosine; the averaged parameters are the ones used."""
    transform = optax.chain(
        optax.clip_by_global_norm(GRADIENT_NORM), optax.scale_by_adam(), optax.add_decayed_weights(sizes.weight_decay)
    )

    def init(key: Array, hyper: Hyper) -> Annealed:
        net = MLP(key, inputs, outputs, sizes.width, sizes.depth, norm=sizes.norm, activation="silu")
        return Annealed(start(net, transform), jnp.int32(0))

    def update(state: Annealed, batch: Rows, key: Array, hyper: Hyper) -> tuple[Annealed, Metrics]:
        error, gradient = jax.value_and_grad(loss)(state.learned.params, batch)
        share = 0.5 * (1.0 + jnp.cos(jnp.pi * jnp.minimum(1.0, state.step / sizes.steps)))
        rate = hyper["learning_rate"] * (LAST_RATE + (1.0 - LAST_RATE) * share)
        learned = descend(state.learned, gradient, transform, rate, sizes.tau)
        return Annealed(learned, state.step + 1), {"loss": error}

    def probe(state: Annealed, transitions: Transitions) -> Metrics:
        every = max(1, transitions.size // PROBED)
        return {"fit": loss(state.target, jax.tree.map(lambda a: a[::every], transitions.rows))}

    return Learner(init, update, probe, sizes.batch)


# --- members together -----------------------------------------------------------------------------------------


class Prediction(NamedTuple):
    """For one pair, in the network's units: by every member, or their mean."""

    change: Array  # [D]
    chances: tuple[Array, ...]  # of every choice: [C] probabilities
    reward: Array  # []
    end: Array  # [] probability


def predict(net: MLP, units: Units, x: Array) -> Prediction:
    """Of one network for one input [S + A]."""
    found = split(net(x), len(units.moving), units.choices)
    chances = tuple(jax.nn.softmax(scores) for scores in found.scores)
    return Prediction(found.change, chances, found.reward, units.ends * jax.nn.sigmoid(found.end))


def disagreement(all_: Prediction, weights: Array) -> Array:
    """[3] how far the members' predictions [M, …] of one pair lie apart: of changes, of choices, of the reward."""

    def spread(values: Array) -> Array:  # [M, k] → root of the mean over k of the members' variance
        mean = weights @ values
        return jnp.sqrt((weights @ (values - mean[None]) ** 2).mean()) if values.shape[1] else jnp.float32(0.0)

    chances = [spread(member) for member in all_.chances]
    return jnp.stack(
        [spread(all_.change), jnp.stack(chances).max() if chances else jnp.float32(0.0), spread(all_.reward[:, None])]
    )


def mean_prediction(all_: Prediction, weights: Array) -> Prediction:
    """Over members [M], weighted (a broken member weighs nothing)."""
    return jax.tree.map(lambda values: jnp.tensordot(weights, values, axes=1), all_)
