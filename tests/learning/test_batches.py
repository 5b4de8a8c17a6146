"""Rows of a mini-batch: the same for a member alone, among others, and with an encoder of its own."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ropeval.data import make_problem
from ropeval.learning.batches import draw_rows, encoded, gather, shown, step_keys
from ropeval.learning.resample import row_table
from tests.problems import Chain

INDEX = jnp.array([3, 0, 3])


@pytest.fixture(scope="module")
def plain():
    chain = Chain()
    return make_problem(chain.log(4), chain.policy(0.5), 0.9, draws=2).transitions


@pytest.fixture(scope="module")
def per_member(plain):
    """Member m's features are m + 1 times the plain ones."""
    times = lambda a: jnp.stack([a, 2 * a])  # noqa: E731
    rows = plain.rows._replace(x=times(plain.rows.x), next_x=times(plain.rows.next_x))
    return replace(plain, rows=rows, initial_x=times(plain.initial_x), per_member=True)


def test_rows_are_uniform_over_the_log_or_over_the_members_own(plain):
    drawn = np.asarray(draw_rows(plain, None, 4000, jax.random.key(0)))
    counts = np.bincount(drawn, minlength=plain.size)
    expected = 4000 / plain.size
    assert np.abs(counts - expected).max() < 5 * expected**0.5
    table = row_table(np.array([[0, 0, 4, 0]]), plain.starts).of(0)  # the third episode, four times
    own = draw_rows(plain, table, 4000, jax.random.key(0))
    assert set(np.asarray(own).tolist()) == set(range(plain.starts[2], plain.starts[3]))


def test_a_members_rows_are_its_own(plain, per_member):
    batch = gather(plain, INDEX, None)
    np.testing.assert_array_equal(batch.reward, plain.rows.reward[INDEX])
    for member in (0, 1):
        own = gather(per_member, INDEX, jnp.array(member))
        np.testing.assert_array_equal(own.x, (member + 1) * batch.x)
        np.testing.assert_array_equal(own.next_x, (member + 1) * batch.next_x)
        np.testing.assert_array_equal(own.discount, batch.discount)
        seen = shown(per_member, jnp.array(member))
        assert not seen.per_member
        np.testing.assert_array_equal(seen.initial_x, (member + 1) * plain.initial_x)
    assert shown(plain, None) is plain


def test_an_encoder_makes_the_features_of_both_ends(plain):
    batch = gather(plain, INDEX, None)
    assert encoded(batch, None) is batch
    found = encoded(batch, lambda x: x[..., :1] + 1)
    np.testing.assert_array_equal(found.x, batch.x[..., :1] + 1)
    np.testing.assert_array_equal(found.next_x, batch.next_x[..., :1] + 1)
    np.testing.assert_array_equal(found.reward, batch.reward)


def test_every_step_has_keys_of_its_own():
    keys = [key for t in range(3) for key in step_keys(jax.random.key(0), jnp.array(t))]
    assert len({tuple(np.asarray(jax.random.key_data(key)).tolist()) for key in keys}) == 6
