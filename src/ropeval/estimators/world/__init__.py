"""World: one learned simulator for all policies, which knows where it stops knowing.

    ρ̂(π_e) = w·E[ Σ_t γ^t c_t r̂(s_t, a_t) ] + (1 − w)·E[ V_b(s₀) ],    a_t ~ π_e,   s_{t+1} from the learned simulator

w says how far the log speaks about what the policy does. `network.py` has the simulator and its loss, `fitting.py` how
long it is trained, `prepared.py` what is made once per log, `held_out.py` what rows say that a member has not seen,
`noise.py` and `reward_noise.py` what is left to chance, `replays.py` how the log checks it, `memory.py` whether its
states are whole, `rollouts.py` life in it, `support.py` w and V_b, `log_returns.py` what V_b learns, `outcomes.py` what
rollouts tell beside the mean and `log_paths.py` what the log does, `units.py` and `rows.py` the columns of the log.
`docs/methods/world.md` says what decided each choice.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from ropeval.data import Dataset, Problem
from ropeval.data.problem import Log
from ropeval.errors import UserError
from ropeval.estimators.estimator import Estimated, Estimator
from ropeval.estimators.world.memory import REWARD
from ropeval.estimators.world.network import Sizes, averaging
from ropeval.estimators.world.outcomes import outcomes, possible_returns
from ropeval.estimators.world.prepared import LOG_VALUE, World, build, log_value_steps
from ropeval.estimators.world.rollouts import Rollouts, roll_out
from ropeval.estimators.world.support import Answer, answer
from ropeval.learning.engine import Run, keys_for
from ropeval.learning.resample import Counts
from ropeval.policies.uniform import UniformPolicy
from ropeval.runtime import sized_for
from ropeval.settings import PartConfig

TAIL = 1e-3  # the horizon is where γ^H falls below it, or `max_horizon`
LEAST_STEPS = 1_000
LARGEST = {"cpu": Sizes(12_000, 256, 256, 2, 0, 0), "gpu": Sizes(60_000, 512, 512, 3, 0, 0)}
ROLLOUTS = {"cpu": (128, 256), "gpu": (256, 1024)}  # where nothing is left to chance, and where something is
SHORT = 128  # steps: where episodes are over sooner, there are more rollouts for the same work, but
AT_RANDOM = 64  # rollouts of uniform actions, which only tell how far apart policies lie
MOST_OFTEN = 4  # times as many at most, since a policy may live longer than the log
REMEMBERS = 0.6  # correlation of surprises in a row, beyond which they are no noise: as `BY_REASON` of verdicts
FORETOLD = 0.01  # of surprises, by the row before, beyond which the state is not whole: likewise


class WorldConfig(PartConfig):
    """Sizes that are not given follow the device and the log; the result's `network` says what they became."""

    steps: PositiveInt | None = None  # default: `passes`, at most 12,000 (on a GPU 60,000); fewer if unseen rows say so
    batch: PositiveInt | None = None  # 256; on a GPU 512
    width: PositiveInt | None = None  # 256; on a GPU 512
    depth: PositiveInt | None = None  # 2; on a GPU 3
    passes: PositiveFloat = 80.0
    norm: bool = True  # LayerNorm; where `steps` is not given, unseen rows may do without it
    learning_rate: PositiveFloat = 1e-3  # falls along a cosine to a hundredth
    weight_decay: NonNegativeFloat = 1e-4
    rollouts: PositiveInt | None = None  # joint ones, and as many of every member; by device and chance
    max_horizon: PositiveInt = 2_000
    doubt: PositiveFloat = 5.0  # times the usual disagreement: there half of the number is the log's own (support.py)

    def stages(self, part: str) -> dict[str, int]:
        steps = self.steps or LARGEST["cpu"].steps  # the shares of the two are what matters
        return {part: steps, LOG_VALUE: log_value_steps(steps)}

    def sizes(self, rows: int, backend: str) -> Sizes:
        largest = LARGEST[sized_for(backend)]
        batch = self.batch or largest.batch
        steps = self.steps or int(np.clip(self.passes * rows / batch, LEAST_STEPS, largest.steps))
        width, depth = self.width or largest.width, self.depth or largest.depth
        return Sizes(steps, batch, width, depth, averaging(steps), self.weight_decay, self.norm)


