"""Dataset + Policy → arrays ready to train on. The policy is asked once, here, and never again."""

import math
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ropeval.data.dataset import Dataset
from ropeval.errors import UserError, unknown_name
from ropeval.policies.policy import Policy, draw_actions

Protocol = Literal["standard", "paper"]
PROTOCOLS: tuple[Protocol, ...] = ("standard", "paper")
DEFAULT_DRAWS = 8  # actions of a stochastic policy per state
STD_FLOOR = 1e-5


class Rows(NamedTuple):
    """What a mini-batch is gathered from; the leading axis counts the logged steps."""

    x: jax.Array  # [N, X]    features of the logged state-action pair
    next_x: jax.Array  # [N, K, X] features of the next state with K actions of the evaluation policy
    reward: jax.Array  # [N]
    discount: jax.Array  # [N]       γ·(1−terminated); truncation bootstraps


@dataclass(frozen=True, eq=False)
class Transitions:
    """Rows and initial pairs. Where an encoder made the features, they lead with a member axis of their own."""

    rows: Rows
    initial_x: jax.Array  # [E, K, X]
    per_member: bool = False  # x, next_x and initial_x are [M, …]: every member has its own encoder

    @property
    def size(self) -> int:
        return int(self.rows.reward.shape[0])

    @property
    def dim(self) -> int:
        return int(self.rows.x.shape[-1])

    @property
    def axes(self) -> "Transitions":
        """The same tree with the member axis of each leaf (0 or None), as `vmap` takes it."""
        own = 0 if self.per_member else None
        return replace(self, rows=Rows(own, own, None, None), initial_x=own)  # type: ignore[arg-type]


jax.tree_util.register_dataclass(Transitions, data_fields=["rows", "initial_x"], meta_fields=["per_member"])


@dataclass(frozen=True, eq=False)
class Problem:
    """One question: what would `policy` earn, discounted by γ, judged from `dataset`?"""

    dataset: Dataset
    policy: Policy
    gamma: float
    transitions: Transitions
    protocol: Protocol = "standard"

    @property
    def reward_bound(self) -> float:
        """No policy can be worth more than max|r|/(1−γ), if the log shows the largest reward. None seen: no bound."""
        largest = float(np.abs(self.dataset.rewards).max())
        return largest / (1.0 - self.gamma) if largest > 0.0 else math.inf


def make_problem(
    dataset: Dataset,
    policy: Policy,
    gamma: float,
    seed: int = 0,
    draws: int | None = None,
    protocol: Protocol = "standard",
) -> Problem:
    """Draw the policy's actions for every next and initial state, and lay everything out for training.

    `standard`: termination zeroes the bootstrap, truncation does not. `paper`: the conventions of the authors' code,
    which bootstraps nothing on the last step of every episode, time-outs included, and draws one action per state.
    """
    if protocol not in PROTOCOLS:
        raise unknown_name("protocol", protocol, list(PROTOCOLS))
    if not 0.0 <= gamma < 1.0:
        raise UserError(f"gamma is {gamma}; it must be at least 0 and less than 1")
    if draws is not None and draws < 1:
        raise UserError(f"{draws} actions per state were asked for; at least 1 is needed")
    policy.check(dataset.space)
    count = 1 if policy.deterministic else (draws or (1 if protocol == "paper" else DEFAULT_DRAWS))
    ends = dataset.terminations if protocol == "standard" else _episode_ends(dataset)
    next_actions = draw_actions(policy, dataset.next_observations, count, np.random.default_rng([seed, 1]))
    initial_actions = draw_actions(policy, dataset.initial_observations, count, np.random.default_rng([seed, 2]))

    mean, std = normaliser(dataset.observations)
    width = _action_width(dataset, policy)

    def features(observations: NDArray[np.float32], actions: NDArray[np.floating | np.integer]) -> jax.Array:
        states = (observations - mean) / std  # [n, S]
        encoded = _encode_actions(actions, width)  # [n, A] or [n, K, A]
        if encoded.ndim == 3:
            states = np.broadcast_to(states[:, None, :], (*encoded.shape[:2], states.shape[-1]))
        return jnp.asarray(np.concatenate([states, encoded], axis=-1, dtype=np.float32))

    rows = Rows(
        x=features(dataset.observations, dataset.actions),
        next_x=features(dataset.next_observations, next_actions),
        reward=jnp.asarray(dataset.rewards),
        discount=jnp.asarray(np.where(ends, 0.0, gamma).astype(np.float32)),
    )
    transitions = Transitions(rows, features(dataset.initial_observations, initial_actions))
    return Problem(dataset, policy, gamma, transitions, protocol)


def _episode_ends(dataset: Dataset) -> NDArray[np.bool_]:
    ends = np.zeros(len(dataset), bool)
    ends[dataset.starts[1:][np.diff(dataset.starts) > 0] - 1] = True
    return ends


def normaliser(observations: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Mean and standard deviation per column (floored), in double precision over the logged states."""
    mean = observations.mean(axis=0, dtype=np.float64)
    std = observations.std(axis=0, dtype=np.float64)
    return mean.astype(np.float32), np.maximum(std, STD_FLOOR).astype(np.float32)


def _action_width(dataset: Dataset, policy: Policy) -> int | None:
    """Size of the one-hot code, or None for continuous actions."""
    if dataset.num_actions is None:
        return None
    return max(dataset.num_actions, policy.action_size or 0)


def _encode_actions(actions: NDArray[np.floating | np.integer], width: int | None) -> NDArray[np.float32]:
    return actions.astype(np.float32) if width is None else np.eye(width, dtype=np.float32)[actions]
