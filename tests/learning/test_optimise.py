"""The update that every learned part shares, against steps worked out by hand."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeval.learning.optimise import adamw, descend, huber, start


@given(st.floats(-100, 100), st.floats(0.01, 10))
def test_huber_is_a_parabola_inside_and_a_line_outside(error, delta):
    inside = 0.5 * error**2
    outside = delta * (abs(error) - 0.5 * delta)
    found = float(huber(jnp.array([error]), delta)[0])
    assert found == pytest.approx(inside if abs(error) <= delta else outside, rel=1e-4, abs=1e-5)


def test_adams_first_step_is_the_sign_of_the_gradient_and_weights_decay():
    transform = adamw(clip=1.0, weight_decay=0.5)
    params = jnp.array([2.0, -4.0, 0.0])
    state = descend(start(params, transform), jnp.array([0.3, -5.0, 0.0]), transform, jnp.array(0.1), tau=0.25)
    expected = params - 0.1 * (jnp.array([1.0, -1.0, 0.0]) + 0.5 * params)
    np.testing.assert_allclose(state.params, expected, rtol=1e-5)
    np.testing.assert_allclose(state.target, params + 0.25 * (expected - params), rtol=1e-5)


def test_gradients_are_clipped_before_anything_else():
    transform = adamw(clip=1.0, weight_decay=0.0)
    states = []
    for size in (1.0, 1e6):
        state = start(jnp.zeros(2), transform)
        for gradient in (jnp.array([size, -size]), jnp.array([-0.5, 0.5])):
            state = descend(state, gradient, transform, jnp.array(0.1), tau=1.0)
        states.append(state)
    np.testing.assert_array_equal(states[0].params, states[1].params)
    np.testing.assert_array_equal(states[0].params, states[0].target)  # τ = 1: no lag
