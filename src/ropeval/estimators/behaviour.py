"""The policy that made the log, fitted by maximum likelihood where the log does not hold its probabilities.

    maximise  E_D[ log π̂_b(a|s) ]

    continuous   u = T(a),  u ~ N(linear(s) + m(s)·σ, (σ·exp l(s))²),   log π̂_b(a|s) = log N(u) + log|T'(a)|
    discrete     a ~ softmax(f(s))

T is the identity (Gaussian) or the inverse of a tanh scaled to a box (tanh-Gaussian), chosen for every action
dimension by the likelihood of its linear-Gaussian fit: actions of a squashed policy crowd at the ends of their box,
where a Gaussian explains them badly, and actions that live in no box at all are explained badly by a tanh. The box is
[−1, 1], where that holds the logged actions, or their range, a little widened. No evaluation policy is looked at: one
fit serves them all.

m and l are one network that starts at zero, that is, at the linear fit. It sees every row a limited number of times:
a network that has learned the log by heart makes the logged actions too likely, and all ratios too small.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from ropeval.arrays import Booleans, Floats, Integers, Singles
from ropeval.data import Log, Rows, Transitions
from ropeval.learning.engine import Hyper, Learner, Metrics, Run, Trained, train
from ropeval.learning.learner import made_once
from ropeval.learning.networks import MLP
from ropeval.learning.optimise import Learned, descending
from ropeval.settings import PartConfig

Box = tuple[float, float]
WIDENED = 0.01  # of the logged range, at each end: an action on the edge of a tanh's box is infinitely far out
EDGE = 1e-7  # actions stored in float32 can sit on the edge itself; the evaluation policies clip there, too
LOG_STD_LIMIT = 5.0  # either way, of a standardised residual: no state is e^5 times as noisy as the rest
NEARLY_DETERMINISTIC = 1e-3  # residual spread, relative to the spread of the actions
PROBED = 4096  # rows behind a point of the curve


class BehaviourConfig(PartConfig):
    steps: PositiveInt = 5_000
    epochs: PositiveInt = 50  # at most so many passes over the log, whatever `steps` says
    learning_rate: PositiveFloat = 1e-3
    batch: PositiveInt = 256
    width: PositiveInt = 64
    depth: PositiveInt = 2
    family: Literal["auto", "gaussian", "tanh"] = "auto"  # of continuous actions
    tau: PositiveFloat = 0.01  # step of the averaged parameters, which are the ones used
    weight_decay: NonNegativeFloat = 1e-2
    gradient_clip: PositiveFloat = 1.0  # of every entry


class FitsBehaviour(PartConfig):
    """Mixed into the settings of a part that needs the behaviour policy beside what it trains itself."""

    behaviour_steps: PositiveInt = 5_000  # where the log has no probabilities

    @property
    def behaviour(self) -> BehaviourConfig:
        return BehaviourConfig(steps=self.behaviour_steps)

    def stages(self, part: str) -> dict[str, int]:
        return {"behaviour": self.behaviour_steps, **super().stages(part)}


@dataclass(frozen=True, eq=False)
class Behaviour:
    log_probs: Floats  # [M, N] of the logged actions
    trained: Trained
    warnings: tuple[str, ...]
    exact: bool = False  # the logged actions follow the states almost exactly, in some dimension


def fit_behaviour(log: Log, config: BehaviourConfig, run: Run) -> Behaviour:
    """Fit one model per member, each from its own key."""
    dataset, (mean, std) = log.dataset, log.normaliser
    states = (dataset.observations - mean) / std  # [N, S]
    warnings: tuple[str, ...] = ()
    exact = False
    if dataset.num_actions is not None:
        outcome = dataset.actions.astype(np.float32)[:, None]  # [N, 1]
        offset = np.zeros(len(dataset))
        learner = make_learner(config, states.shape[1], dataset.num_actions, True)
    else:
        residual = standardise(dataset.actions, states, config.family)
        outcome, offset = residual.value.astype(np.float32), residual.log_slope
        learner = make_learner(config, states.shape[1], outcome.shape[1], False)
        exact = bool(residual.exact.any())
        if exact:
            warnings = (
                "the logged actions follow the states almost exactly: the behaviour policy looks deterministic, and "
                "importance ratios against it mean little",
            )
    data = _as_transitions(np.concatenate([states, outcome], axis=1), dataset.starts)
    steps = min(config.steps, max(1, config.epochs * len(dataset) // config.batch))
    hyper = {"learning_rate": run.spread("learning_rate", config.learning_rate)}
    trained = train(learner, data, hyper, steps, run)
    density = density_of(states.shape[1], dataset.num_actions is not None)
    fitted = data.values(density, trained.state.target, "x")  # [M, N]
    return Behaviour(np.asarray(fitted, np.float64) + offset, trained, warnings, exact)


# --- the network ----------------------------------------------------------------------------------------------


def log_density(net: MLP, x: Array, size: int, discrete: bool) -> Array:
    """Of one row [S + outcome]: the log-probability of its action, or the log-density of its residual."""
    state, outcome = x[:size], x[size:]
    output = net(state)
    if discrete:
        return jax.nn.log_softmax(output)[outcome[0].astype(int)]
    shift, log_std = jnp.split(output, 2)
    log_std = LOG_STD_LIMIT * jnp.tanh(log_std / LOG_STD_LIMIT)
    return (-0.5 * ((outcome - shift) * jnp.exp(-log_std)) ** 2 - log_std - 0.5 * np.log(2 * np.pi)).sum()


@made_once
def density_of(size: int, discrete: bool) -> Callable[[MLP, Array], Array]:
    return partial(log_density, size=size, discrete=discrete)


@made_once
def make_learner(config: BehaviourConfig, size: int, actions: int, discrete: bool) -> Learner:
    """`size`: of a state; `actions`: how many there are (discrete), or the length of one."""
    density = jax.vmap(density_of(size, discrete), in_axes=(None, 0))

    def net(key: Array) -> MLP:
        made = MLP(key, size, actions if discrete else 2 * actions, config.width, config.depth)
        return eqx.tree_at(lambda n: n.head.weight, made, jnp.zeros_like(made.head.weight))

    def loss(net: MLP, average: MLP, batch: Rows, hyper: Hyper, key: Array) -> Array:
        return -density(net, batch.x).mean()

    def probe(state: Learned, transitions: Transitions) -> Metrics:
        x = transitions.rows.x
        return {"log_likelihood": density(state.target, x[:: max(1, len(x) // PROBED)]).mean()}

    return descending(net, loss, probe, config, config.batch)


def _as_transitions(x: Singles, starts: Integers) -> Transitions:
    """Rows for the engine: only `x` is used here."""
    nothing = jnp.zeros(len(x), jnp.float32)
    rows = Rows(jnp.asarray(x), nothing[:, None, None], nothing, nothing)
    return Transitions(rows, jnp.zeros((1, 1, 1)), starts=jnp.asarray(starts))


# --- continuous actions: the transformation and the linear fit ------------------------------------------------


@dataclass(frozen=True, eq=False)
class Residual:
    """What the linear fit leaves, in units of its spread: log π(a|s) = log p(value|s) + log_slope."""

    value: Floats  # [N, A]
    log_slope: Floats  # [N] log|d value/da|
    squashed: Booleans  # [A] which dimensions were taken through a tanh
    exact: Booleans  # [A] which dimensions leave next to nothing


def standardise(actions: Singles, states: Singles, family: Literal["auto", "gaussian", "tanh"] = "auto") -> Residual:
    """Explain every action dimension by a linear-Gaussian fit in its likeliest transformation."""
    design = np.concatenate([states, np.ones((len(states), 1))], axis=1, dtype=np.float64)  # [N, S+1]
    spectrum = np.linalg.eigh(design.T @ design)
    values, slopes, squashed, exact = [], np.zeros(len(actions)), [], []
    for column in actions.astype(np.float64).T:
        candidates = _candidates(column, family)
        fits = [_fit(design, *spectrum, *transform(column, b), b is not None) for b in candidates]
        best = max(fits, key=lambda fit: fit.likelihood)
        values.append(best.value)
        slopes += best.log_slope
        squashed.append(best.squashed)
        exact.append(best.exact)
    return Residual(np.stack(values, axis=1), slopes, np.array(squashed), np.array(exact))


def transform(column: Floats, box: Box | None) -> tuple[Floats, Floats]:
    """u = T(a) and log|T'(a)|: the identity, or the inverse of a tanh scaled to the box."""
    if box is None:
        return column, np.zeros_like(column)
    half = (box[1] - box[0]) / 2.0
    squashed = np.clip((column - box[0]) / half - 1.0, -1.0 + EDGE, 1.0 - EDGE)
    return np.arctanh(squashed), -np.log1p(-(squashed**2)) - np.log(half)


