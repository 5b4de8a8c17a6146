"""What ROPE and its rivals share: the form of the learned distance, the network behind it, the loss, the training.

Each is the fixed point of

    d(x₁, x₂) = c·|u₁ − u₂| + γ·E[ d(x₁', x₂') ]

for a signal u of a state-action pair (the reward, say) and a way to take the next actions. It is learned as

    d̃(x₁, x₂) = ½(‖φ(x₁)‖² + ‖φ(x₂)‖²) + β·angle(φ(x₁), φ(x₂))

by bootstrapping over pairs of independently drawn rows:

    minimise  E_D[ huber( c·|u₁ − u₂| + γ·d̃(φ̄(x₁'), φ̄(x₂')) − d̃(φ(x₁), φ̄(x₂)) ) ]

φ̄, the moving average of φ, encodes the second pair and all next pairs, and is the encoder that is used in the end.

As in the authors' code, and unlike everywhere else here, termination does not cut the long-term distance.
"""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Shaped
from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from ropeval.arrays import AnyFloats
from ropeval.data import Problem, Rows, Transitions
from ropeval.encoders.encoder import Encoded
from ropeval.learning.engine import Hyper, Learner, Metrics, Run, train
from ropeval.learning.learner import made_once
from ropeval.learning.networks import MLP, TURNS, Norm, Precision
from ropeval.learning.optimise import Learned, adamw, descend, huber, start
from ropeval.settings import PartConfig

EPS = 5e-5  # keeps the root's gradient finite where two encodings point the same way
TINY = 1e-12  # and the cosine finite where an encoding vanishes
CURVE_ROWS = 4096
CODE_ROWS = 1024

FRACTIONS = {"X/3": 3, "X/2": 2, "X": 1}
MIN_DIM = 4  # LayerNorm takes two degrees of freedom: one feature would be a constant, two would be a sign
Dim = Annotated[int, Field(ge=2)] | Literal["X/3", "X/2", "X"]


class SimilarityConfig(PartConfig):
    steps: PositiveInt = 15_000
    learning_rate: PositiveFloat = 3e-4
    batch: PositiveInt = 256  # pairs of rows
    width: PositiveInt = 256
    depth: PositiveInt = 2
    dim: Dim = "X/2"  # size of φ; X is that of state and action together
    beta: NonNegativeFloat = 1.0  # weight of the angle
    huber_delta: PositiveFloat = 1.0
    tau: PositiveFloat = 0.02
    weight_decay: NonNegativeFloat = 1e-2
    gradient_clip: PositiveFloat = 1.0
    precision: Precision = "float32"  # bfloat16: hidden layers are rounded; for many members at once on a GPU
    match_range: bool = False  # choose c so that d fits what d̃ can express (see RopeRangeConfig); the paper's c is 1


PAPER = {"steps": 300_000, "learning_rate": 1e-5, "batch": 512, "tau": 0.005}
SPREAD = ("learning_rate", "beta", "dim")


Scalar = Float[Array, ""]
Vector = Float[Array, " d"]


# --- the distance ---------------------------------------------------------------------------------------------


def distance(x: Vector, y: Vector, beta: Scalar) -> Scalar:
    """d̃ = ½(‖x‖²+‖y‖²) + β·angle(x, y), for two encodings."""
    cos = x @ y / jnp.sqrt((x @ x) * (y @ y) + TINY)
    return 0.5 * (x @ x + y @ y) + beta * jnp.arctan2(jnp.sqrt(1.0 + EPS - cos**2), cos)


class SimilarityNet(eqx.Module):
    """φ: ReLU layers, linear, LayerNorm, tanh."""

    body: MLP
    norm: Norm

    def __init__(self, key: Array, inputs: int, dim: int, width: int, depth: int, precision: Precision = "float32"):
        self.body, self.norm = MLP(key, inputs, dim, width, depth, precision=precision), Norm(dim)

    def __call__(self, x: Float[Array, "*batch X"], used: Bool[Array, " d"] | None = None) -> Float[Array, "*batch d"]:
        return jnp.tanh(self.norm(self.body(x), used))


