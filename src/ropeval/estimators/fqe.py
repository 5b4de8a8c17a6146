"""Fitted Q-evaluation: temporal differences towards the evaluation policy's own action values.

    minimise  E_D[ huber( r + γ·E_{a'~π_e}[ q̄(s', a') ] − q(s, a) ) ],      ρ̂(π_e) = E_{s₀, a₀~π_e}[ q̄(s₀, a₀) ]

q̄ is the exponentially moving average of q. The network's output is divided by 1−γ, so that a network of ordinary
size of output can express values of ordinary size of reward. Under the names that the paper's tables use:

    fqe        as above
    fqe-clip   targets are clipped to all that the logged rewards allow (`bounds.py`): [r_min, r_max]/(1−γ) at most
    fqe-deep   four hidden layers, and 500,000 steps in the paper
    fqe-ln     layer normalisation after each hidden layer
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int
from numpy.typing import NDArray
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

from ropeval.data import Problem, Rows, Transitions, expected
from ropeval.estimators.estimator import Estimated, Estimator
from ropeval.learning.engine import Hyper, Learner, Metrics, Run, Trained, train
from ropeval.learning.networks import MLP
from ropeval.learning.optimise import Learned, adamw, descend, huber, start
from ropeval.settings import PartConfig

Floats = NDArray[np.float64]
Value = Callable[[Any, Array], Array]  # (network, features of pairs) -> their values
Loss = Callable[[MLP, MLP, Rows, Hyper], Array]
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


# The published deep off-policy evaluation benchmark's: squared error, no clipping of gradients. (Its own bounds are
# [r_min, r_max]/(1−γ); ours are tighter where episodes are known to end.)
DOPE = {
    "steps": 1_000_000,
    "learning_rate": 3e-4,
    "batch": 256,
    "tau": 0.005,
    "clip_targets": True,
    "huber_delta": 1e3,  # beyond every error; much more, and float32 loses the small ones' gradient in δ − δ
    "weight_decay": 1e-5,
    "gradient_clip": 1e9,
}


def action_value(q: MLP, x: Float[Array, "*batch X"], gamma: float) -> Float[Array, "*batch"]:
    """q(s, a) for features of pairs."""
    return q(x)[..., 0] / (1.0 - gamma)


@lru_cache(maxsize=64)
def value_function(gamma: float) -> Value:
    return partial(action_value, gamma=gamma)


def bootstrapped(value: Value, target: MLP, batch: Rows) -> Float[Array, " batch"]:
    """r + γ·E_{a'~π_e} q̄(s', a')."""
    next_values = value(target, batch.next_x)  # [batch, K]
    return batch.reward + batch.discount * expected(next_values, batch.next_weight)


@lru_cache(maxsize=64)
def make_learner(config: FQEConfig, dim: int, gamma: float, low: float = 0.0, high: float = 0.0) -> Learner:
    """`low`, `high`: the least and the most that a policy can be worth, which only clipped targets ask for."""
    value = partial(action_value, gamma=gamma)

    def loss(q: MLP, q_bar: MLP, batch: Rows, hyper: Hyper) -> Float[Array, ""]:
        target = bootstrapped(value, q_bar, batch)
        if config.clip_targets:
            target = jnp.clip(target, low, high)
        return huber(target - value(q, batch.x), config.huber_delta).mean()

    return td_learner(config, dim, value, loss)


def td_learner(
    config: FQEConfig,
    dim: int,
    value: Value,
    loss: Loss,
    outputs: int = 1,
    segment: int = 1,
    bias: Float[Array, " outputs"] | None = None,
) -> Learner:
    """What all that are trained as q is here share: the network, the descent, the moving average and the curve.

    `loss` is of q, q̄ and a mini-batch; its gradient is taken in q alone. `bias`: of the head, to begin with.
    """
    transform = adamw(config.gradient_clip, config.weight_decay)

    def init(key: Array, hyper: Hyper) -> Learned:
        q = MLP(key, dim, outputs, config.width, config.depth, config.layer_norm)
        return start(q if bias is None else eqx.tree_at(lambda n: n.head.bias, q, bias), transform)

    def update(state: Learned, batch: Rows, key: Array, hyper: Hyper) -> tuple[Learned, Metrics]:
        error, gradient = jax.value_and_grad(loss)(state.params, state.target, batch, hyper)
        return descend(state, gradient, transform, hyper["learning_rate"], config.tau), {"loss": error}

    def probe(state: Learned, transitions: Transitions) -> Metrics:
        initial_x, weight = transitions.initial_x, transitions.initial_weight
        every = max(1, initial_x.shape[0] * initial_x.shape[1] // CURVE_PAIRS)
        values = value(state.target, initial_x[::every])  # [episodes, K]
        return {"estimate": expected(values, None if weight is None else weight[::every]).mean()}

    return Learner(init, update, probe, config.batch, segment)


@dataclass(frozen=True, eq=False)
class FittedQ:
    """Every member's q̄, and its values on the data that it was fitted to."""

    trained: Trained
    transitions: Transitions
    value: Value
    scale: float  # the unit of reward that it was trained in

    def backup(self, rows: Int[NDArray[np.int64], " n"]) -> tuple[Float[Floats, "M n"], Float[Floats, "M n"]]:
        """q̄(s, a) and r + γ·E_{a'~π_e} q̄(s', a') of some logged steps."""
        data = self.transitions.rows
        reward, discount = (np.asarray(a)[None, rows].astype(np.float64) for a in (data.reward, data.discount))
        return self._means("x", rows), reward + discount * self._means("next_x", rows)

    def on_logged(self) -> Float[Floats, "M N"]:
        """q̄(s, a) of every logged step."""
        return self._means("x")

    def on_next(self) -> Float[Floats, "M N"]:
        """E_{a'~π_e} q̄(s', a') of every logged step, over the drawn actions."""
        return self._means("next_x")

    def on_initial(self) -> Float[Floats, "M E"]:
        """E_{a~π_e} q̄(s₀, a) of every episode, over the drawn actions."""
        return self._means("initial_x")

    def _means(
        self, of: Literal["x", "next_x", "initial_x"], rows: Int[NDArray[np.int64], " n"] | None = None
    ) -> Float[Floats, "M n"]:
        """Over the draws where there are several."""
        found = self.transitions.values(self.value, self.trained.state.target, of, rows)
        values = np.asarray(found, np.float64) * self.scale
        if of == "x":
            return values
        weight = self.transitions.rows.next_weight if of == "next_x" else self.transitions.initial_weight
        if weight is not None:
            weight = np.asarray(weight, np.float64)[slice(None) if rows is None else rows]
        return np.stack([expected(own, weight) for own in values])  # of every member


def fit_q(problem: Problem, config: FQEConfig, run: Run) -> FittedQ:
    """Train q for every member."""
    scale = reward_unit(problem, config)
    learner = make_learner(config, problem.transitions.dim, problem.gamma, *clip_bounds(problem, config, scale))
    return train_q(problem, config, run, learner, value_function(problem.gamma), scale)


def reward_unit(problem: Problem, config: FQEConfig) -> float:
    """What rewards are divided by while q is trained: their root mean square."""
    rewards = problem.dataset.rewards
    scale = float(np.sqrt(np.mean(np.square(rewards, dtype=np.float64)))) if config.scale_rewards else 1.0
    return scale or 1.0  # all rewards zero: any unit will do


def clip_bounds(problem: Problem, config: FQEConfig, scale: float) -> tuple[float, ...]:
    """Low and high, where targets are clipped."""
    return tuple(end / scale for end in problem.log.bounds) if config.clip_targets else ()


def train_q(
    problem: Problem,
    config: FQEConfig,
    run: Run,
    learner: Learner,
    value: Value,
    scale: float,
    own: Float[Floats, "M N"] | None = None,
) -> FittedQ:
    """Train a q of this family for every member, in units of `scale`; `own`: the members' own numbers of every row."""
    # Rewards are scaled in the data and not in the program, so that one compiled program serves all logs.
    scaled = problem.transitions.with_reward(problem.transitions.rows.reward / scale)
    hyper = {"learning_rate": run.spread("learning_rate", config.learning_rate)}
    if own is not None:
        scaled = scaled.with_own(own)
    trained = train(learner, scaled, hyper, config.steps_for(scaled.size), run, bound=problem.reward_bound / scale)
    trained = replace(trained, curves={**trained.curves, "estimate": trained.curves["estimate"] * scale})
    return FittedQ(trained, problem.transitions, value, scale)


def estimate(problem: Problem, config: FQEConfig, run: Run) -> Estimated:
    """Mean of every member's q̄ over the initial states and the policy's actions there."""
    fitted = fit_q(problem, config, run)
    return Estimated(run.mean_over_episodes(fitted.on_initial()), (fitted.trained,), q=fitted)


def _entry(name: str, config: type[FQEConfig], summary: str, **paper: int) -> Estimator:
    presets = {"paper": PAPER | paper, "dope": DOPE}
    return Estimator(
        name,
        config,
        estimate,
        summary,
        takes_features=True,
        family=FAMILY,
        presets=presets,
        spread=("learning_rate",),
    )


FQE = _entry("fqe", FQEConfig, "fitted Q-evaluation")
FQE_CLIP = _entry("fqe-clip", FQEClipConfig, "fitted Q-evaluation with targets clipped to what the rewards allow")
FQE_DEEP = _entry("fqe-deep", FQEDeepConfig, "fitted Q-evaluation with four hidden layers", steps=500_000)
FQE_LN = _entry("fqe-ln", FQELNConfig, "fitted Q-evaluation with layer normalisation")
