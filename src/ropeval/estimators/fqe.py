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

from dataclasses import replace
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

from ropeval.arrays import Floats
from ropeval.data import Problem, Rows, Transitions, expected
from ropeval.data.bounds import value_bounds
from ropeval.estimators.estimator import Backups, Estimated, Estimator, averaged
from ropeval.estimators.fitted_q import FittedQ, Value
from ropeval.learning.engine import Hyper, Learner, Metrics, Run, Trained, train
from ropeval.learning.learner import made_once
from ropeval.learning.networks import MLP, TURNS, Precision
from ropeval.learning.optimise import Learned, Loss, descending, huber
from ropeval.settings import PartConfig

Settings = dict[str, Any]  # by field
FAMILY = "fitted Q"
FEWEST_STEPS = 3_000  # however small the log is
LOOKS = 3.0  # so often what γ looks ahead can have come through q̄, at least, when training ends
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
    actions: PositiveInt | None = None  # of those drawn in a next state, so many are looked at in a step; None: all
    weight_decay: NonNegativeFloat = 1e-2
    gradient_clip: PositiveFloat = 1.0  # of every entry
    precision: Precision = "float32"  # bfloat16: hidden layers are rounded; for many members at once on a GPU

    @model_validator(mode="before")
    @classmethod
    def _given_steps_are_meant(cls, values: Any) -> Any:
        return {"passes": None, **values} if isinstance(values, dict) and "steps" in values else values

    def steps_for(self, rows: int, gamma: float, horizon: int | None = None) -> int:
        """Fewer on a small log; but q̄, which takes 1/τ steps to hand a value one step back in time, must see as far as
        γ looks: with 5,000 rows of cart-pole and γ = 0.99, `fqe` is off by 37 % after 3,000 steps, by 3 % after 15,000.
        """
        if self.passes is None:
            return self.steps
        ahead = LOOKS * look_ahead(gamma, horizon) / self.tau
        return min(self.steps, max(FEWEST_STEPS, round(self.passes * rows / self.batch), round(ahead)))


def look_ahead(gamma: float, horizon: int | None = None) -> float:
    """How many steps ahead a value reaches: 1/(1−γ), or as many as count at all."""
    discounted = np.inf if gamma == 1.0 else 1.0 / (1.0 - gamma)
    return float(discounted if horizon is None else min(discounted, horizon))


class FQEClipConfig(FQEConfig):
    """Clipped targets bear a faster descent, which comes as near in fewer steps (docs/methods/fqe.md)."""

    steps: PositiveInt = 6_000
    learning_rate: PositiveFloat = 1e-3
    tau: PositiveFloat = 0.05
    clip_targets: bool = True


class FQEDeepConfig(FQEConfig):
    depth: PositiveInt = 4


class FQELNConfig(FQEConfig):
    layer_norm: bool = True


PAPER: Settings = {
    "steps": 300_000,
    "learning_rate": 1e-5,
    "batch": 512,
    "tau": 0.005,
    "scale_rewards": False,
    "huber_delta": 1.0,
}


# The default run asks `fqe-clip` about every policy: on a CPU, a small network, and a quarter of the work for targets.
QUICK: Settings = {"width": 64, "actions": 2}
# And on a GPU, kernels that round hidden layers (`learning/fused.py`): two thirds of a step's time with five members.
ROUNDED: Settings = {"precision": "bfloat16"}

