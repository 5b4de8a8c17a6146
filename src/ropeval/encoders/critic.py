"""The evaluation policy's own critic: the penultimate layer of the action-value network that it was trained with.

    φ(s, a) = h(s, a) / rms(h),    q_critic(s, a) = w·h(s, a) + b

where the policy file holds such a network (Stable-Baselines3: the first network of the target critic). Nothing is
learned here, and all members share the features. One number scales them all, so that an estimator's network sees
inputs of ordinary size; what is linear in h is linear in φ.
"""

from functools import partial

import numpy as np

from ropeval.arrays import AnyArray, Singles
from ropeval.data import Problem, needs
from ropeval.data.needs import check_needs
from ropeval.encoders.encoder import Encoded, Encoder
from ropeval.errors import UserError
from ropeval.learning.engine import Run
from ropeval.policies import Policy
from ropeval.settings import PartConfig

BLOCK = 16_384  # pairs asked about at a time


class CriticConfig(PartConfig):
    """Nothing to choose."""


def fit(problem: Problem, config: CriticConfig, run: Run) -> Encoded:
    check_needs(CRITIC.name, CRITIC.needs, problem.dataset, problem.policy)
    ask = partial(critic_features, problem.policy)
    logged = problem.answers.logged
    squares, count = 0.0, 0
    for start in range(0, len(logged), BLOCK):
        block = np.square(ask(*logged.raw(slice(start, start + BLOCK))), dtype=np.float64)
        squares, count = squares + float(block.sum()), count + block.size
    scale = float(np.sqrt(squares / count)) or 1.0  # a critic that is silent everywhere
    return Encoded(problem.with_features(lambda states, actions: ask(states, actions) / scale))


def critic_features(policy: Policy, observations: Singles, actions: AnyArray) -> Singles:
    """h [n, d] for raw observations [n, S] and their actions, as they were logged or drawn."""
    answer = np.asarray(policy.features(observations, actions))
    if answer.ndim != 2 or len(answer) != len(observations) or answer.dtype.kind not in "fiu":
        raise UserError(
            f"policy {policy.name}: for {len(observations)} pairs its features have shape {answer.shape} and type "
            f"{answer.dtype}; expected numbers of shape ({len(observations)}, d)"
        )
    if not np.isfinite(answer).all():
        raise UserError(f"policy {policy.name}: its features hold values that are not finite")
    return answer.astype(np.float32)


CRITIC = Encoder(
    name="critic",
    config=CriticConfig,
    fit=fit,
    summary="penultimate layer of the policy's own action-value network, where its file has one",
    needs=(needs.CRITIC,),
)