def prepare(log: Log, config: WorldConfig, run: Run) -> World:
    sizes = config.sizes(len(log.dataset), jax.default_backend())
    return build(
        log.dataset, log.gamma, sizes, config.learning_rate, run, log.horizon, steps_for(log, config.max_horizon),
        settled=config.steps is not None,
    )  # fmt: skip


def estimate(problem: Problem, config: WorldConfig, run: Run, world: World) -> Estimated:
    starts = initial_counts(problem, run)
    initial, found = lived(problem, config, run, world, starts)
    said, any_sound = answer(found, world.good, config.doubt, problem.horizon), bool(world.good.any())
    if any_sound and not np.isfinite(found.joint_reward).all():
        raise UserError(
            f"policy {problem.policy.name}: along its rollouts in the simulator some actions are not finite numbers; "
            "it must answer with numbers in every state within the logged range"
        )
    returns = possible_returns(found, world.reward_noise) if any_sound else None
    more = outcomes(found, returns, initial[-1], problem.dataset.labels[0], world.paths) if returns else {}
    return Estimated(
        values=said.members,
        value=said.value if any_sound else None,
        trained=world.trained,
        warnings=notes(world, problem.dataset.labels[0]),
        extras={**about(world, said), **more},
        returns=returns,
        among=partial(_among, problem, replace(run, report=None), config, world, starts),
        at_random=partial(_at_random, problem, replace(run, report=None), config, world) if any_sound else None,
    )


def _among(
    problem: Problem, run: Run, config: WorldConfig, world: World, starts: Counts, held: NDArray[np.bool_]
) -> Estimated:
    """Other rollouts in the same simulator, as many as for all episodes; nan for a member without any of these."""
    own = starts * held[None]
    some = own.sum(axis=1) > 0  # [M + 1]
    _, found = lived(problem, config, run, world, np.where(some[:, None], own, held[None]))
    said = answer(found, world.good, config.doubt, problem.horizon)
    return Estimated(np.where(some[:-1], said.members, np.nan), value=said.value if world.good.any() else None)


def _at_random(problem: Problem, run: Run, config: WorldConfig, world: World) -> float:
    """What actions without regard to the state earn in the simulator. Where the log does not speak of them this is a
    guess, but for telling how far apart policies lie the log's own value would be no better one."""
    uniform = problem.log.problem(UniformPolicy())
    few = config.model_copy(update={"rollouts": AT_RANDOM})
    _, found = lived(uniform, few, run, world, initial_counts(uniform, run))
    return answer(found, world.good, config.doubt, problem.horizon).simulated


def lived(
    problem: Problem, config: WorldConfig, run: Run, world: World, starts: Counts
) -> tuple[NDArray[np.float32], Rollouts]:
    """Rollouts, and the states [M + 1, R, S] that they start from; `starts` [M + 1, E] says how often an episode's."""
    horizon = steps_for(problem.log, config.max_horizon)
    keys = _with_joint(keys_for("rollouts", run.keys))  # for every policy the same
    report = run.report

    def told(share: float) -> None:
        if report:
            report("rollouts", share)

    by_chance = world.stochastic or not problem.policy.deterministic
    count = config.rollouts or rollouts_for(problem.dataset, horizon, jax.default_backend(), by_chance)
    initial = first_states(problem, starts, count, world.first_values)
    found = roll_out(world.simulator, problem.policy, initial, problem.gamma, horizon, keys, told)
    if problem.horizon is not None:
        return initial, found.within(problem.horizon)
    return initial, found.lasting() if found.discount[-1] > TAIL and horizon > 1 else found


@jax.jit
def _with_joint(keys: Array) -> Array:
    """Of the members [M], and of the joint rollouts."""
    return jnp.concatenate([keys, jax.random.split(keys[0], 1)])


def initial_counts(problem: Problem, run: Run) -> Counts:
    """[M + 1, E]: each member starts where its own log's episodes do, the joint rollouts where all do."""
    episodes = problem.dataset.num_episodes
    return np.concatenate([run.held(episodes), np.ones((1, episodes), np.int64)])


