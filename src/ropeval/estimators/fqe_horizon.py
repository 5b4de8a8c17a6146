"""Fixed-horizon FQE: one head for every number of steps that π_e goes; none bootstraps from itself.

    minimise  E_D[ Σ_h huber( r + γ·E_{a'~π_e}[ q̄_{h−1}(s', a') ] − q_h(s, a) ) ],   h = 1 … H,    q̄_0(s', a') = V_b(s')
    ρ̂(π_e) = E_{s₀, a₀~π_e}[ q̄_H(s₀, a₀) ]

q_h is the value of h steps of π_e, and from there on of what the log did (`log_value.py`): q_1 is a plain regression,
q_2 rests on q_1, and so on. An error can be handed up the heads, H times at most, but cannot feed on itself. What it
costs is the tail: π_e's steps beyond H count as the log's. γ^H says how much of the value that is.
"""

import math
from functools import lru_cache, partial

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float
from pydantic import PositiveInt

from ropeval.data import Log, Problem, Rows, expected
from ropeval.estimators.estimator import Estimated, Estimator
from ropeval.estimators.fitted_q import Value
from ropeval.estimators.fqe import FAMILY, FQEConfig, clip_bounds, reward_unit, td_learner, train_q
from ropeval.estimators.log_value import STATES_HELD, LogValue, LogValueConfig, log_value
from ropeval.estimators.world.prepared import LOG_VALUE, log_value_steps
from ropeval.learning.engine import Hyper, Learner, Run
from ropeval.learning.networks import MLP
from ropeval.learning.optimise import huber

HORIZONS, MOST = 2.0, 256  # heads: so many times 1/(1−γ), which leaves e⁻² of the value to V_b; and never more
LARGE_TAIL = 0.25


class FQEHorizonConfig(FQEConfig):
    horizon: PositiveInt | None = None  # H; None: twice 1/(1−γ), at most 256

    def heads(self, gamma: float) -> int:
        return self.horizon or min(MOST, max(1, math.ceil(HORIZONS / (1.0 - gamma))))

    def stages(self, part: str) -> dict[str, int]:
        return {LOG_VALUE: log_value_steps(self.steps), part: self.steps}


def head_targets(
    reward: Float[Array, " n"], discount: Float[Array, " n"], heads: Float[Array, "n H"], tail: Float[Array, " n"]
) -> Float[Array, "n H"]:
    """r + γ·q_{h−1} for h = 1 … H, of the heads' expected values at s' and V_b(s')."""
    before = jnp.concatenate([tail[:, None], heads[:, :-1]], axis=1)
    return reward[:, None] + discount[:, None] * before


def head_values(q: MLP, x: Float[Array, "*batch X"], gamma: float) -> Float[Array, "*batch H"]:
    return q(x) / (1.0 - gamma)


def last_head(q: MLP, x: Float[Array, "*batch X"], gamma: float) -> Float[Array, "*batch"]:
    return head_values(q, x, gamma)[..., -1]


@lru_cache(maxsize=64)
def value_function(gamma: float) -> Value:
    return partial(last_head, gamma=gamma)


@lru_cache(maxsize=64)
def make_learner(config: FQEHorizonConfig, dim: int, gamma: float, low: float = 0.0, high: float = 0.0) -> Learner:
    """The rows' `own` number is V_b(s')."""

    def loss(q: MLP, q_bar: MLP, batch: Rows, hyper: Hyper, key: Array) -> Array:
        heads = expected(head_values(q_bar, batch.next_x, gamma), batch.next_weight)  # [batch, H]
        target = head_targets(batch.reward, batch.discount, heads, batch.own)
        if config.clip_targets:
            target = jnp.clip(target, low, high)
        return huber(target - head_values(q, batch.x, gamma), config.huber_delta).mean()

    return td_learner(config, dim, value_function(gamma), loss, outputs=config.heads(gamma))


def prepare(log: Log, config: FQEHorizonConfig, run: Run) -> LogValue:
    steps = log_value_steps(config.steps_for(len(log.dataset)))
    return log_value(log, LogValueConfig(steps=steps, batch=config.batch, width=config.width), run)


def estimate(problem: Problem, config: FQEHorizonConfig, run: Run, tail: LogValue) -> Estimated:
    scale = reward_unit(problem, config)
    learner = make_learner(config, problem.transitions.dim, problem.gamma, *clip_bounds(problem, config, scale))
    value = value_function(problem.gamma)
    fitted = train_q(problem, config, run, learner, value, scale, tail.following / scale)
    heads = config.heads(problem.gamma)
    beyond = problem.gamma**heads
    notes: tuple[str, ...] = ()
    if beyond > LARGE_TAIL:
        notes = (f"{beyond:.0%} of the discounted horizon lies beyond {heads} steps, where the log's own value speaks",)
    values = run.mean_over_episodes(fitted.on_initial())
    extras = {"horizon": heads, "beyond": beyond}
    return Estimated(values, (tail.trained, fitted.trained), notes, q=fitted, extras=extras)


FQE_HORIZON = Estimator(
    "fqe-horizon",
    FQEHorizonConfig,
    estimate,
    "fqe with one head per horizon: none bootstraps from itself, and the log's own value ends it",
    takes_features=True,
    family=FAMILY,
    needs=(STATES_HELD,),
    spread=("learning_rate",),
    prepare=prepare,
)
