"""V_b: what the log itself goes on to earn from a state, by regression on its returns. It bootstraps on nothing.

    minimise  E_D[ ( Σ_k γ^k r_{t+k} − V_b(s_t) )² ]      over the steps whose return hardly reaches beyond a time-out

The regression, and which steps it leaves out, are those of `world`, which rests on it, too. V_b knows no policy: one
fit serves them all.
"""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from ropeval.arrays import Floats
from ropeval.data import Dataset, Log, Rows, Transitions
from ropeval.data.needs import Need
from ropeval.data.transitions import fits
from ropeval.estimators.world.log_returns import log_returns
from ropeval.estimators.world.network import Sizes, make_value_learner
from ropeval.estimators.world.prepared import LOG_VALUE
from ropeval.learning.engine import Run, Trained, train
from ropeval.learning.prepare import prepared
from ropeval.policies import Policy
from ropeval.settings import PartConfig


class LogValueConfig(PartConfig):
    steps: PositiveInt = 4_000
    learning_rate: PositiveFloat = 1e-3
    batch: PositiveInt = 256
    width: PositiveInt = 256
    depth: PositiveInt = 2
    tau: PositiveFloat = 0.01  # step of the averaged parameters, which are the ones used
    weight_decay: NonNegativeFloat = 1e-4


@dataclass(frozen=True, eq=False)
class LogValue:
    following: Float[Floats, "M N"]  # V_b of the state that each logged step leads to
    trained: Trained


def _too_many_states(dataset: Dataset, policy: Policy) -> str | None:
    if fits(dataset.observations.shape, dataset.observations.shape):
        return None
    return f"log {dataset.name}: its {len(dataset):,} states are more than can be held in memory"


STATES_HELD = Need(  # each with a neighbour in time
    "the log's states in memory", _too_many_states, "give it a part of the episodes, or take fqe, which streams them"
)


def log_value(log: Log, config: LogValueConfig, run: Run) -> LogValue:
    """Once for all who ask alike."""
    return prepared(fit_log_value, log, config, run.of(LOG_VALUE))


def fit_log_value(log: Log, config: LogValueConfig, run: Run) -> LogValue:
    """One V_b per member, on its own resample; its answers are kept to the range of the log's returns."""
    dataset, (mean, std) = log.dataset, log.normaliser
    states, following = ((each - mean) / std for each in (dataset.observations, dataset.next_observations))  # [N, S]
    returns = log_returns(dataset, log.gamma)
    nothing = jnp.zeros(len(dataset))
    rows = Rows(jnp.asarray(states), jnp.asarray(following[:, None]), nothing, nothing)
    data = returns.rows(Transitions(rows, jnp.zeros((1, 1, 1)), starts=jnp.asarray(dataset.starts)))
    sizes = Sizes(config.steps, config.batch, config.width, config.depth, config.tau, config.weight_decay)
    hyper = {"learning_rate": run.spread("learning_rate", config.learning_rate)}
    trained = train(make_value_learner(sizes, states.shape[1]), data, hyper, config.steps, run)
    centre, spread, low, high = (float(each) for each in returns.scale)
    values = np.asarray(data.values(_value, trained.state.target, "next_x"), np.float64)[..., 0]  # [M, N]
    return LogValue(np.clip(centre + spread * values, low, high), trained)


def _value(net: Any, state: Array) -> Array:
    return net(state)[0]
