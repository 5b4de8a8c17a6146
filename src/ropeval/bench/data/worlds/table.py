"""Worlds of finitely many states: a table of transitions, an observation for every state, and softened policies."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ropeval.bench.data.truth import Answer
from ropeval.errors import UserError
from ropeval.policies.networks import digest
from ropeval.policies.policy import Policy
from ropeval.tabular import TabularMDP, policy_value
from ropeval.tabular.solve import action_values, policy_chain

if TYPE_CHECKING:
    from ropeval.policies.compiled import CompiledPolicy

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Table:
    """What happens (P, rewards), where episodes begin and end, and what is seen of a state."""

    observations: Integers  # [S, d] small integers; two live states never look alike
    P: Floats  # [S, A, S]
    rewards: Floats  # [S, A, S] of a transition, so that a log's rewards vary as outcomes do
    d0: Floats  # [S]
    terminal: NDArray[np.bool_]  # [S]

    @lru_cache(maxsize=8)  # noqa: B019  worlds live as long as the program
    def mdp(self, gamma: float) -> TabularMDP:
        return TabularMDP(self.P, (self.P * self.rewards).sum(axis=-1), self.d0, gamma, self.terminal)

    def answer(self, policy: Policy, gamma: float, time_limit: int) -> Answer:
        """The discounted return by one linear solve; reward and length of an episode by stepping the distribution."""
        mdp, probabilities = self.mdp(gamma), self.probabilities(policy)
        chain = policy_chain(mdp, probabilities)
        weight, total, length = mdp.d0, 0.0, 0.0
        for _ in range(time_limit):
            total += float(weight @ chain.r)
            length += float(weight[~self.terminal].sum())
            weight = weight @ chain.P
        return Answer(policy_value(mdp, probabilities), total, length)

    def probabilities(self, policy: Policy) -> Floats:
        """π(a|s) of every state, asked of the policy itself: [S, A]. Terminal rows mean nothing."""
        known = policy.action_probabilities(self.observations.astype(np.float32))
        if known is None:
            raise UserError(f"policy {policy.name}: it draws its actions and cannot tell how (it has no log_prob)")
        return known


def make_table(
    states: Integers,
    actions: int,
    outcomes: Callable[[tuple[int, ...], int], Mapping[tuple[int, ...], tuple[float, float]]],
    d0: Mapping[tuple[int, ...], float],
    terminal: Callable[[tuple[int, ...]], bool] = lambda state: False,
) -> Table:
    """From rules to arrays: `outcomes(state, action)` gives next state → (probability, reward)."""
    names = [tuple(int(n) for n in row) for row in states]
    number = {name: place for place, name in enumerate(names)}
    ends = np.array([terminal(name) for name in names])
    P = np.zeros((len(names), actions, len(names)))
    rewards = np.zeros_like(P)
    start = np.zeros(len(names))
    for name, probability in d0.items():
        start[number[name]] = probability
    for state, name in enumerate(names):
        for action in range(actions) if not ends[state] else ():
            for following, (probability, reward) in outcomes(name, action).items():
                P[state, action, number[following]] += probability
                rewards[state, action, number[following]] = reward
    P[ends, :, np.flatnonzero(ends)] = 1.0
    return Table(states, P, rewards, start, ends)


class TablePolicy(Policy):
    """π(a|s) from a table. What is no state, as a learned simulator may dream it, counts as the nearest one."""

    discrete = True
    deterministic = False

    def __init__(self, name: str, table: Table, probabilities: Floats):
        self.name = name
        self.observation_size, self.action_size = table.observations.shape[1], probabilities.shape[1]
        live = ~table.terminal
        self._states, self._table = table.observations[live], probabilities[live]
        self._low, self._high = self._states.min(axis=0), self._states.max(axis=0)
        self._strides = np.cumprod([1, *(self._high - self._low + 1)])  # a box of numbers, each with its nearest state
        box = np.stack(np.unravel_index(np.arange(self._strides[-1]), self._high - self._low + 1, order="F"), axis=1)
        self._nearest = _nearest(box + self._low, self._states)

    def probabilities(self, observations: NDArray[np.float32]) -> Floats:
        """[n, A]"""
        at = np.clip(np.rint(observations), self._low, self._high).astype(np.int64) - self._low
        return self._table[self._nearest[at @ self._strides[:-1]]]

    def sample(self, observations: NDArray[np.float32], rng: np.random.Generator) -> NDArray[Any]:
        reach = self.probabilities(observations).cumsum(axis=1)
        drawn = rng.random(len(observations))[:, None] * reach[:, -1:]
        return (reach <= drawn).sum(axis=1)

    def log_prob(self, observations: NDArray[np.float32], actions: NDArray[Any]) -> NDArray[np.float64]:
        chosen = np.take_along_axis(self.probabilities(observations), np.asarray(actions)[:, None], axis=1)[:, 0]
        with np.errstate(divide="ignore"):
            return np.log(chosen)

    def compiled(self) -> "CompiledPolicy":
        import jax
        import jax.numpy as jnp

        from ropeval.policies.compiled import CompiledPolicy, PureFunction

        def chances(params: Any, observations: jax.Array) -> jax.Array:
            low, high, strides, nearest, table = params
            at = jax.vmap(lambda x: ((jnp.clip(jnp.rint(x), low, high) - low).astype(int) * strides).sum())
            return table[nearest[at(observations)]]

        def act(params: Any, observations: jax.Array, key: jax.Array) -> jax.Array:
            return jax.random.categorical(key, jnp.log(chances(params, observations))).astype(jnp.int32)

        low, high, table = (array.astype(np.float32) for array in (self._low, self._high, self._table))
        params = (low, high, self._strides[:-1].astype(np.int32), self._nearest.astype(np.int32), table)
        return CompiledPolicy(params, PureFunction("table", act), PureFunction("chances of a table", chances))

    @property
    def sha256(self) -> str:
        return digest("table", [self._states, self._table])


def _nearest(points: Integers, states: Integers) -> Integers:
    """The number of the nearest state of every point, [n]; in blocks, for the sake of memory."""
    blocks = np.array_split(points, max(1, len(points) * len(states) // 2_000_000))
    return np.concatenate([np.abs(b[:, None, :] - states[None]).sum(axis=-1).argmin(axis=1) for b in blocks])


def softened(table: Table, gamma: float, recipe: Mapping[str, tuple[float, float]]) -> dict[str, TablePolicy]:
    """Policies from weak to strong: name → (temperature, ε), π = (1 − ε)·softmax(q*/temperature) + ε·uniform.

    Temperatures are relative to the spread of q* between the actions of a state. Probabilities are rounded, so that
    they are the same wherever they are computed.
    """
    mdp = table.mdp(gamma)
    q = optimal_values(mdp)  # [S, A]
    live = ~mdp.terminal
    gaps = q.max(axis=1, keepdims=True) - q  # [S, A]
    scale = float(gaps[live].mean())
    policies = {}
    for name, (temperature, epsilon) in recipe.items():
        weights = np.exp(-gaps / (temperature * scale))
        soft = (1 - epsilon) * weights / weights.sum(axis=1, keepdims=True) + epsilon / mdp.num_actions
        rounded = np.maximum(np.round(soft, 4), 1e-4)
        policies[name] = TablePolicy(name, table, rounded / rounded.sum(axis=1, keepdims=True))
    return policies


def optimal_values(mdp: TabularMDP) -> Floats:
    """q* by policy iteration: exact after a handful of linear solves. [S, A]"""
    greedy = np.zeros(mdp.num_states, np.int64)
    while True:
        q = action_values(mdp, np.eye(mdp.num_actions)[greedy])
        better = q.argmax(axis=1)
        stays = q[np.arange(len(q)), greedy] >= q.max(axis=1) - 1e-10  # rounding is no reason to change
        better = np.where(stays, greedy, better)
        if (better == greedy).all():
            return q
        greedy = better