class Sized(eqx.Module):
    """φ of which only the features marked in `used` exist; the others are 0 and nothing depends on them.

    So members with encodings of different sizes have one shape, and train together. What they learn is what they
    would learn in a network of their own size: some rows of an orthogonal matrix with more rows are again orthogonal.
    """

    net: SimilarityNet
    used: Bool[Array, "*members d"]  # all of them at once, or one under vmap

    def __call__(self, x: Float[Array, "*batch X"]) -> Float[Array, "*batch d"]:
        return self.net(x, self.used)


def sampled_target(
    signal: Float[Array, "2"], next_phi: Float[Array, "2 d"], gamma: float, beta: Scalar, scale: Scalar
) -> Scalar:
    """The sampled operator: c·|u₁ − u₂| + γ·d̃(x₁', x₂'), for the signals and the next encodings of a pair."""
    return scale * jnp.abs(signal[0] - signal[1]) + gamma * distance(next_phi[0], next_phi[1], beta)


Phi = Callable[[Array], Array]


def loss(
    phi: Phi,
    fixed: Phi,
    x: Float[Array, "2 batch X"],
    next_x: Float[Array, "2 batch X"],
    signal: Float[Array, "2 batch"],
    gamma: float,
    beta: Scalar,
    scale: Scalar,
    delta: float,
) -> Scalar:
    """Over a batch of pairs; `fixed` is φ̄."""
    encoded = fixed(jnp.concatenate([x[1], next_x[0], next_x[1]])).reshape(3, x.shape[1], -1)
    second, next_phi = jax.lax.stop_gradient((encoded[0], encoded[1:]))
    operator = partial(sampled_target, gamma=gamma, beta=beta, scale=scale)
    target = jax.vmap(operator, in_axes=1)(signal, next_phi)  # [batch]
    current = jax.vmap(partial(distance, beta=beta))(phi(x[0]), second)  # [batch]
    return huber(target - current, delta).mean()


# --- a metric, and its learner --------------------------------------------------------------------------------

NextPair = Callable[[Array, Array, Array | None], Array]  # next_x [2, batch, K, X], key, weight -> [2, batch, X]


def independent_actions(
    next_x: Shaped[Array, "2 batch K X"], key: Array, weight: Float[Array, "2 batch K"] | None = None
) -> Shaped[Array, "2 batch X"]:
    """One of the K actions per row and step, as the paper samples one; over the steps all are seen."""
    sides, rows, draws, size = next_x.shape
    if weight is None:  # [2, batch, K]
        chosen = jax.random.randint(key, (sides * rows,), 0, draws)
    else:
        chosen = jax.random.categorical(key, jnp.log(weight.reshape(sides * rows, draws)))
    return next_x.reshape(sides * rows, draws, size)[jnp.arange(sides * rows), chosen].reshape(sides, rows, size)


class Metric(NamedTuple):
    """What tells one metric from another."""

    transitions: Transitions  # to learn from: the reward is the signal u, the next pairs hold the next actions
    next_pair: NextPair = independent_actions  # hashable: it decides which program is compiled


class State(NamedTuple):
    learned: Learned
    used: Bool[Array, "*members d"]  # which features a member has

    @property
    def encoder(self) -> Sized:
        return Sized(self.learned.target, self.used)


