"""The log's side of the pictures: who is still there, which columns matter, how they move."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from ropeval.estimators.world.log_paths import important_columns, log_paths, log_survival
from ropeval.estimators.world.rollouts import Simulator
from ropeval.estimators.world.units import make_units
from tests.estimators.world.logs import log_of
from tests.problems import Chain


def episodes(lengths, ends):
    """A log of episodes with these lengths; whether each ends or is cut off. States count the steps."""
    last = np.cumsum(lengths) - 1
    terminal, cut = np.zeros(sum(lengths), bool), np.zeros(sum(lengths), bool)
    terminal[last], cut[last] = ends, ~np.array(ends)
    time = np.concatenate([np.arange(length) for length in lengths])
    states = np.stack([time, np.ones(len(time))], axis=1)
    return log_of(states, states, ends=terminal, cuts=cut)


def test_survival_counts_what_was_cut_off_up_to_there():
    """Kaplan and Meier by hand: one of 4 ends after step 1, one is cut off after step 2, one of 2 ends after step 3."""
    found = log_survival(episodes([1, 2, 3, 5], [True, False, True, False]), 6)
    np.testing.assert_allclose(found, [1, 3 / 4, 3 / 4, 3 / 8, 3 / 8, 3 / 8, np.nan])


def test_survival_of_the_chain_is_that_of_its_policy():
    """Cut off after ten steps or not, the share still there after five is the same within what chance allows."""
    long, short = (log_survival(Chain(size=3).log(400, length=length), 8) for length in (60, 8))
    np.testing.assert_allclose(long[:8], short[:8], atol=0.1)
    assert long[8] < 0.8


def test_bands_are_of_the_episodes_that_still_run():
    log = episodes([3] * 10 + [6] * 4, [False] * 14)
    found = log_paths(log, np.array([0]), 5)
    np.testing.assert_array_equal(found.steps, np.arange(6))
    np.testing.assert_array_equal(found.bands[:3, 0], np.arange(3)[:, None] * np.ones(3))
    assert np.isnan(found.bands[3:]).all()  # four are no crowd
    assert found.survival is None
    assert found.names == ("observations[0]",)


class Slopes(NamedTuple):
    """V_b that is linear in the states."""

    weights: Array  # [M, S]

    def __call__(self, x: Array) -> Array:
        return (x @ self.weights)[..., None]


def test_columns_matter_by_what_v_b_makes_of_them():
    rng = np.random.default_rng(0)
    states = rng.standard_normal((500, 7)) * np.array([1, 1, 100, 0, 1, 1, 1])
    log = log_of(states)
    slopes = Slopes(jnp.array([[0.1, 3.0, 1.0, 9.0, 0.0, 0.5, 0.2]] * 2))
    units, nothing = jax.tree.map(jnp.asarray, make_units(log)), jnp.float32(0)
    world = Simulator(
        None, slopes, jnp.full(2, 0.5), units, nothing, nothing, nothing, nothing, nothing, nothing, nothing
    )
    np.testing.assert_array_equal(important_columns(world, log), [1, 2, 5, 6])  # the fourth never changes
