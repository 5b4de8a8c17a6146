"""Fixed-horizon FQE: one head for every number of steps that π_e goes; none bootstraps from itself.

    minimise  E_D[ Σ_h huber( r + γ·E_{a'~π_e}[ q̄_{h−1}(s', a') ] − q_h(s, a) ) ],   h = 1 … H,    q̄_0(s', a') = V_b(s')
    ρ̂(π_e) = E_{s₀, a₀~π_e}[ q̄_H(s₀, a₀) ]

q_h is the value of h steps of π_e, and from there on of what the log did (`log_value.py`): q_1 is a plain regression,
q_2 rests on q_1, and so on. An error can be handed up the heads, H times at most, but cannot feed on itself. What it
costs is the tail: π_e's steps beyond H count as the log's. γ^H says how much of the value that is.

Where the question itself is about the first H steps, there are H heads, q̄_0 = 0, and nothing of the log's own is left.
"""

import math
from functools import partial

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float
from pydantic import PositiveInt

from ropeval.data import Log, Problem, Rows, expected
from ropeval.errors import UserError
from ropeval.estimators.estimator import Estimated, Estimator, averaged
from ropeval.estimators.fitted_q import Value
from ropeval.estimators.fqe import FAMILY, FQEConfig, clip_bounds, reach, reward_unit, td_learner, train_q
from ropeval.estimators.log_value import STATES_HELD, LogValue, LogValueConfig, log_value
from ropeval.estimators.world.prepared import LOG_VALUE, log_value_steps
from ropeval.learning.engine import Hyper, Learner, Run
from ropeval.learning.learner import made_once
from ropeval.learning.networks import MLP
from ropeval.learning.optimise import huber

HORIZONS, MOST = 2.0, 256  # heads: so many times 1/(1−γ), which leaves e⁻² of the value to V_b; and never more
LARGE_TAIL = 0.25


class FQEHorizonConfig(FQEConfig):
    horizon: PositiveInt | None = None  # H; None: the question's, or twice 1/(1−γ), at most 256

    def heads(self, gamma: float) -> int:
        return self.horizon or min(MOST, max(1, math.ceil(HORIZONS / (1.0 - gamma))))

    def stages(self, part: str) -> dict[str, int]:
        return {LOG_VALUE: log_value_steps(self.steps), part: self.steps}


def head_targets(
    reward: Float[Array, " n"], discount: Float[Array, " n"], heads: Float[Array, "n H"], tail: Float[Array, " n"]
) -> Float[Array, "n H"]:
    """r + γ·q_{h−1} for h = 1 … H, of the heads' expected values at s' and V_b(s'), or 0."""
    before = jnp.concatenate([tail[:, None], heads[:, :-1]], axis=1)
    return reward[:, None] + discount[:, None] * before


def head_values(
    q: MLP, x: Float[Array, "*batch X"], gamma: float, horizon: int | None = None
) -> Float[Array, "*batch H"]:
    """`horizon`: steps that count at all. A network of ordinary size then says what a step is worth, of h of them."""
    if horizon is None:
        return q(x) / (1.0 - gamma)
    steps = reach(jnp.arange(1, horizon + 1), gamma)
    return q(x) * steps.reshape((1,) * (x.ndim - 1) + (horizon,))


def some_head(values: Float[Array, "*batch H"], left: Array) -> Float[Array, "*batch"]:
    """Of so many steps to go; 0 where none is left."""
    return jnp.where(left > 0, jnp.take(values, jnp.maximum(left - 1, 0), axis=-1), 0.0)


@made_once
def value_function(gamma: float, horizon: int | None = None) -> Value:
    """Of a network its last head; of a `Timed` one, where there is a horizon, that of the steps to go."""
    if horizon is None:
        return lambda q, x: head_values(q, x, gamma)[..., -1]
    return lambda model, x: some_head(head_values(model.q, x, gamma, horizon), model.left)


@made_once
def make_learner(
    config: FQEHorizonConfig, dim: int, gamma: float, low: float = 0.0, high: float = 0.0, horizon: int | None = None
) -> Learner:
    """The rows' `own` number is V_b(s'); without one, nothing comes after the last step that counts."""
    values = partial(head_values, gamma=gamma, horizon=horizon)
    steps = jnp.full(1, 1.0) if horizon is None else reach(jnp.arange(1, horizon + 1), gamma)
    part = steps / steps[-1]  # of the bounds, for every head

    def loss(q: MLP, q_bar: MLP, batch: Rows, hyper: Hyper, key: Array) -> Array:
        heads = expected(values(q_bar, batch.next_x), batch.next_weight)  # [batch, H]
        tail = jnp.zeros_like(batch.reward) if batch.own is None else batch.own
        target = head_targets(batch.reward, batch.discount, heads, tail)
        if config.clip_targets:
            target = jnp.clip(target, (low * part)[None], (high * part)[None])
        return huber(target - values(q, batch.x), config.huber_delta).mean()

    def at_start(q: MLP, x: Float[Array, "*batch X"]) -> Float[Array, "*batch"]:
        return values(q, x)[..., -1]

    return td_learner(config, dim, at_start, loss, outputs=horizon or config.heads(gamma))


def prepare(log: Log, config: FQEHorizonConfig, run: Run) -> LogValue | None:
    """V_b; none where the question ends with the last head."""
    if log.horizon is None:
        steps = log_value_steps(config.steps_for(len(log.dataset), log.gamma))
        return log_value(log, LogValueConfig(steps=steps, batch=config.batch, width=config.width), run)
    if config.horizon not in (None, log.horizon):
        raise UserError(
            f"setting fqe-horizon.horizon is {config.horizon}, but {log.horizon} steps count; leave the setting out: "
            "there is a head for each of them"
        )
    return None


def estimate(problem: Problem, config: FQEHorizonConfig, run: Run, tail: LogValue | None) -> Estimated:
    scale, horizon = reward_unit(problem, config), problem.horizon
    bounds = clip_bounds(problem, config, scale)
    learner = make_learner(config, problem.transitions.dim, problem.gamma, *bounds, horizon)
    own = None if tail is None else tail.following / scale
    fitted = train_q(problem, config, run, learner, value_function(problem.gamma, horizon), scale, own)
    heads = horizon or config.heads(problem.gamma)
    beyond = 0.0 if tail is None else problem.gamma**heads
    notes: tuple[str, ...] = ()
    if beyond > LARGE_TAIL:
        notes = (f"{beyond:.0%} of the discounted horizon lies beyond {heads} steps, where the log's own value speaks",)
    trained = (fitted.trained,) if tail is None else (tail.trained, fitted.trained)
    extras = {"horizon": heads, "beyond": beyond}
    told = {"trained": trained, "warnings": notes, "q": fitted, "backups": fitted.backups, "extras": extras}
    return averaged(run, fitted.on_initial(), **told)


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
    by_group=True,
    takes_horizon=True,
)
