"""Dataset + Policy → arrays ready to train on. The policy is asked once, here, and never again."""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ropeval.data.columns import BLOCK
from ropeval.data.dataset import Dataset
from ropeval.data.streaming import Pairs, held_bytes, spill
from ropeval.errors import UserError, unknown_name
from ropeval.files import release
from ropeval.policies.policy import Policy, draw_actions, draw_in_blocks

Protocol = Literal["standard", "paper"]
PROTOCOLS: tuple[Protocol, ...] = ("standard", "paper")
DEFAULT_DRAWS = 8  # actions of a stochastic policy per state
STD_FLOOR = 1e-5
GLANCE = 4096  # rows by which a learner is shown where looking at all is too much


class Rows(NamedTuple):
    """What a mini-batch is gathered from; the leading axis counts the logged steps.

    In a log that is too large to hold, `x` and `next_x` are `Pairs`, which make features when indexed by rows.
    """

    x: Any  # [N, X]    features of the logged state-action pair
    next_x: Any  # [N, K, X] features of the next state with K actions of the evaluation policy
    reward: jax.Array  # [N]
    discount: jax.Array  # [N]       γ·(1−terminated); truncation bootstraps


@dataclass(frozen=True, eq=False)
class Transitions:
    """Rows and initial pairs. Where an encoder made the features, every member has its own: either they are stored
    and lead with a member axis (`per_member`), or they would take too much room, and the members' encoders are kept
    to be applied to every mini-batch (`nets`)."""

    rows: Rows
    initial_x: Any  # [E, K, X]
    per_member: bool = False  # x, next_x and initial_x are [M, …]
    nets: Any = None  # [M] encoders, X -> d, of all members in one tree
    starts: Any = None  # [E + 1] the rows of episode e are starts[e]:starts[e+1]; resampling needs them

    @property
    def size(self) -> int:
        return int(self.rows.reward.shape[0])

    @property
    def dim(self) -> int:
        """Length of the features that a learner sees."""
        raw = int(self.rows.x.shape[-1])
        if self.nets is None:
            return raw
        encoded = jax.eval_shape(apply_net, self.nets, jnp.int32(0), jax.ShapeDtypeStruct((raw,), jnp.float32))
        return int(encoded.shape[-1])

    @property
    def members(self) -> int | None:
        """How many members have features of their own; None where all share them."""
        if self.per_member:
            return int(self.rows.x.shape[0])
        return None if self.nets is None else len(jax.tree.leaves(self.nets)[0])

    @property
    def streamed(self) -> bool:
        """Whether features are put together on the host, batch by batch."""
        return isinstance(self.rows.x, Pairs)

    @property
    def axes(self) -> "Transitions":
        """The same tree with the member axis of each leaf (0 or None), as `vmap` takes it."""
        own = 0 if self.per_member else None
        nets = None if self.nets is None else 0
        rows = Rows(own, own, None, None)  # type: ignore[arg-type]
        return replace(self, rows=rows, initial_x=own, nets=nets, starts=None)

    def block(self, part: slice | NDArray[np.int64], member: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Features of some rows as one member sees them: [n, d] of the pairs, [n, K, d] of the next ones."""
        own = (member, part) if self.per_member else part
        x, next_x = np.asarray(on_host(self.rows.x)[own]), np.asarray(on_host(self.rows.next_x)[own])
        return (x, next_x) if self.nets is None else (self._encoded(x, member), self._encoded(next_x, member))

    def initial_block(self, part: slice, member: int) -> NDArray[np.float32]:
        """Features of some initial pairs as one member sees them: [n, K, d]."""
        x = np.asarray(on_host(self.initial_x)[(member, part) if self.per_member else part])
        return x if self.nets is None else self._encoded(x, member)

    def _encoded(self, x: NDArray[np.float32], member: int) -> NDArray[np.float32]:
        return np.asarray(_apply_net(self.nets, jnp.int32(member), x))

    def glance(self, count: int = GLANCE) -> "Transitions":
        """Evenly spaced rows and initial pairs, as they are stored: at least `count`, where there are so many.

        Learners that show themselves on every so-manieth row of all find the very same rows here.
        """
        draws = self.initial_x.shape[1]
        every = max(1, self.size // count)
        pairs = np.arange(0, len(self.initial_x) * draws, max(1, len(self.initial_x) * draws // count))
        initial = self.initial_x[pairs // draws][np.arange(len(pairs)), pairs % draws]
        return replace(self, rows=Rows(*(a[::every] for a in self.rows)), initial_x=initial[:, None])


jax.tree_util.register_dataclass(
    Transitions, data_fields=["rows", "initial_x", "nets", "starts"], meta_fields=["per_member"]
)


def on_host(values: Any) -> Any:
    """An array on the CPU as NumPy sees it, where it lies: indexed as it is, JAX would compile a program for every
    shape of log. Anything else is left where it is, so that only the rows which are asked for travel."""
    on_cpu = isinstance(values, jax.Array) and all(device.platform == "cpu" for device in values.devices())
    return np.asarray(values) if on_cpu else values


def apply_net(nets: Any, member: jax.Array, x: jax.Array) -> jax.Array:
    """φ_member(x)."""
    return jax.tree.map(lambda a: a[member], nets)(x)


_apply_net = jax.jit(apply_net)


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
    policy = policy.fitted(dataset.space)
    count = 1 if policy.deterministic else (draws or (1 if protocol == "paper" else DEFAULT_DRAWS))
    ends = dataset.terminations if protocol == "standard" else _episode_ends(dataset)
    mean, std = normaliser(dataset.observations)
    width = _action_width(dataset, policy)

    def drawn(observations: NDArray[np.float32], seeds: list[int], streamed: bool) -> Pairs:
        asked = (policy, observations, count, np.random.default_rng(seeds))
        actions = spill(draw_in_blocks(*asked)) if streamed else draw_actions(*asked)
        return Pairs(observations, actions, mean, std, width)

    pairs = Pairs(dataset.observations, dataset.actions, mean, std, width)
    streamed = 4 * (1 + count) * len(pairs) * pairs.shape[-1] > held_bytes()
    hold = (lambda made: made) if streamed else (lambda made: jnp.asarray(made[:]))
    rows = Rows(
        x=hold(pairs),
        next_x=hold(drawn(dataset.next_observations, [seed, 1], streamed)),
        reward=jnp.asarray(dataset.rewards),
        discount=jnp.asarray(np.where(ends, 0.0, gamma).astype(np.float32)),
    )
    initial_x = hold(drawn(dataset.initial_observations, [seed, 2], streamed))
    transitions = Transitions(rows, initial_x, starts=jnp.asarray(dataset.starts))
    return Problem(dataset, policy, gamma, transitions, protocol)


def _episode_ends(dataset: Dataset) -> NDArray[np.bool_]:
    ends = np.zeros(len(dataset), bool)
    ends[dataset.starts[1:][np.diff(dataset.starts) > 0] - 1] = True
    return ends


def normaliser(observations: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Mean and standard deviation per column (floored), in double precision over the logged states, in blocks."""
    parts = [slice(start, start + BLOCK) for start in range(0, len(observations), BLOCK)]
    total, squares = np.zeros(observations.shape[1]), np.zeros(observations.shape[1])
    for part in parts:
        total += observations[part].sum(axis=0, dtype=np.float64)
        release(observations)
    mean = total / len(observations)
    for part in parts:
        squares += ((observations[part] - mean) ** 2).sum(axis=0)
        release(observations)
    std = np.sqrt(squares / len(observations))
    return mean.astype(np.float32), np.maximum(std, STD_FLOOR).astype(np.float32)


def _action_width(dataset: Dataset, policy: Policy) -> int | None:
    """Size of the one-hot code, or None for continuous actions."""
    if dataset.num_actions is None:
        return None
    return max(dataset.num_actions, policy.action_size or 0)
