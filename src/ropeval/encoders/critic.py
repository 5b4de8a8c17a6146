"""The evaluation policy's own critic: the penultimate layer of the action-value network that it was trained with.

    φ(s, a) = h(s, a) / rms(h),    q_critic(s, a) = w·h(s, a) + b

where the policy file holds such a network (Stable-Baselines3: the first network of the target critic). Nothing is
learned here, and all members share the features. One number scales them all, so that an estimator's network sees
inputs of ordinary size; what is linear in h is linear in φ.
"""

from functools import partial

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from ropeval.data import Dataset
from ropeval.data.transitions import Problem, Transitions
from ropeval.encoders.encoder import Encoded, Encoder
from ropeval.errors import UserError
from ropeval.learning.engine import Run
from ropeval.policies import Policy
from ropeval.settings import PartConfig

BLOCK = 16_384  # pairs asked about at a time


class CriticConfig(PartConfig):
    """Nothing to choose."""


def check(dataset: Dataset, policy: Policy) -> None:
    if not policy.has_features:
        raise UserError(
            f"policy {policy.name}: it has no action-value network to take features from; critic needs a policy "
            "file with critic_target/qf0/… (Stable-Baselines3), or a Policy with a method features"
        )


def fit(problem: Problem, config: CriticConfig, run: Run) -> Encoded:
    dataset, raw = problem.dataset, problem.transitions
    check(dataset, problem.policy)
    ask = partial(critic_features, problem.policy, discrete=dataset.num_actions is not None)
    x = ask(dataset.observations, raw.rows.x[:, None])  # [N, 1, d]
    scale = float(np.sqrt(np.mean(np.square(x, dtype=np.float64)))) or 1.0  # a critic that is silent everywhere
    next_x, initial_x = (
        ask(dataset.next_observations, raw.rows.next_x),
        ask(dataset.initial_observations, raw.initial_x),
    )
    rows = raw.rows._replace(x=jnp.asarray(x[:, 0] / scale), next_x=jnp.asarray(next_x / scale))
    return Encoded(Transitions(rows, jnp.asarray(initial_x / scale), starts=raw.starts))


def critic_features(
    policy: Policy, observations: NDArray[np.float32], pairs: Array, discrete: bool
) -> NDArray[np.float32]:
    """h [n, K, d] for raw observations [n, S] and the pairs [n, K, X] that hold their actions.

    A policy sees raw observations, so only the action's columns of the pairs are read; those are as logged.
    """
    size, count = observations.shape[1], pairs.shape[1]
    parts = []
    for start in range(0, len(observations), BLOCK):
        states = np.repeat(observations[start : start + BLOCK], count, axis=0)  # [n·K, S]
        actions = np.asarray(pairs[start : start + BLOCK, :, size:]).reshape(len(states), -1)
        answer = np.asarray(policy.features(states, actions.argmax(axis=-1) if discrete else actions))
        if answer.ndim != 2 or len(answer) != len(states) or answer.dtype.kind not in "fiu":
            raise UserError(
                f"policy {policy.name}: for {len(states)} pairs its features have shape {answer.shape} and type "
                f"{answer.dtype}; expected numbers of shape ({len(states)}, d)"
            )
        if not np.isfinite(answer).all():
            raise UserError(f"policy {policy.name}: its features hold values that are not finite")
        parts.append(answer.astype(np.float32).reshape(-1, count, answer.shape[1]))
    return np.concatenate(parts)


CRITIC = Encoder(
    name="critic",
    config=CriticConfig,
    fit=fit,
    summary="penultimate layer of the policy's own action-value network, where its file has one",
    check=check,
)
