"""Fitted Q-evaluation: temporal differences towards the evaluation policy's own action values.

    minimise  E_D[ huber( r + γ·E_{a'~π_e}[ q̄(s', a') ] − q(s, a) ) ],      ρ̂(π_e) = E_{s₀, a₀~π_e}[ q̄(s₀, a₀) ]

q̄ is the exponentially moving average of q. The network's output is divided by 1−γ, so that a network of ordinary
size of output can express values of ordinary size of reward.

Where only the first H steps count, q is one network for all numbers h of steps to go: h/H is one more input, and

    q_h(s, a) = Σ_{t<h} γ^t · network(s, a, h/H),      q_h(s, a) ← r + γ·E_{a'~π_e}[ q̄_{h−1}(s', a') ],     q_0 = 0

with an h of its own for every row of a batch, evenly from 1 to H: a step of the log tells about all of them. Under the
names that the paper's tables use:

    fqe        as above
    fqe-clip   targets are clipped to all that the logged rewards allow (`bounds.py`): [r_min, r_max]/(1−γ) at most
    fqe-deep   four hidden layers, and 500,000 steps in the paper
    fqe-ln     layer normalisation after each hidden layer
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

from ropeval.arrays import Floats, Integers
from ropeval.data import Problem, Rows, Transitions, expected
from ropeval.data.bounds import value_bounds
from ropeval.estimators.estimator import Estimated, Estimator, averaged
from ropeval.learning.engine import Hyper, Learner, Metrics, Run, Trained, train
from ropeval.learning.networks import MLP
from ropeval.learning.optimise import Learned, adamw, descend, huber, start
from ropeval.settings import PartConfig

FAMILY = "fitted Q"
FEWEST_STEPS = 3_000  # however small the log is
CURVE_PAIRS = 4096  # initial pairs behind a point of the curve; the final estimate takes all of them


class FQEConfig(PartConfig):
    steps: PositiveInt = 15_000
    passes: PositiveFloat | None = 100.0  # over the log, at most; None, as where steps are given: no such limit
    learning_rate: PositiveFloat = 3e-4
    batch: PositiveInt = 256
    width: PositiveInt = 256
    depth: PositiveInt = 2
    layer_norm: bool = False  # after each hidden layer of q
    clip_targets: bool = False  # to what the logged rewards allow: the paper's FQE-CLIP
    scale_rewards: bool = True  # train on r/rms(r); makes the answer follow the unit of the rewards
    huber_delta: PositiveFloat = 100.0  # in units of the (scaled) rewards; small values bias noisy problems to medians
    tau: PositiveFloat = 0.02  # step of the target towards the parameters
    weight_decay: NonNegativeFloat = 1e-2
    gradient_clip: PositiveFloat = 1.0  # of every entry

    @model_validator(mode="before")
    @classmethod
    def _given_steps_are_meant(cls, values: Any) -> Any:
        return {"passes": None, **values} if isinstance(values, dict) and "steps" in values else values

    def steps_for(self, rows: int) -> int:
        """Fewer on a small log, which many passes teach by heart; but q must have time to see as far as γ looks."""
        if self.passes is None:
            return self.steps
        return min(self.steps, max(FEWEST_STEPS, round(self.passes * rows / self.batch)))


class FQEClipConfig(FQEConfig):
    clip_targets: bool = True


class FQEDeepConfig(FQEConfig):
    depth: PositiveInt = 4


class FQELNConfig(FQEConfig):
    layer_norm: bool = True


PAPER = {
    "steps": 300_000,
    "learning_rate": 1e-5,
    "batch": 512,
    "tau": 0.005,
    "scale_rewards": False,
    "huber_delta": 1.0,
}


def action_value(q: MLP, x: Float[Array, "*batch X"], gamma: float) -> Float[Array, "*batch"]:
    """q(s, a) for features of pairs."""
    return q(x)[..., 0] / (1.0 - gamma)


def timed_value(q: MLP, x: Float[Array, "*batch X"], left: Int[Array, ""], gamma: float, horizon: int) -> Array:
    """q(s, a) for features of pairs, with so many steps to go."""
    share = jnp.broadcast_to(left / horizon, (*x.shape[:-1], 1)).astype(x.dtype)
    return q(jnp.concatenate([x, share], axis=-1))[..., 0] * _reach(left, gamma)


def _reach(left: Array, gamma: float) -> Array:
    """Σ γ^t over the steps to go."""
    return left * 1.0 if gamma == 1.0 else (1.0 - gamma**left) / (1.0 - gamma)


class Timed(NamedTuple):
    """A network and the steps to go, as one model to read out."""

    q: MLP
    left: Array


@lru_cache(maxsize=64)
def value_function(gamma: float, horizon: int | None = None) -> Callable[[Any, Array], Array]:
    """Of a network, or of a `Timed` one where there is a horizon."""
    if horizon is None:
        return partial(action_value, gamma=gamma)
    return lambda model, x: timed_value(model.q, x, model.left, gamma, horizon)


@lru_cache(maxsize=64)
def make_learner(
    config: FQEConfig, dim: int, gamma: float, low: float = 0.0, high: float = 0.0, horizon: int | None = None
) -> Learner:
    """`low`, `high`: the least and the most that a policy can be worth, which only clipped targets ask for."""
    transform = adamw(config.gradient_clip, config.weight_decay)
    timed = horizon is not None

    def value(q: MLP, x: Float[Array, "*batch X"], left: Int[Array, " batch"] | None) -> Float[Array, "*batch"]:
        if horizon is None or left is None:
            return action_value(q, x, gamma)
        return jax.vmap(partial(timed_value, q, gamma=gamma, horizon=horizon))(x, left)

    def init(key: Array, hyper: Hyper) -> Learned:
        return start(MLP(key, dim + timed, 1, config.width, config.depth, config.layer_norm), transform)

    def loss(
        q: MLP, target: Float[Array, " batch"], x: Float[Array, "batch X"], left: Int[Array, " batch"] | None
    ) -> Float[Array, ""]:
        return huber(target - value(q, x, left), config.huber_delta).mean()

    def update(state: Learned, batch: Rows, key: Array, hyper: Hyper) -> tuple[Learned, Metrics]:
        left = None if horizon is None else jax.random.randint(key, batch.reward.shape, 1, horizon + 1)
        next_values = value(state.target, batch.next_x, None if left is None else left - 1)  # [batch, K]
        bootstrap = batch.discount * expected(next_values, batch.next_weight)  # E over a' ~ π_e; [batch]
        target = batch.reward + bootstrap
        if config.clip_targets:
            part = 1.0 if left is None or horizon is None else _reach(left, gamma) / _reach(jnp.int32(horizon), gamma)
            target = jnp.clip(target, low * part, high * part)
        error, gradient = jax.value_and_grad(loss)(state.params, target, batch.x, left)
        return descend(state, gradient, transform, hyper["learning_rate"], config.tau), {"loss": error}

    def probe(state: Learned, transitions: Transitions) -> Metrics:
        initial_x, weight = transitions.initial_x, transitions.initial_weight
        every = max(1, initial_x.shape[0] * initial_x.shape[1] // CURVE_PAIRS)
        some = initial_x[::every]
        left = None if horizon is None else jnp.full(len(some), horizon)
        values = value(state.target, some, left)  # [episodes, K]
        return {"estimate": expected(values, None if weight is None else weight[::every]).mean()}

    return Learner(init, update, probe, config.batch)


@dataclass(frozen=True, eq=False)
class FittedQ:
    """Every member's q̄, and its values on the data that it was fitted to."""

    trained: Trained
    transitions: Transitions
    gamma: float
    scale: float  # the unit of reward that it was trained in
    horizon: int | None = None

    def backup(self, rows: Int[Integers, " n"]) -> tuple[Float[Floats, "M n"], Float[Floats, "M n"]]:
        """q̄(s, a) and r + γ·E_{a'~π_e} q̄(s', a') of some logged steps, as if they were the first of an episode."""
        data = self.transitions.rows
        reward, discount = (np.asarray(a)[None, rows].astype(np.float64) for a in (data.reward, data.discount))
        return self._means("x", rows), reward + discount * self._means("next_x", rows, gone=1)

    def on_logged(self) -> Float[Floats, "M N"]:
        """q̄(s, a) of every logged step."""
        return self._means("x") if self.horizon is None else self._in_time("x")

    def on_next(self) -> Float[Floats, "M N"]:
        """E_{a'~π_e} q̄(s', a') of every logged step, over the drawn actions."""
        return self._means("next_x") if self.horizon is None else self._in_time("next_x")

    def _in_time(self, of: Literal["x", "next_x"]) -> Float[Floats, "M N"]:
        """Every step with what is left at its time; 0 beyond the horizon. One time after another, and always as many
        rows as there are episodes, so that one program serves all times."""
        assert self.horizon is not None
        starts = np.asarray(self.transitions.starts)
        lengths = np.diff(starts)
        result = np.zeros((len(jax.tree.leaves(self.trained.state.target)[0]), self.transitions.size))
        for time in range(min(self.horizon, int(lengths.max()))):
            rows = (starts[:-1] + time)[lengths > time]
            filled = np.resize(rows, len(lengths))
            result[:, rows] = self._means(of, filled, gone=time + (of == "next_x"))[:, : len(rows)]
        return result

    def on_initial(self) -> Float[Floats, "M E"]:
        """E_{a~π_e} q̄(s₀, a) of every episode, over the drawn actions."""
        return self._means("initial_x")

    def _means(
        self, of: Literal["x", "next_x", "initial_x"], rows: Int[Integers, " n"] | None = None, gone: int = 0
    ) -> Float[Floats, "M n"]:
        """Over the draws where there are several. `gone`: steps of the horizon that lie behind."""
        models = self.trained.state.target
        if self.horizon is not None:
            members = len(jax.tree.leaves(models)[0])
            models = Timed(models, jnp.full(members, self.horizon - gone))
        found = self.transitions.values(value_function(self.gamma, self.horizon), models, of, rows)
        values = np.asarray(found, np.float64) * self.scale
        if of == "x":
            return values
        weight = self.transitions.rows.next_weight if of == "next_x" else self.transitions.initial_weight
        if weight is not None:
            weight = np.asarray(weight, np.float64)[slice(None) if rows is None else rows]
        return np.stack([expected(own, weight) for own in values])  # of every member