@made_once
def make_learner(config: SimilarityConfig, inputs: int, dim: int, gamma: float, next_pair: NextPair) -> Learner:
    """`dim` is the size of the largest encoding among the members; `hyper["dim"]` is each member's own."""
    transform = adamw(config.gradient_clip, config.weight_decay)

    def init(key: Array, hyper: Hyper) -> State:
        net = SimilarityNet(key, inputs, dim, config.width, config.depth, config.precision)
        return State(start(net, transform), jnp.arange(dim) < hyper["dim"])

    def update(state: State, batch: Rows, key: Array, hyper: Hyper) -> tuple[State, Metrics]:
        pair = jax.tree.map(lambda a: a.reshape(2, config.batch, *a.shape[1:]), batch)

        def objective(net: SimilarityNet, *rest: Any) -> Array:
            return loss(Sized(net, state.used), state.encoder, *rest)

        error, gradient = jax.value_and_grad(objective)(
            state.learned.params,
            pair.x,
            next_pair(pair.next_x, key, pair.next_weight),
            pair.reward,
            gamma,
            hyper["beta"],
            hyper["scale"],
            config.huber_delta,
        )
        learned = descend(state.learned, gradient, transform, hyper["learning_rate"], config.tau)
        return State(learned, state.used), {"loss": error}

    def probe(state: State, transitions: Transitions) -> Metrics:
        x = transitions.rows.x
        features = state.encoder(x[:: max(1, len(x) // CURVE_ROWS)])  # [rows, d]
        return {
            "feature_mean": features.mean(axis=0).mean(where=state.used),
            "feature_std": features.std(axis=0).mean(where=state.used),
            # near 1: every feature sits at an end of its range
            "feature_size": jnp.abs(features).mean(axis=0).mean(where=state.used),
            "feature_codes": distinct_codes(features),
        }

    return Learner(init, update, probe, 2 * config.batch, turn=TURNS[config.precision])


def distinct_codes(features: Float[Array, "n d"]) -> Scalar:
    """How many patterns of signs there are in the features, each counted by how common it is: 1/Σp².

    Where all features sit at the ends of their range, this is how many different inputs an estimator is left with.
    """
    some = features[:: max(1, len(features) // CODE_ROWS)]
    signs = jnp.where(some > 0.0, 1.0, -1.0)
    same = signs @ signs.T >= signs.shape[1] - 0.5  # [rows, rows]; exact: they are small integers
    return 1.0 / same.mean()


def output_dim(dim: int | str, inputs: int) -> int:
    """The size of φ. Fractions are the paper's; for tasks smaller than its own they stop at `MIN_DIM`."""
    return dim if isinstance(dim, int) else max(MIN_DIM, inputs // FRACTIONS[dim])


def feature_curves(encode: Phi, transitions: Transitions) -> Metrics:
    """What a curve says of features [rows, d] on some of the log's rows."""
    x = transitions.rows.x
    features = encode(x[:: max(1, len(x) // CURVE_ROWS)])
    return {
        "feature_mean": features.mean(),
        "feature_std": features.std(axis=0).mean(),
        "feature_size": jnp.abs(features).mean(),
    }


def mean_difference(values: Float[AnyFloats, " n"]) -> float:
    """E|v₁ − v₂| over independent pairs of values, by sorting: the i-th smallest is above i others."""
    ordered = np.sort(values.astype(np.float64))
    n = len(ordered)
    return float(2.0 * np.sum((2.0 * np.arange(n) - (n - 1)) * ordered) / n**2)


def range_scale(signal: Float[AnyFloats, " N"], gamma: float, dim: int) -> float:
    """c = (1−γ)·(d/2) / E|u₁ − u₂|; 1 where the signal never varies, and no scale brings anything apart."""
    spread = mean_difference(signal)
    return (1.0 - gamma) * (dim / 2.0) / spread if spread > 0.0 else 1.0


def fit_metric(make: Callable[[Problem], Metric], problem: Problem, config: SimilarityConfig, run: Run) -> Encoded:
    """Train φ for every member on the metric's rows, then encode the whole log with each member's own φ."""
    metric, raw = make(problem), problem.transitions
    dims = [output_dim(dim, raw.dim) for dim in run.own("dim", config.dim)]
    scales = [1.0] * run.members
    if config.match_range:
        signal = np.asarray(metric.transitions.rows.reward)
        by_dim = {dim: range_scale(signal, problem.gamma, dim) for dim in set(dims)}
        scales = [by_dim[dim] for dim in dims]
    widest = max(*dims, *(output_dim(dim, raw.dim) for dim in run.grid.get(f"{run.part}.dim", [])), 0)
    learner = make_learner(config, raw.dim, widest, problem.gamma, metric.next_pair)
    hyper = {
        "dim": jnp.asarray(dims, jnp.int32),
        "learning_rate": run.spread("learning_rate", config.learning_rate),
        "beta": run.spread("beta", config.beta),
        "scale": jnp.asarray(scales, jnp.float32),
    }
    trained = train(learner, metric.transitions, hyper, config.steps, run)
    return Encoded(raw.with_encoder(trained.state.encoder), (trained,))