def first_states(problem: Problem, starts: Counts, count: int, values: NDArray[np.float32]) -> NDArray[np.float32]:
    """[M + 1, R, S], evenly over what the log goes on to earn from its first states: `values` [M + 1, E]. A few hundred
    drawn at random of many different ones (customers, patients) would be worth something else than all of them."""
    initial, orders = problem.dataset.initial_observations, np.argsort(values, axis=1, kind="stable")
    chosen = [_evenly(np.repeat(order, own[order]), count) for own, order in zip(starts, orders, strict=True)]
    return initial[np.stack(chosen)]


def _evenly(episodes: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """`count` of them, in steps of the same length."""
    return np.asarray(episodes[((np.arange(count) + 0.5) * len(episodes) / count).astype(np.int64)])


def rollouts_for(dataset: Dataset, steps: int, backend: str, by_chance: bool) -> int:
    often = SHORT // lifetime(dataset, steps)
    return ROLLOUTS[sized_for(backend)][by_chance] * int(np.clip(often, 1, MOST_OFTEN))


def lifetime(dataset: Dataset, steps: int) -> int:
    """Of `steps` those after which all is over, as far as the log tells: all of them, where an episode was cut off."""
    last, longest = dataset.last_rows, int(np.diff(dataset.starts).max())
    return max(1, min(steps, longest)) if len(last) and dataset.terminations[last].all() else steps


def steps_for(log: Log, longest: int) -> int:
    return log.horizon or horizon_for(log.gamma, longest)


def horizon_for(gamma: float, longest: int) -> int:
    """The first H with γ^H below the tail, capped."""
    return 1 if gamma == 0 else max(1, min(longest, math.ceil(math.log(TAIL) / math.log(gamma))))


def about(world: World, said: Answer) -> dict[str, Any]:
    """What stands beside the number in result.json, in the table and on the page."""
    return {
        "support": said.support,
        "fallback": said.fallback,
        "apart": said.apart,
        "strayed": said.strayed,
        "spread": said.spread,
        "simulated": said.simulated,
        "log_value": said.log_value,
        "network": str(world.sizes),
        "steps": world.longest,
        "unexplained": world.unexplained,
        "noisy_columns": list(world.noisy),
        "stochastic": world.stochastic,
        "noisy_rewards": world.reward_noise is not None,
        "memory": world.memory.correlation,
        "foretold": world.memory.foretold,
        "replays": [replay._asdict() for replay in world.replays],
    }


def notes(world: World, columns: Sequence[str]) -> tuple[str, ...]:
    """What only this method can know."""
    found = []
    if not world.good.all():
        broken = ", ".join(str(place) for place in np.flatnonzero(~world.good))
        found.append(f"the networks of member {broken} broke in training: left out of the simulator")
    if world.memory.correlation > REMEMBERS and world.memory.column is not None:
        found.append(
            f"what it draws as noise of {columns[world.memory.column]} is none: what could not be foreseen at one step "
            f"foretells what cannot at the next (correlation {world.memory.correlation:.2f}). Either the observations "
            "are not the whole state: add what is missing, or earlier observations and actions; or it has not learned "
            "the task: train it longer (--steps), or log more"
        )
    elif world.memory.foretold > FORETOLD and world.memory.foretold_column is not None:
        place = world.memory.foretold_column
        found.append(
            f"the observations are not the whole state: the step before tells {world.memory.foretold:.1%} of what "
            f"cannot be foreseen of {'the reward' if place == REWARD else columns[place]}, as where measurements are "
            "noisy, or carried forward where none was taken, or where what was done earlier still works. Add what is "
            "missing, such as the time since a measurement, or earlier observations and actions"
        )
    return tuple(found)


WORLD = Estimator(
    "world",
    WorldConfig,
    estimate,
    "rollouts in a learned simulator, which goes over to the log's own value where it stops knowing",
    takes_features=False,
    family="learned simulator",
    spread=("learning_rate",),
    prepare=prepare,
    tells_returns=True,
    by_group=True,
    takes_horizon=True,
)