def fit_q(problem: Problem, config: FQEConfig, run: Run) -> FittedQ:
    """Train q for every member."""
    rewards = problem.dataset.rewards
    scale = float(np.sqrt(np.mean(np.square(rewards, dtype=np.float64)))) if config.scale_rewards else 1.0
    scale = scale or 1.0  # all rewards zero: any unit will do
    # Rewards are scaled in the data and not in the program, so that one compiled program serves all logs.
    scaled = problem.transitions.with_reward(problem.transitions.rows.reward / scale)
    horizon = problem.horizon
    allowed = problem.log.bounds if horizon is None else value_bounds(problem.dataset, problem.gamma, horizon)
    bounds = tuple(end / scale for end in allowed) if config.clip_targets else (0.0, 0.0)
    learner = make_learner(config, problem.transitions.dim, problem.gamma, *bounds, horizon)
    hyper = {"learning_rate": run.spread("learning_rate", config.learning_rate)}
    trained = train(learner, scaled, hyper, config.steps_for(scaled.size), run, bound=problem.reward_bound / scale)
    trained = replace(trained, curves={**trained.curves, "estimate": trained.curves["estimate"] * scale})
    return FittedQ(trained, problem.transitions, problem.gamma, scale, horizon)


def estimate(problem: Problem, config: FQEConfig, run: Run) -> Estimated:
    """Mean of every member's q̄ over the initial states and the policy's actions there."""
    fitted = fit_q(problem, config, run)
    return averaged(run, fitted.on_initial(), trained=(fitted.trained,), q=fitted)


def _entry(name: str, config: type[FQEConfig], summary: str, **paper: int) -> Estimator:
    presets = {"paper": PAPER | paper}
    return Estimator(
        name,
        config,
        estimate,
        summary,
        takes_features=True,
        family=FAMILY,
        presets=presets,
        spread=("learning_rate",),
        by_group=True,
        takes_horizon=True,
    )


FQE = _entry("fqe", FQEConfig, "fitted Q-evaluation")
FQE_CLIP = _entry("fqe-clip", FQEClipConfig, "fitted Q-evaluation with targets clipped to what the rewards allow")
FQE_DEEP = _entry("fqe-deep", FQEDeepConfig, "fitted Q-evaluation with four hidden layers", steps=500_000)
FQE_LN = _entry("fqe-ln", FQELNConfig, "fitted Q-evaluation with layer normalisation")