# The published deep off-policy evaluation benchmark's: squared error, no clipping of gradients. (Its own bounds are
# [r_min, r_max]/(1−γ); ours are tighter where episodes are known to end.)
DOPE: Settings = {
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


def timed_value(q: MLP, x: Float[Array, "*batch X"], left: Int[Array, ""], gamma: float, horizon: int) -> Array:
    """q(s, a) for features of pairs, with so many steps to go."""
    share = jnp.broadcast_to(left / horizon, (*x.shape[:-1], 1)).astype(x.dtype)
    return q(jnp.concatenate([x, share], axis=-1))[..., 0] * reach(left, gamma)


def reach(left: Array, gamma: float) -> Array:
    """Σ γ^t over the steps to go."""
    return left * 1.0 if gamma == 1.0 else (1.0 - gamma**left) / (1.0 - gamma)


@made_once
def value_function(gamma: float, horizon: int | None = None) -> Value:
    """Of a network, or of a `Timed` one where there is a horizon."""
    if horizon is None:
        return partial(action_value, gamma=gamma)
    return lambda model, x: timed_value(model.q, x, model.left, gamma, horizon)


@made_once
def make_learner(
    config: FQEConfig, dim: int, gamma: float, low: float = 0.0, high: float = 0.0, horizon: int | None = None
) -> Learner:
    """`low`, `high`: the least and the most that a policy can be worth, which only clipped targets ask for."""

    def value(q: MLP, x: Float[Array, "*batch X"], left: Int[Array, " batch"] | None) -> Float[Array, "*batch"]:
        if horizon is None or left is None:
            return action_value(q, x, gamma)
        return jax.vmap(partial(timed_value, q, gamma=gamma, horizon=horizon))(x, left)

    def loss(q: MLP, q_bar: MLP, batch: Rows, hyper: Hyper, key: Array) -> Float[Array, ""]:
        left = None if horizon is None else jax.random.randint(key, batch.reward.shape, 1, horizon + 1)
        after = None if left is None else left - 1
        target = batch.reward  # all there is, where γ is 0: what comes next need not be looked at
        if gamma > 0.0:
            target = bootstrapped(lambda model, x: value(model, x, after), q_bar, batch)
        if config.clip_targets:
            part = 1.0 if left is None or horizon is None else reach(left, gamma) / reach(jnp.int32(horizon), gamma)
            target = jnp.clip(target, low * part, high * part)
        return huber(target - value(q, batch.x, left), config.huber_delta).mean()

    def at_start(q: MLP, x: Float[Array, "*batch X"]) -> Float[Array, "*batch"]:
        return value(q, x, None if horizon is None else jnp.full(len(x), horizon))

    return td_learner(config, dim + (horizon is not None), at_start, loss)


def some_actions(batch: Rows, count: int, key: Array) -> Rows:
    """The rows with `count` of their drawn next actions, others at every step: the target is the same in expectation,
    and another visit to a row looks at others. Where the actions are weighed, all of them are needed."""
    draws = batch.next_x.shape[-2]
    if batch.next_weight is not None or count >= draws:
        return batch
    which = (jax.random.randint(key, (), 0, draws) + jnp.arange(count)) % draws
    return batch._replace(next_x=batch.next_x[..., which, :])


def bootstrapped(value: Value, q_bar: MLP, batch: Rows) -> Float[Array, " batch"]:
    """r + γ·E_{a'~π_e} q̄(s', a')."""
    next_values = value(q_bar, batch.next_x)  # [batch, K]
    return batch.reward + batch.discount * expected(next_values, batch.next_weight)


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

    value   of initial pairs [E, K, X], for the curve
    loss    of q and q̄; its gradient is taken in q alone
    bias    of the head, to begin with
    """

    def net(key: Array) -> MLP:
        q = MLP(key, dim, outputs, config.width, config.depth, config.layer_norm, precision=config.precision)
        return q if bias is None else eqx.tree_at(lambda n: n.head.bias, q, bias)

    def probe(state: Learned, transitions: Transitions) -> Metrics:
        initial_x, weight = transitions.initial_x, transitions.initial_weight
        every = max(1, initial_x.shape[0] * initial_x.shape[1] // CURVE_PAIRS)
        values = value(state.target, initial_x[::every])  # [episodes, K]
        return {"estimate": expected(values, None if weight is None else weight[::every]).mean()}

    def of_some(q: Any, q_bar: Any, batch: Rows, hyper: Hyper, key: Array) -> Float[Array, ""]:
        if config.actions is not None:
            batch = some_actions(batch, config.actions, jax.random.fold_in(key, 1))
        return loss(q, q_bar, batch, hyper, key)

    turn = TURNS[config.precision]
    return descending(net, of_some, probe, config, max(1, config.batch // segment), segment, turn)


def fit_q(problem: Problem, config: FQEConfig, run: Run) -> FittedQ:
    """Train q for every member."""
    scale, horizon = reward_unit(problem, config), problem.horizon
    bounds = clip_bounds(problem, config, scale)
    learner = make_learner(config, problem.transitions.dim, problem.gamma, *bounds, horizon)
    return train_q(problem, config, run, learner, value_function(problem.gamma, horizon), scale)


def reward_unit(problem: Problem, config: FQEConfig) -> float:
    """What rewards are divided by while q is trained: their root mean square."""
    if not config.scale_rewards:
        return 1.0
    rewards = problem.dataset.rewards
    scale = problem.log.once("reward unit", lambda: float(np.sqrt(np.mean(np.square(rewards, dtype=np.float64)))))
    return scale or 1.0  # all rewards zero: any unit will do


def clip_bounds(problem: Problem, config: FQEConfig, scale: float) -> tuple[float, float]:
    """Low and high, where targets are clipped."""
    if not config.clip_targets:
        return 0.0, 0.0
    horizon = problem.horizon
    low, high = problem.log.bounds if horizon is None else value_bounds(problem.dataset, problem.gamma, horizon)
    return low / scale, high / scale


def train_q(
    problem: Problem,
    config: FQEConfig,
    run: Run,
    learner: Learner,
    value: Value,
    scale: float,
    own: Float[Floats, "M N"] | None = None,
    ahead: float = 1.0,
) -> FittedQ:
    """Train a q of this family for every member, in units of `scale`.

    own     the members' own numbers of every row
    ahead   logged steps that a target looks over, on average
    """
    # Rewards are scaled in the data and not in the program, so that one compiled program serves all logs.
    scaled = problem.transitions.with_reward(problem.transitions.rows.reward / scale)
    if own is not None:
        scaled = scaled.with_own(own)
    hyper = {"learning_rate": run.spread("learning_rate", config.learning_rate)}
    steps = config.steps_for(scaled.size, problem.gamma, problem.horizon)
    trained = train(learner, scaled, hyper, steps, run, bound=problem.reward_bound / scale)
    trained = replace(trained, curves={**trained.curves, "estimate": trained.curves["estimate"] * scale})
    return FittedQ(trained, problem.transitions, value, scale, backups_of(trained, config, ahead), problem.horizon)


def backups_of(trained: Trained, config: FQEConfig, ahead: float = 1.0) -> Backups:
    return Backups(int(trained.steps[-1]), config.tau, ahead)


def estimate(problem: Problem, config: FQEConfig, run: Run) -> Estimated:
    """Mean of every member's q̄ over the initial states and the policy's actions there."""
    fitted = fit_q(problem, config, run)
    return averaged(run, fitted.on_initial(), trained=(fitted.trained,), q=fitted, backups=fitted.backups)


def _entry(name: str, config: type[FQEConfig], summary: str, paper: Settings = PAPER, **presets: Settings) -> Estimator:
    return Estimator(
        name,
        config,
        estimate,
        summary,
        takes_features=True,
        family=FAMILY,
        presets={"paper": paper, "dope": DOPE, **presets},
        spread=("learning_rate",),
        by_group=True,
        takes_horizon=True,
    )


FQE = _entry("fqe", FQEConfig, "fitted Q-evaluation")
FQE_CLIP = _entry(
    "fqe-clip",
    FQEClipConfig,
    "fitted Q-evaluation with targets clipped to what the rewards allow",
    cpu=QUICK,
    gpu=ROUNDED,
)
FQE_DEEP = _entry("fqe-deep", FQEDeepConfig, "fitted Q-evaluation with four hidden layers", PAPER | {"steps": 500_000})
FQE_LN = _entry("fqe-ln", FQELNConfig, "fitted Q-evaluation with layer normalisation")
