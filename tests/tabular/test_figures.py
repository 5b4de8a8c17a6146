"""Pictures of the gridworld: who shares a group shares a colour."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ropeval.tabular.figures import ALONE, NUMBER_AT, TRIANGLES, palette


@given(st.lists(st.integers(0, 6), min_size=1, max_size=30))
def test_groups_have_colours_of_their_own_and_who_is_alone_is_grey(labels):
    _, labels = np.unique(labels, return_inverse=True)
    colours, sizes = palette(labels), np.bincount(labels)
    assert colours.shape == (len(sizes), 3)
    assert ((colours >= 0) & (colours <= 1)).all()
    grey = (colours == np.array(ALONE)).all(axis=1)
    np.testing.assert_array_equal(grey, sizes == 1)
    assert len(np.unique(colours[~grey], axis=0)) == (~grey).sum()


def test_the_triangles_tile_the_cell_and_hold_their_numbers():
    corners = np.array(TRIANGLES, float)  # [4, 3, 2]
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    cross = lambda u, v: u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]  # noqa: E731
    np.testing.assert_allclose(np.abs(cross(b - a, c - a)) / 2, 0.25)
    at = np.array(NUMBER_AT)
    signs = np.stack([cross(b - a, at - a), cross(c - b, at - b), cross(a - c, at - c)])
    assert (np.abs(np.sign(signs).sum(axis=0)) == 3).all()  # on the same side of all three edges
