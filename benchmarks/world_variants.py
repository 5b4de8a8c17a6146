"""The `world` estimator with one choice made otherwise at a time; `world_ablation.py` compares them.

    base                the defaults
    own                 the value is the mean of the members' own rollouts, not that of their joint ones
    no-fallback         the simulator's value alone
    log-value           the log's own value alone
    sampled             residuals are drawn in all moving columns, needed or not
    members-3, -7       the first three of base's networks; seven
    first               what is trained first: nothing else is tried, whatever unseen rows say
    quarter             a quarter of its steps
    no-layer-norm       the simulator's networks have no LayerNorm (V_b keeps it), and nothing else is tried
    likelihood          the mean is learned by a Gaussian likelihood: a variance is learned, too, for each moving column
    likelihood-sampled  those networks, where rollouts draw from their Gaussians in place of residuals
    width-64, -256      two layers of 64, or 256; where that is base's width, it is left out
    width-512           three layers of 512, likewise
    steps-12000         no more than 12,000 steps

One that would train on a log just what base trains (few rows ask for few steps) is left out there.
Everything else is the library's own code: where a variant needs another piece, that piece alone is replaced.
"""

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from ropeval.data import Log, Rows
from ropeval.errors import UserError
from ropeval.estimators.world import WorldConfig, estimate, fitting, held_out, prepare, prepared, rollouts
from ropeval.estimators.world.fitting import losses, rows_looked_at, unseen_rows
from ropeval.estimators.world.network import Prediction, Sizes, annealed_learner, predict, row_loss
from ropeval.estimators.world.noise import Noise
from ropeval.estimators.world.prepared import World
from ropeval.estimators.world.rollouts import Simulator, next_state
from ropeval.estimators.world.rows import LoggedOutcomes, LoggedPairs, world_rows
from ropeval.estimators.world.units import Units
from ropeval.evaluation.conclude import conclude
from ropeval.evaluation.evaluate import make_run
from ropeval.evaluation.fit import Fitted
from ropeval.evaluation.methods import make_method
from ropeval.evaluation.options import Options
from ropeval.evaluation.result import finite_or_none
from ropeval.learning.engine import Learner, Run, Trained
from ropeval.learning.networks import MLP
from ropeval.policies import Policy

STEPS = 12_000
LOG_VARIANCES = (-10.0, 1.0)  # of standardised changes: softly kept between


class Training(NamedTuple):
    """What is trained, and what is asked of it."""

    variants: tuple[str, ...]
    settings: tuple[tuple[str, int], ...] = ()  # that differ from base's
    members: int | None = None  # None: as many as base
    share: float | None = None  # of the usual steps; None: as unseen rows say
    likelihood: bool = False


PARTS = ("own", "no-fallback", "log-value")  # are in base's own answer
TRAININGS = (
    Training(("base", *PARTS, "sampled", "members-3")),
    Training(("first",), share=1.0),
    Training(("quarter",), share=0.25),
    Training(("no-layer-norm",), (("norm", False),), share=1.0),
    Training(("likelihood", "likelihood-sampled"), likelihood=True),
    Training(("width-64",), (("width", 64), ("depth", 2))),
    Training(("width-256",), (("width", 256), ("depth", 2))),
    Training(("width-512",), (("width", 512), ("depth", 3))),
    Training(("steps-12000",), (("steps", STEPS),)),
    Training(("members-7",), members=7),
)
VARIANTS = tuple(variant for training in TRAININGS for variant in training.variants)


# --- other networks -------------------------------------------------------------------------------------------


def asked(output: Array) -> Any:
    """A network that has answered already."""
    return lambda _: output


def log_variance(output: Array, moving: int) -> Array:
    """[D], behind all that the library's networks say."""
    low, high = LOG_VARIANCES
    raw = output[len(output) - moving :]
    below = high - jax.nn.softplus(high - raw)
    return low + jax.nn.softplus(below - low)


