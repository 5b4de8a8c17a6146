"""Policies inside programs that JAX compiles: a tree of arrays, and pure functions of it.

The arithmetic is each policy's own (`NetworkPolicy.act`), carried out by jax.numpy; only the noise is JAX's. What two
policies of one family share is equal here, so that a program compiled for the one serves the other, and a stack of
their arrays can be mapped over:

    policy = load_policy("sac.zip").fitted(space).compiled()
    actions = jax.jit(lambda policy, states, key: policy.act(policy.params, states, key))(policy, states, key)
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ropeval.arrays import STATIC
from ropeval.policies.networks import NetworkPolicy
from ropeval.policies.normalised import Statistics
from ropeval.policies.uniform import UniformPolicy

NOISE: dict[str | None, Callable[..., jax.Array]] = {"normal": jax.random.normal, "gumbel": jax.random.gumbel}


@dataclass(frozen=True)
class PureFunction:
    """A function that is equal to another where what it computes is: by its name, not by its identity."""

    name: Hashable
    function: Callable[..., jax.Array] = field(compare=False, repr=False)

    def __call__(self, params: Any, observations: jax.Array, *key: jax.Array) -> jax.Array:
        with jax.default_matmul_precision("highest"):  # float32 throughout, on devices that would round products
            return self.function(params, observations, *key)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class CompiledPolicy:
    """π as JAX takes it. It may be an argument of a compiled function: its arrays are data, its functions are not."""

    params: Any  # arrays by name
    # params, raw observations [n, S], key -> actions [n, A] float32, or [n] int32
    act: PureFunction = field(metadata=STATIC)
    # params, observations -> π(a|s) [n, A] of discrete actions
    probabilities: PureFunction | None = field(default=None, metadata=STATIC)


def compile_network(policy: NetworkPolicy) -> CompiledPolicy:
    name = (type(policy).__name__, policy.settings)

    def act(params: Any, observations: jax.Array, key: jax.Array) -> jax.Array:
        shape = (len(observations), len(params["output"][1]))
        noise = None if policy.deterministic else NOISE[policy.noise](key, shape, jnp.float32)
        actions = jax.vmap(lambda x, e: policy.act(jnp, params, x, e))(observations, noise)
        return actions.astype(jnp.int32) if policy.discrete else actions

    def probabilities(params: Any, observations: jax.Array) -> jax.Array:
        scores = jax.vmap(lambda x: policy.output(jnp, params, x))(observations)  # [n, A]
        if policy.deterministic:
            return jax.nn.one_hot(scores.argmax(axis=-1), scores.shape[-1])
        return jax.nn.softmax(scores, axis=-1)

    weights = {part: value for part, value in policy.weights.items() if part != "critic"}  # which takes no part in π
    params = jax.tree.map(lambda array: jnp.asarray(array, jnp.float32), weights)
    chances = PureFunction(("probabilities", *name), probabilities) if policy.discrete else None
    return CompiledPolicy(params, PureFunction(("act", *name), act), chances)


def compile_uniform(policy: UniformPolicy) -> CompiledPolicy:
    if not policy.discrete:
        return CompiledPolicy(jax.device_put(policy.bounds), PureFunction("uniform over a box", _in_box))
    return CompiledPolicy(
        jnp.zeros(policy.action_size),  # as many as there are actions
        PureFunction("uniform choice", lambda params, x, key: jax.random.randint(key, (len(x),), 0, len(params))),
        PureFunction("uniform chances", lambda params, x: jnp.full((len(x), len(params)), 1 / len(params))),
    )


def _in_box(params: Any, observations: jax.Array, key: jax.Array) -> jax.Array:
    low, high = params
    return jax.random.uniform(key, (len(observations), len(low)), minval=low, maxval=high)


def compile_normalised(inside: CompiledPolicy, statistics: Statistics) -> CompiledPolicy:
    def scaled(params: Any, observations: jax.Array) -> jax.Array:
        mean, rest, scale, limit = params["statistics"]
        return jax.vmap(lambda x: jnp.clip((x - mean - rest) * scale, -limit, limit))(observations)

    def on_scaled(function: PureFunction) -> PureFunction:
        return PureFunction(
            ("normalised", function.name), lambda params, x, *key: function(params["inside"], scaled(params, x), *key)
        )

    mean = statistics.mean.astype(np.float32)  # and what float32 left of it, so that nothing is lost near the mean
    numbers = (mean, statistics.mean - mean, 1 / np.sqrt(statistics.variance + statistics.epsilon), statistics.limit)
    params = {"inside": inside.params, "statistics": tuple(jnp.asarray(n, jnp.float32) for n in numbers)}
    chances = None if inside.probabilities is None else on_scaled(inside.probabilities)
    return CompiledPolicy(params, on_scaled(inside.act), chances)