def _candidates(column: Floats, family: str) -> list[Box | None]:
    low, high = float(column.min()), float(column.max())
    margin = WIDENED * (high - low)
    boxes: list[Box] = [(low - margin, high + margin)] + ([(-1.0, 1.0)] if low >= -1.0 and high <= 1.0 else [])
    if family == "gaussian" or low == high:
        return [None]
    return list(boxes) if family == "tanh" else [None, *boxes]


@dataclass(frozen=True, eq=False)
class _Fit:
    value: Floats  # [N]
    log_slope: Floats  # [N]
    likelihood: float  # mean log-likelihood of the actions
    squashed: bool
    exact: bool


def _fit(design: Floats, eigenvalues: Floats, vectors: Floats, u: Floats, log_slope: Floats, squashed: bool) -> _Fit:
    """Ridge regression of u on the states, as strong as what it leaves unexplained: this vanishes in a long log, and
    keeps a short one from being explained away."""
    rows, columns = design.shape
    centre, deviation = u.mean(), float(u.std())
    projected = vectors.T @ (design.T @ (u - centre))
    spread = deviation
    for _ in range(2):
        shrunk = np.maximum(eigenvalues, 0.0) + columns * (spread / deviation if deviation else 1.0) ** 2 + 1e-9
        residual = u - centre - design @ (vectors @ (projected / shrunk))
        freedom = max(1.0, rows - float((np.maximum(eigenvalues, 0.0) / shrunk).sum()))
        spread = float(np.sqrt((residual**2).sum() / freedom))
    floor = NEARLY_DETERMINISTIC * (deviation or 1.0)
    used = max(spread, floor)
    value = residual / used
    likelihood = -0.5 * float((value**2).mean()) - np.log(used) + float(log_slope.mean())
    return _Fit(value, log_slope - np.log(used), likelihood, squashed, spread <= floor)