def likelihood_loss(net: MLP, row: Rows, moving: int, choices: tuple[int, ...]) -> Array:
    """The library's loss with (Δ − Δ̂)²/σ̂² + log σ̂² in place of (Δ − Δ̂)²: the same where σ̂ is 1."""
    output = net(row.x)
    logged = log_variance(output, moving)
    squared = (output[:moving] - row.next_x[0, :moving]) ** 2
    more = (squared * jnp.exp(-logged) + logged - squared).sum()
    return row_loss(asked(output), row, moving, choices) + row.discount * more / max(1, moving + len(choices))


@lru_cache(maxsize=64)
def likelihood_learner(sizes: Sizes, pair: int, moving: int, choices: tuple[int, ...]) -> Learner:
    """Takes the place of `network.make_learner`."""
    loss_of = jax.vmap(partial(likelihood_loss, moving=moving, choices=choices), in_axes=(None, 0))

    def loss(net: MLP, rows: Rows) -> Array:
        return loss_of(net, rows).mean()

    return annealed_learner(sizes, pair, moving + sum(choices) + 2 + moving, loss)


# --- rollouts that draw from learned Gaussians ----------------------------------------------------------------


class Gaussian(NamedTuple):
    """A prediction with a variance; of the members together, the mean of theirs."""

    change: Array
    chances: tuple[Array, ...]
    reward: Array
    end: Array
    variance: Array  # [D]


class SampledSimulator(Simulator):
    """Another type, so that no program is taken for it that was compiled for the library's."""


def predict_gaussian(net: MLP, units: Units, x: Array) -> Gaussian:
    output = net(x)
    return Gaussian(*predict(asked(output), units, x), jnp.exp(log_variance(output, len(units.moving))))


def sampled_state(units: Units, noise: Noise, key: Array, state: Array, x: Array, found: Gaussian) -> Array:
    deviation = jnp.sqrt(found.variance)
    drawn = found.change + deviation * jax.random.normal(jax.random.fold_in(key, 0), deviation.shape)
    said = Prediction(drawn, found.chances, found.reward, found.end)
    nothing = noise._replace(residuals=jnp.zeros_like(noise.residuals))
    return next_state(units, nothing, key, state, x, said)


def draws_gaussians() -> AbstractContextManager[Any]:
    return mock.patch.multiple(rollouts, predict=predict_gaussian, next_state=sampled_state)


# --- simulators, and what they answer -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Prepared:
    """A variant's simulator."""

    variant: str
    config: WorldConfig
    run: Run
    world: World
    seconds: float | None  # of training; None: they are some of base's networks
    rolling: Callable[[], AbstractContextManager[Any]] = nullcontext  # rollouts take place in it


