"""Gymnasium's spaces as Minari writes them down, and Gymnasium's flattening, a whole episode at a time.

Flattening follows `gymnasium.spaces.flatten`: boxes and bits row by row, discrete values one-hot, dictionaries in the
order of the space, tuples in theirs. (The tests compare with Gymnasium itself, which does one step at a time.)
"""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropeval.errors import UserError

LEAVES = ("Box", "Discrete", "MultiBinary", "MultiDiscrete")


@dataclass(frozen=True)
class Space:
    """One node of the description: a leaf with its numbers, or a branch with named children."""

    kind: str
    shape: tuple[int, ...] = ()  # of Box, MultiBinary
    counts: tuple[int, ...] = ()  # n of Discrete, nvec of MultiDiscrete
    starts: tuple[int, ...] = ()
    children: tuple[tuple[str, "Space"], ...] = ()  # name in the file, and the space

    @property
    def size(self) -> int:
        """Length of the flat vector."""
        if self.children:
            return sum(child.size for _, child in self.children)
        return sum(self.counts) if self.counts else int(np.prod(self.shape, dtype=np.int64))


def parse_space(description: Any, source: str) -> Space:
    """From Minari's metadata: a dictionary, or one written as a string."""
    try:
        return _parse(json.loads(description) if isinstance(description, str) else description)
    except UserError as error:
        raise UserError(f"{source}: {error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise UserError(f"{source}: the description of a space cannot be read ({error})") from error


def _parse(about: Any) -> Space:
    kind = str(about["type"])
    if kind == "Box":
        return Space(kind, shape=tuple(int(n) for n in about["shape"]))
    if kind == "Discrete":
        return Space(kind, counts=(int(about["n"]),), starts=(int(about.get("start", 0)),))
    if kind == "MultiBinary":
        n = about["n"]
        return Space(kind, shape=tuple(int(m) for m in n) if isinstance(n, list) else (int(n),))
    if kind == "MultiDiscrete":
        counts = tuple(int(n) for n in np.ravel(about["nvec"]))
        starts = tuple(int(n) for n in np.ravel(about.get("start", [0] * len(counts))))
        return Space(kind, counts=counts, starts=starts)
    if kind == "Dict":
        return Space(kind, children=tuple((str(key), _parse(child)) for key, child in about["subspaces"].items()))
    if kind == "Tuple":
        return Space(kind, children=tuple((f"_index_{i}", _parse(child)) for i, child in enumerate(about["subspaces"])))
    raise UserError(
        f"a space of type {kind} has no vector of fixed length; ropeval reads {', '.join(LEAVES)} and Dict and Tuple "
        "of those: transform the dataset first"
    )


def flatten_leaf(space: Space, values: NDArray[Any]) -> NDArray[np.float32]:
    """[T, …] as logged → [T, size]."""
    flat = values.reshape(len(values), -1)
    if not space.counts:
        with np.errstate(over="ignore"):  # what is too large is refused later, by its row
            return flat.astype(np.float32)
    if flat.shape[1] != len(space.counts):
        raise UserError(f"{flat.shape[1]} numbers per step where the space {space.kind} has {len(space.counts)}")
    parts = []
    for place, (count, start) in enumerate(zip(space.counts, space.starts, strict=True)):
        with np.errstate(invalid="ignore"):
            chosen = flat[:, place].astype(np.int64) - start
        if (chosen + start != flat[:, place]).any():
            raise UserError(f"{flat[chosen + start != flat[:, place], place][0]} where the space {space.kind} counts")
        if ((chosen < 0) | (chosen >= count)).any():
            raise UserError(
                f"{flat[:, place].min()} to {flat[:, place].max()} where the space has {count} from {start}"
            )
        parts.append(np.eye(count, dtype=np.float32)[chosen])
    return np.concatenate(parts, axis=1)
