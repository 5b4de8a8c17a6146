"""Gymnasium (and Gym) spaces out of inert pickles: as much of them as a policy needs to know."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ropeval.arrays import AnyArray, Singles
from ropeval.errors import UserError
from ropeval.policies.inert.arrays import GLOBALS as ARRAY_GLOBALS
from ropeval.policies.inert.arrays import as_array, as_number, describe, is_array
from ropeval.policies.inert.pickles import Made

KINDS = {
    f"{package}.spaces.{module}.{name}": name
    for package in ("gymnasium", "gym")
    for module, name in [
        ("box", "Box"), ("discrete", "Discrete"), ("multi_discrete", "MultiDiscrete"),
        ("multi_binary", "MultiBinary"), ("dict", "Dict"), ("tuple", "Tuple"),
    ]
}  # fmt: skip
# A space carries its random generator and its types along; they are described, and never looked at.
COMPANIONS = {
    "collections.OrderedDict",
    "gym.utils.seeding.RandomNumberGenerator",
    "numpy.random._pickle.__generator_ctor",
    "numpy.random._pickle.__bit_generator_ctor",
    "numpy.random._pickle.__randomstate_ctor",
    "numpy.random._pcg64.PCG64",
    "numpy.random._mt19937.MT19937",
    "numpy.random.bit_generator.SeedSequence",
    "numpy.random.bit_generator.__pyx_unpickle_SeedSequence",
    *(
        f"numpy.{name}"
        for name in ("float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool_", "bool")
    ),
}
GLOBALS = frozenset({*ARRAY_GLOBALS, *KINDS, *COMPANIONS})


@dataclass(frozen=True, eq=False)
class DescribedSpace:
    kind: str  # Box, Discrete, …
    shape: tuple[int, ...] = ()
    low: Singles | None = None  # Box only, flat
    high: Singles | None = None
    bytes_per_number: int = 4  # Box only; 1: an image
    count: int = 0  # Discrete only
    start: int = 0


def as_space(value: Any, where: str) -> DescribedSpace:
    kind = KINDS.get(value.path) if isinstance(value, Made) else None
    state = value.state if isinstance(value, Made) else None
    if kind is None or not isinstance(state, dict):
        raise UserError(f"{where}: expected a Gymnasium space, found {describe(value)}")
    if kind == "Box":
        low, high = (_bound(state.get(name), f"{where}: {name}") for name in ("low", "high"))
        if low.shape != high.shape:
            raise UserError(f"{where}: low has shape {low.shape} and high {high.shape}")
        flat_low, flat_high = (bound.astype(np.float32).reshape(-1) for bound in (low, high))
        return DescribedSpace(kind, low.shape, flat_low, flat_high, low.dtype.itemsize)
    if kind == "Discrete":
        count, start = (as_number(state.get(name, 0), f"{where}: {name}") for name in ("n", "start"))
        if not isinstance(count, int) or not isinstance(start, int):
            raise UserError(f"{where}: it has {count} actions from {start} on; expected whole numbers")
        return DescribedSpace(kind, count=count, start=start)
    return DescribedSpace(kind)


def _bound(value: Any, where: str) -> AnyArray:
    if not is_array(value):
        raise UserError(f"{where}: expected an array, found {describe(value)}")
    array = as_array(value, where)
    if array.dtype.kind not in "fiu" or (array.dtype.kind == "f" and np.isnan(array).any()):
        raise UserError(f"{where}: it holds {array.dtype} or NaN; expected numbers")
    return array