def make_config(training: Training, settings: dict[str, Any], rows: int) -> WorldConfig | None:
    """`settings` are base's. None where it would train just what base trains."""
    base, own = WorldConfig(**settings), dict[str, int](training.settings)
    usual = base.sizes(rows, jax.default_backend())
    if training.share is not None:
        own["steps"] = max(1, int(training.share * usual.steps))
        return WorldConfig(**{**settings, **own})
    if "steps" in own:  # where it is tried out with few steps, as much shorter as on the longest logs
        own["steps"] = min(usual.steps, own["steps"]) if base.steps is None else max(1, base.steps // 5)
    config = WorldConfig(**{**settings, **own})
    same = own and config.sizes(rows, jax.default_backend()) == usual
    return None if same else config


def prepare_variants(
    training: Training, log: Log, config: WorldConfig, members: int, wanted: Collection[str]
) -> Iterator[Prepared]:
    """Train once, and make every simulator of it that is wanted; `members`: base's."""
    first, run = training.variants[0], make_world_run(log, training.members or members)
    began = time.perf_counter()
    with mock.patch.object(fitting, "make_learner", likelihood_learner) if training.likelihood else nullcontext():
        world = prepare(log, config, run)
    seconds = time.perf_counter() - began
    yield Prepared(first, config, run, world, seconds)
    if "sampled" in wanted:
        with mock.patch.multiple(held_out, NOISY=-1.0, NOISE_OVER_ERROR=-1.0):
            noisy = prepare_again(world, log, config, run)
        yield Prepared("sampled", config, run, noisy, seconds)
    if "members-3" in wanted and run.members >= 3:
        few = make_world_run(log, 3)
        yield Prepared("members-3", config, few, prepare_again(world, log, config, few), None)
    if "likelihood-sampled" in wanted:
        drawn = replace(world, simulator=SampledSimulator(*world.simulator), noisy=world.simulator.units.moving)
        yield Prepared("likelihood-sampled", config, run, drawn, seconds, draws_gaussians)


def make_world_run(log: Log, members: int) -> Run:
    return make_run(log, Options(members=members, resample=True)).of("world")


def prepare_again(world: World, log: Log, config: WorldConfig, run: Run) -> World:
    """From the networks that a world has, or the first of them: a member does not depend on how many there are."""
    kept = {one.stage: one for one in world.trained}

    def trained(*given: Any) -> Trained:
        stage = given[5]
        one = kept[stage]
        curves = {name: values[:, : run.members] for name, values in one.curves.items()}
        state = jax.tree.map(lambda leaf: leaf[: run.members], one.state)
        return replace(one, state=state, curves=curves, diverged_at=one.diverged_at[: run.members])

    with mock.patch.object(prepared, "train", trained):
        return prepare(log, config.model_copy(update={"steps": world.sizes.steps, "norm": world.sizes.norm}), run)


def answer(made: Prepared, log: Log, policy: Policy, wanted: Collection[str]) -> dict[str, dict[str, Any]]:
    """What the variant says of a policy; and of base, what its parts say alone. By variant, those that are wanted."""
    if not {made.variant, *(PARTS if made.variant == "base" else ())} & set(wanted):
        return {}
    problem, began = log.problem(policy), time.perf_counter()
    try:
        with made.rolling():
            estimated = estimate(problem, made.config, made.run, made.world)
    except UserError as error:
        return {made.variant: {"estimate": None, "simulated": None, "refused": str(error)}}
    seconds = round(time.perf_counter() - began, 2)
    fitted = Fitted(problem, estimated, {one.stage: one for one in made.world.trained}, None, ())
    said, told = conclude(fitted, make_method("world"), made.run.resamples), estimated.extras
    shared = {name: finite_or_none(told[name]) for name in ("support", "apart", "fallback", "log_value")}

    def row(value: float | None, simulated: float) -> dict[str, Any]:
        return {"estimate": value, "simulated": finite_or_none(simulated), **shared, "rollouts_s": seconds}

    rows = {made.variant: row(said.value, told["simulated"])}
    if made.variant == "base" and said.value is not None:
        own, of_log, fallback = float(np.nanmean(estimated.values)), told["log_value"], told["fallback"]
        alone = {
            "own": ((1.0 - fallback) * own + fallback * of_log, own),
            "no-fallback": (told["simulated"], told["simulated"]),
            "log-value": (of_log, told["simulated"]),
        }
        cut = said.bounds.cut
        rows |= {name: row(float(cut(np.array(value))), simulated) for name, (value, simulated) in alone.items()}
    return {name: row for name, row in rows.items() if name in wanted}


def held_out_error(made: Prepared, log: Log) -> float | None:
    """Mean squared error of a change, in standardised units, of members on rows that they have not learned from."""
    units, dataset = made.world.simulator.units, log.dataset
    rows = rows_looked_at(len(dataset))
    rows = rows[~dataset.terminations[rows]]
    new = unseen_rows(dataset, made.run, rows) & made.world.good[:, None]  # [M, n]
    if not units.moving or not new.any():
        return None
    logged = jax.device_get(units)
    x, outcome = (jnp.asarray(kind(dataset, logged)[rows]) for kind in (LoggedPairs, LoggedOutcomes))
    left = held_out.own_residuals(made.world.simulator.nets, units, x, outcome[:, 0])  # [M, n, D]
    return finite_or_none(float(np.asarray(left**2).mean(axis=-1)[new].mean(dtype=np.float64)))


def loss_of_rows(made: Prepared, log: Log) -> dict[str, float | None]:
    """Of those that members have seen, and of those that they have not, by which the library chooses."""
    units = jax.device_get(made.world.simulator.units)
    found = losses(made.world.trained[0], world_rows(log.dataset, units), log.dataset, units, made.run)
    return dict(zip(("seen", "unseen"), map(finite_or_none, found), strict=True))
