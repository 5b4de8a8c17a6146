"""Who is tried, and who is taken; and that what decides is the loss of rows that a member has not seen."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ropeval.data import Log
from ropeval.estimators.world import WorldConfig, fitting, prepare
from ropeval.estimators.world.fitting import BLOCK, block_of, fit_networks, losses, unseen_rows
from ropeval.estimators.world.network import Sizes, make_learner, row_loss
from ropeval.estimators.world.rows import world_rows
from ropeval.estimators.world.units import make_units
from ropeval.learning.engine import Trained, train
from tests.estimators.world.logs import log_of, resampled
from tests.tiny import tiny_log

SIZES = Sizes(steps=2560, batch=16, width=8, depth=1, tau=0.02, weight_decay=0.0)


@pytest.fixture
def decided(monkeypatch):
    """Who is trained and who is taken, where the losses of seen and unseen rows are these: (steps, norm) → both."""

    def run(said, settled=False, sizes=SIZES):
        log = tiny_log("continuous")
        tried = []

        def learn(learner, data, hyper, steps, run, stage=None):
            return Trained(stage or run.part, None, np.array([steps]), {}, np.full(run.members, -1))

        def learner(sizes, *_):
            tried.append((sizes.steps, sizes.norm))

        monkeypatch.setattr(fitting, "make_learner", learner)
        monkeypatch.setattr(fitting, "losses", lambda trained, **_: said[tried[-1]])
        units = make_units(log)
        found = fit_networks(world_rows(log, units), log, units, sizes, {}, resampled(log), settled, learn)
        assert found[0].stage == "world"
        return tried, (found[1].steps, found[1].norm)

    return run


def test_what_was_not_learned_by_heart_is_taken_as_it_is(decided):
    assert decided({(2560, True): (0.50, 0.51)}) == ([(2560, True)], (2560, True))


def test_what_was_asked_for_is_what_is_trained(decided):
    assert decided({}, settled=True) == ([(2560, True)], (2560, True))


def test_training_is_shortened_as_long_as_less_is_more(decided):
    said = {(2560, True): (0.1, 0.9), (640, True): (0.3, 0.7), (160, True): (0.6, 0.8), (2560, False): (0.3, 0.8)}
    assert decided(said) == ([(2560, True), (640, True), (160, True), (2560, False)], (640, True))


def test_without_layer_norm_it_must_be_clearly_better(decided):
    said = {(2560, True): (0.1, 0.9), (640, True): (0.3, 0.95)}
    assert decided(said | {(2560, False): (0.3, 0.895)})[1] == (2560, True)
    assert decided(said | {(2560, False): (0.3, 0.88)})[1] == (2560, False)


def test_nothing_is_tried_that_would_see_the_log_only_a_few_times(decided):
    rows = len(tiny_log("continuous"))
    short = SIZES._replace(steps=4 * rows // 16)  # four passes: a quarter would be one
    said = {(short.steps, True): (0.1, 0.9), (short.steps, False): (0.1, 0.9)}
    assert decided(said, sizes=short)[0] == [(short.steps, True), (short.steps, False)]


def test_a_network_that_broke_is_not_taken(decided):
    said = {(2560, True): (0.1, 0.9), (640, True): (0.3, np.nan), (2560, False): (0.3, np.nan)}
    assert decided(said)[1] == (2560, True)


@pytest.mark.training
def test_losses_of_seen_and_unseen_rows_by_hand():
    log = tiny_log("continuous")
    units, run = make_units(log), resampled(log)
    data = world_rows(log, units)
    choices = units.choices
    learner = make_learner(SIZES._replace(steps=20), int(data.rows.x.shape[-1]), len(units.moving), choices)
    trained = train(learner, data, {"learning_rate": run.spread("learning_rate", 1e-3)}, 20, run)
    every = np.arange(len(log))
    new = unseen_rows(log, run, every)
    assert 0 < new.mean() < 1
    rows = jax.tree.map(jnp.asarray, data.block(every))

    def loss(member, row):
        net, one = (jax.tree.map(lambda leaf, at=at: leaf[at], tree) for tree, at in ((nets, member), (rows, row)))
        return float(row_loss(net, one, len(units.moving), choices))

    nets = trained.state.target
    for told, asked in zip(losses(trained, data, log, units, run), (~new, new), strict=True):
        by_hand = [loss(member, row) for member, row in np.argwhere(asked)]
        assert told == pytest.approx(np.mean(by_hand), rel=1e-4)


@pytest.mark.training
def test_a_log_of_noise_is_not_learned_by_heart():
    """Rewards are pure chance, one state: what can be foreseen is their mean, and long training only forgets it."""
    rng = np.random.default_rng(0)
    states = rng.standard_normal((120, 2))
    log = log_of(states, states, rewards=rng.standard_normal(120), cuts=np.ones(120, bool))
    config = WorldConfig(width=64, depth=1, batch=32, passes=300.0, learning_rate=3e-3)
    world = prepare(Log(log, 0.5), config, resampled(log))
    assert world.sizes.steps < world.longest == config.sizes(len(log), "cpu").steps
    assert prepare(Log(log, 0.5), config.model_copy(update={"steps": 1000}), resampled(log)).sizes.steps == 1000


@pytest.mark.parametrize(("rows", "block"), [(1, 1), (BLOCK, BLOCK), (BLOCK + 2, BLOCK // 2 + 1), (20_000, 4_000)])
def test_blocks_are_even(rows, block):
    assert block_of(rows) == block
