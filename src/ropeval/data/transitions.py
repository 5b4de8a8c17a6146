"""Arrays ready to train on. Where features lie, and whose they are, is known here and to the engine; others ask."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ropeval.arrays import STATIC, Singles
from ropeval.data.placing import placed
from ropeval.data.streaming import Gathered, held_bytes
from ropeval.runtime import RUNS_ONCE

Part = slice | NDArray[np.integer]  # of the rows
GLANCE = 4096  # rows by which a learner is shown where looking at all is too much
ENCODED = 65_536  # pairs encoded at a time, and
READ = 16_384  # pairs at a time where a function of them is read out


class Rows(NamedTuple):
    """What a mini-batch is gathered from; the leading axis counts the logged steps.

    In a log that is too large to hold, `x` and `next_x` are `Gathered`: features are made when they are asked for.
    """

    x: Any  # [N, X]    features of the logged state-action pair
    next_x: Any  # [N, K, X] features of the next state with K actions of the evaluation policy
    reward: Any  # [N]
    discount: Any  # [N]       γ·(1−terminated); truncation bootstraps
    next_weight: Any = None  # [N, K] π_e(a'|s') where the K are all actions there are; None: drawn, each counts alike
    own: Any = None  # [N] a number of the member's own; outside a learner [M, N], of every member


def expected(values: Any, weight: Any) -> Any:
    """E over a ~ π_e: values [n, K] or [n, K, d] of K actions, by their weights [n, K] or None → [n] or [n, d]."""
    if weight is None:
        return values.mean(axis=1)
    return (weight.reshape(*weight.shape, *[1] * (values.ndim - 2)) * values).sum(axis=1)


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Transitions:
    """Rows and initial pairs, the same for all members or, where an encoder made the features, each member's own.

    To read: `block`, `blocks`, `logged`, `initial_block`, `values`. To make others: `with_…`,
    `first_draw`. What the fields look like is between this class and the engine. Features of the members' own are
    either stored and lead with a member axis (`per_member`), or they would take too much room, and the members'
    encoders are kept to be applied to every mini-batch (`nets`); either way the log itself may be held or streamed.
    """

    rows: Rows
    initial_x: Any  # [E, K, X]
    per_member: bool = field(default=False, metadata=STATIC)  # x, next_x and initial_x are [M, …]
    nets: Any = None  # [M] encoders, X -> d, of all members in one tree
    starts: Any = None  # [E + 1] the rows of episode e are starts[e]:starts[e+1]; resampling needs them
    initial_weight: Any = None  # [E, K] of the initial actions, as `Rows.next_weight`
    # Of native features: so many of the last are the one-hot code of a discrete action.
    code: int = field(default=0, metadata=STATIC)

    @property
    def size(self) -> int:
        return int(self.rows.reward.shape[0])

    @property
    def draws(self) -> int:
        """K, the policy's actions per state: drawn, or all that there are. The first is always drawn."""
        return int(self.rows.next_x.shape[-2])

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

    # --- to read ----------------------------------------------------------------------------------------------

    def block(self, part: Part, member: int = 0) -> Rows:
        """Some rows as one member sees them, on the host: x [n, d], next_x [n, K, d], reward [n], discount [n]."""
        own = (member, part) if self.per_member else part
        x, next_x = (self._encoded(np.asarray(_near(a)[own]), member) for a in self.rows[:2])
        shared = self.rows._replace(own=None)
        return Rows(x, next_x, *jax.tree.map(lambda a: np.asarray(_near(a)[part]), shared[2:]))

    def blocks(self, bounds: Sequence[int] | NDArray[np.integer], member: int = 0) -> Iterator[Rows]:
        """The rows between each bound and the next, one block after another."""
        of_member = self._of_member(member)
        for first, last in pairwise(bounds):
            yield of_member.block(slice(int(first), int(last)))

    def logged(self, part: Part, member: int = 0) -> Singles:
        """Some logged pairs as one member sees them, on the host, [n, d]: nothing is read of what comes next."""
        return self._encoded(np.asarray(_near(self.rows.x)[(member, part) if self.per_member else part]), member)

    def _of_member(self, member: int) -> "Transitions":
        """What one member sees, alone, where it is read block by block: brought to the host once, if it can be held."""
        rows, initial_x, nets = self.rows, self.initial_x, self.nets
        if self.per_member:
            rows, initial_x = rows._replace(x=rows.x[member], next_x=rows.next_x[member]), initial_x[member]
        if nets is not None:
            nets = jax.tree.map(lambda a: a[member : member + 1], nets)
        if not self.streamed:
            rows, initial_x = jax.tree.map(np.asarray, rows), np.asarray(initial_x)
        return replace(self, rows=rows, initial_x=initial_x, per_member=False, nets=nets)

    def initial_block(self, part: Part = slice(None), member: int = 0) -> Singles:
        """Some initial pairs as one member sees them, on the host: [n, K, d]."""
        x = np.asarray(_near(self.initial_x)[(member, part) if self.per_member else part])
        return self._encoded(x, member)

    def values(
        self,
        function: Callable[[Any, jax.Array], jax.Array],
        models: Any,
        of: Literal["x", "next_x", "initial_x"],
        part: Part | None = None,
    ) -> Singles:
        """[M, n] or [M, n, K]: function(model, pair [d]) of every member's model on the pairs as the member sees them.

        One compiled program for all members. `function` is part of it: give the same one again, not one that is alike.
        """
        x = self.initial_x if of == "initial_x" else getattr(self.rows, of)
        if part is not None:
            x = _near(x)[(slice(None), part) if self.per_member else part]
        read = partial(_read_out, function, self.per_member, models, self.nets)
        if not isinstance(x, Gathered):
            return np.asarray(read(x))
        return np.concatenate([read(x[start : start + READ]) for start in range(0, len(x), READ)], axis=1)

    def _encoded(self, x: Singles, member: int) -> Singles:
        return x if self.nets is None else np.asarray(_apply_net(self.nets, jnp.int32(member), x))

    # --- to make others ---------------------------------------------------------------------------------------

    def with_reward(self, reward: Any) -> "Transitions":
        """The same rows with another signal [N] in the place of the reward."""
        return replace(self, rows=self.rows._replace(reward=jax.device_put(reward)))

    def with_own(self, numbers: Any) -> "Transitions":
        """The same rows, each with a number of every member's own: [M, N]."""
        return replace(self, rows=self.rows._replace(own=jnp.asarray(numbers, jnp.float32)))

    def with_encoder(self, nets: Any) -> "Transitions":
        """The features that the members' encoders make: of all rows, once; where there is no room for that, of every
        mini-batch as it comes."""
        plain = replace(self, code=0)  # whatever the encoder makes, it is no code
        kept, members = replace(plain, nets=nets), len(jax.tree.leaves(nets)[0])
        if self.streamed or 4 * members * self.size * (1 + self.draws) * kept.dim > held_bytes():
            return kept
        return _encode_all(nets, plain)

    def first_draw(self) -> "Transitions":
        """With the first of the K next actions only."""
        next_x = self.rows.next_x
        first = next_x.first_draw() if isinstance(next_x, Gathered) else next_x[..., :1, :]
        return replace(self, rows=self.rows._replace(next_x=first, next_weight=None))

    def seen_by(self, member: int) -> "Transitions":
        """With the numbers of this member, where members have their own."""
        own = self.rows.own
        return self if own is None else replace(self, rows=self.rows._replace(own=own[member]))

    # --- what the engine asks ---------------------------------------------------------------------------------

    @property
    def streamed(self) -> bool:
        """Whether features are put together on the host, batch by batch."""
        return isinstance(self.rows.x, Gathered)

    @property
    def axes(self) -> "Transitions":
        """The same tree with the member axis of each leaf (0 or None), as `vmap` takes it."""
        own = 0 if self.per_member else None
        nets = None if self.nets is None else 0
        rows = Rows(own, own, None, None, own=None if self.rows.own is None else 0)
        return replace(self, rows=rows, initial_x=own, nets=nets, starts=None, initial_weight=None)

    def glance(self, count: int = GLANCE) -> "Transitions":
        """Evenly spaced rows and initial pairs, as they are stored: at least `count`, where there are so many.

        Learners that show themselves on every so-manieth row of all find the very same rows here.
        """
        every = max(1, self.size // count)
        starts = slice(None, None, max(1, len(self.initial_x) * self.initial_x.shape[1] // count))
        weight = None if self.initial_weight is None else self.initial_weight[starts]
        rows = jax.tree.map(lambda a: a[::every], self.rows._replace(own=None))
        return replace(self, rows=rows, initial_x=self.initial_x[starts], initial_weight=weight)


def lay_out(
    x: Any,
    next_x: Any,
    initial_x: Any,
    reward: Any,
    discount: Any,
    starts: Any,
    weights: tuple[Any, Any] = (None, None),
    code: int = 0,
) -> Transitions:
    """Features that are held in memory where they fit, and gathered when they are asked for where they do not."""
    if fits(x.shape, next_x.shape):
        x, next_x, initial_x = (placed(a) if isinstance(a, Gathered) else a for a in (x, next_x, initial_x))
    reward, discount, starts, weights = jax.device_put((reward, discount, starts, weights))
    rows = Rows(x, next_x, reward, discount, weights[0])
    return Transitions(rows, initial_x, starts=starts, initial_weight=weights[1], code=code)


def fits(*shapes: tuple[int, ...]) -> bool:
    """Whether features of these shapes can be held together."""
    return 4 * sum(int(np.prod(shape)) for shape in shapes) <= held_bytes()


def _near(values: Any) -> Any:
    """An array on the CPU as NumPy sees it, where it lies: indexed as it is, JAX would compile a program for every
    shape of log. Anything else is left where it is, so that only the rows which are asked for travel."""
    on_cpu = isinstance(values, jax.Array) and all(device.platform == "cpu" for device in values.devices())
    return np.asarray(values) if on_cpu else values


def apply_net(nets: Any, member: jax.Array, x: jax.Array) -> jax.Array:
    """φ_member(x)."""
    return jax.tree.map(lambda a: a[member], nets)(x)


_apply_net = jax.jit(apply_net)


@partial(jax.jit, static_argnums=(0, 1), compiler_options=RUNS_ONCE)
def _read_out(function: Any, per_member: bool, models: Any, nets: Any, x: jax.Array) -> jax.Array:
    """[M, …] of features […, X] (or [M, …, X] where members have their own), in blocks that bound the memory."""

    def one(model: Any, net: Any, x: jax.Array) -> jax.Array:
        def value(pair: jax.Array) -> jax.Array:
            return function(model, pair if net is None else net(pair))

        return jax.lax.map(value, x.reshape(-1, x.shape[-1]), batch_size=READ).reshape(x.shape[:-1])

    if per_member:
        return jax.lax.map(lambda own: one(own[0], None, own[1]), (models, x))
    return jax.lax.map(lambda own: one(own[0], own[1], x), (models, nets))


@jax.jit
def _encode_all(nets: Any, raw: Transitions) -> Transitions:
    def one(net: Any) -> tuple[jax.Array, jax.Array, jax.Array]:
        apply = partial(jax.lax.map, net, batch_size=ENCODED)
        flat_next = apply(raw.rows.next_x.reshape(-1, raw.dim))
        x, initial = apply(raw.rows.x), apply(raw.initial_x.reshape(-1, raw.dim))
        shape = (*raw.rows.next_x.shape[:2], -1)
        return x, flat_next.reshape(shape), initial.reshape(*raw.initial_x.shape[:2], -1)

    x, next_x, initial = jax.lax.map(one, nets)
    return replace(raw, rows=raw.rows._replace(x=x, next_x=next_x), initial_x=initial, per_member=True)
