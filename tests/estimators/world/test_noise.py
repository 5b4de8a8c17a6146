"""Noise depends on where one is, and on what choices came out; where it does not, there is one pool."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ropeval.estimators.world.noise import NOTHING, POOL, draw, grow, make_noise, silent, where

N = 8000
RNG = np.random.default_rng(0)
HALF = np.arange(N) // 50 % 2
ASKED = RNG.uniform(-1.0, 1.0, (N, 6)).astype(np.float32)


@pytest.fixture(autouse=True)
def _draws_of_its_own(monkeypatch):
    """So that no test depends on which ran before it."""
    monkeypatch.setitem(globals(), "RNG", np.random.default_rng(3))


def pools(residual, noisy=None, asked=ASKED):
    """Of one member that has seen two rows in three, and of the joint prediction."""
    residual = residual.astype(np.float32)
    unseen = (np.arange(len(residual)) % 3 == 0)[None]
    noisy = np.ones(residual.shape[1], bool) if noisy is None else noisy
    return make_noise(asked, residual, residual[None], unseen, noisy, HALF[: len(residual)])


def drawn(noise, place, group=-1, count=4000):
    """[count, D] residuals for steps with these features [F]."""
    one = jax.tree.map(jnp.asarray, noise.of(group))
    keys = jax.random.split(jax.random.key(0), count)
    return np.asarray(jax.vmap(lambda key: draw(one, key, jnp.asarray(place, jnp.float32)))(keys))


@pytest.mark.parametrize("tail", ["normal", "heavy"])
def test_noise_that_is_the_same_everywhere_is_one_pool(tail):
    noise = RNG.standard_normal((N, 2)) if tail == "normal" else RNG.standard_t(2.5, (N, 2))
    assert (grow(ASKED.astype(float), noise, HALF).column == NOTHING).all()


@pytest.mark.parametrize("group", [0, -1])
def test_its_size_is_that_of_the_place(group):
    """Standard deviation 2 where the third feature is above 0.3, 0.5 elsewhere; none where the first is below -0.5."""
    size = np.where(ASKED[:, 0] < -0.5, 0.0, np.where(ASKED[:, 2] > 0.3, 2.0, 0.5))
    found = pools(size[:, None] * RNG.standard_normal((N, 1)))
    for place, expected in (([0, 0, 0.8, 0, 0, 0], 2.0), ([0, 0, -0.8, 0, 0, 0], 0.5), ([-0.8, 0, 0.8, 0, 0, 0], 0.0)):
        assert drawn(found, place, group).std() == pytest.approx(expected, rel=0.15, abs=0.05)
        assert drawn(found, place, group).mean() == pytest.approx(0.0, abs=0.02 + 0.05 * expected)


def test_its_form_is_that_of_the_place():
    """What breaks one time in four where the first feature is high, and never where it is low."""
    chance = np.where(ASKED[:, 0] > 0.5, 0.25, 0.0)
    breaks = RNG.random(N) < chance
    found = pools((chance - breaks)[:, None] + 0.01 * RNG.standard_normal((N, 1)))
    high, low = drawn(found, [0.9, 0, 0, 0, 0, 0]), drawn(found, [0.0, 0, 0, 0, 0, 0])
    assert (high < -0.5).mean() == pytest.approx(0.25, abs=0.04)
    assert high.mean() == pytest.approx(0.0, abs=0.03)
    assert (low < -0.5).sum() == 0


def test_what_goes_along_with_a_choice_is_drawn_with_it():
    """The last feature is a flag that was drawn; with it comes a jump of 3, of which the networks know the mean."""
    flag = (RNG.random(N) < 0.1).astype(np.float32)
    asked = np.concatenate([ASKED, flag[:, None]], axis=1)
    found = pools((3.0 * flag - 0.3)[:, None] + 0.1 * RNG.standard_normal((N, 1)), asked=asked)
    assert drawn(found, [0] * 6 + [1]).mean() == pytest.approx(2.7, abs=0.05)
    assert drawn(found, [0] * 6 + [0]).mean() == pytest.approx(-0.3, abs=0.02)


def test_columns_without_noise_have_none_and_more_rows_than_there_is_room_for_do_not_matter():
    many = 3 * POOL
    asked, residual = RNG.uniform(-1, 1, (many, 2)).astype(np.float32), RNG.standard_normal((many, 2))
    half = np.arange(many) // 50 % 2
    found = make_noise(asked, residual, residual[None], np.ones((1, many), bool), np.array([True, False]), half)
    assert found.residuals.shape == (2, POOL, 2)
    assert drawn(found, [0, 0])[:, 0].std() == pytest.approx(1.0, rel=0.05)
    assert (drawn(found, [0, 0])[:, 1] == 0.0).all()
    assert (drawn(silent(2, 3), [0, 0]) == 0.0).all()


def test_members_do_not_depend_on_each_other():
    """One that has not seen the rows in which noise is large knows nothing of them."""
    size = np.where(ASKED[:, 0] > 0.0, 2.0, 0.5)[:, None]
    residual = (size * RNG.standard_normal((N, 1))).astype(np.float32)
    unseen = np.stack([ASKED[:, 0] < 0.0, np.zeros(N, bool)])  # and one that has seen everything: it is asked about all
    found = make_noise(ASKED, residual, np.stack([residual, residual]), unseen, np.array([True]), HALF)
    sizes = [drawn(found, [0.5, 0, 0, 0, 0, 0], group).std() for group in (0, 1, -1)]
    assert sizes == pytest.approx([0.5, 2.0, 2.0], rel=0.1)


def test_rows_end_where_draws_do():
    size = np.where(ASKED[:, 1] > 0.0, 2.0, 0.5)[:, None]
    tree = grow(ASKED.astype(float), size * RNG.standard_normal((N, 1)), HALF)
    assert tree.column[0] == 1
    assert tree.limit[0] == pytest.approx(0.0, abs=0.1)
    assert set(where(tree, ASKED[ASKED[:, 1] > 0.1])) == {2}
