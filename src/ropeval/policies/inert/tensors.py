"""Tensors out of the zip files that `torch.save` writes, without torch.

NAME/data.pkl describes the tensors, NAME/data/0, NAME/data/1, … hold their numbers, NAME/byteorder says which end comes
first. A tensor is a window (offset, size, strides) onto a storage: the window is believed only where it lies inside.
"""

import math
from typing import Any

import numpy as np

from ropeval.arrays import AnyArray
from ropeval.errors import UserError
from ropeval.policies.inert.archives import MAX_BYTES, Archive
from ropeval.policies.inert.arrays import describe
from ropeval.policies.inert.pickles import Global, Made, Persistent, read_pickle

ORDERED = "collections.OrderedDict"
TENSOR = "torch._utils._rebuild_tensor_v2"
PARAMETER = "torch._utils._rebuild_parameter"
STORAGES = {
    "torch.DoubleStorage": "f8",
    "torch.FloatStorage": "f4",
    "torch.HalfStorage": "f2",
    "torch.LongStorage": "i8",
    "torch.IntStorage": "i4",
    "torch.ShortStorage": "i2",
    "torch.CharStorage": "i1",
    "torch.ByteStorage": "u1",
    "torch.BoolStorage": "b1",
    "torch.BFloat16Storage": "u2",  # the upper half of a float32
}
GLOBALS = frozenset({ORDERED, TENSOR, PARAMETER, *STORAGES})
MAX_DIMENSIONS = 8


def read_tensors(archive: Archive, first: bool = False) -> dict[str, AnyArray]:
    """The named tensors of a state dict, `{"actor.mu.weight": array, …}`; `first`: or of the first of a tuple."""
    where = archive.where
    roots = [name.removesuffix("/data.pkl") for name in archive.members if name.endswith("/data.pkl")]
    if len(roots) != 1:
        raise UserError(f"{where}: expected one data.pkl inside, as torch.save writes it, found {len(roots)}")
    described = read_pickle(archive.read(f"{roots[0]}/data.pkl"), GLOBALS, where, persistent=True)
    if first and isinstance(described, tuple) and described:
        described = described[0]
    items = described.items if isinstance(described, Made) and described.path == ORDERED else described
    if not isinstance(items, dict):
        raise UserError(f"{where}: expected a state dict of named tensors, found {describe(described)}")
    storages = _Storages(archive, roots[0])
    tensors: dict[str, AnyArray] = {}
    for key, value in items.items():
        name = str(key)[:200]
        tensors[name] = _tensor(value, storages, f"{where}: {name}")
    return tensors


class _Storages:
    """The numbers behind the tensors; each storage is read once."""

    def __init__(self, archive: Archive, root: str):
        self._archive, self._root = archive, root
        order = f"{root}/byteorder"
        big = order in archive.members and archive.read(order).strip() == b"big"
        self._order = ">" if big else "<"
        self._read: dict[tuple[str, str], AnyArray] = {}
        self._left = MAX_BYTES  # that tensors may take out of them, together: a thousand may share one storage

    def take(self, count: int, where: str) -> None:
        self._left -= count
        if self._left < 0:
            raise UserError(f"{where}: the tensors are larger than the file; no policy describes the same twice")

    def get(self, value: Any, where: str) -> AnyArray:
        reference = value.reference if isinstance(value, Persistent) else None
        if not isinstance(reference, tuple) or len(reference) != 5 or reference[0] != "storage":
            raise UserError(f"{where}: its storage is {describe(value)}; damaged?")
        _, kind, key, _, _ = reference
        if not isinstance(kind, Global) or kind.path not in STORAGES:
            raise UserError(f"{where}: its storage is of type {describe(kind)}; expected plain floats or integers")
        if not isinstance(key, str) or not (key.isascii() and key.isdigit()):
            raise UserError(f"{where}: its storage is named {describe(key)}; expected a number")
        if (key, kind.path) not in self._read:
            content = self._archive.read(f"{self._root}/data/{key}")
            dtype = np.dtype(self._order + STORAGES[kind.path])
            if len(content) % dtype.itemsize:
                raise UserError(f"{where}: its storage has {len(content):,} bytes, not a whole number of {dtype}")
            self._read[key, kind.path] = _widened(np.frombuffer(content, dtype), kind.path)
        return self._read[key, kind.path]


def _widened(numbers: AnyArray, kind: str) -> AnyArray:
    if kind != "torch.BFloat16Storage":
        return numbers
    return (numbers.astype(np.uint32) << 16).view(np.float32)


def _tensor(value: Any, storages: _Storages, where: str) -> AnyArray:
    if isinstance(value, Made) and value.path == PARAMETER and value.args:
        value = value.args[0]
    if not isinstance(value, Made) or value.path != TENSOR or len(value.args) < 4:
        raise UserError(f"{where}: expected a tensor, found {describe(value)}")
    storage, offset, size, strides = value.args[:4]
    numbers = storages.get(storage, where)
    whole = (offset, *_sizes(size, where), *_sizes(strides, where))
    if len(size) != len(strides) or not all(type(n) is int and 0 <= n < 2**40 for n in whole):
        raise UserError(f"{where}: its offset, size and strides make no tensor; damaged?")
    count = math.prod(size)
    reach = offset + sum((n - 1) * step for n, step in zip(size, strides, strict=True)) + 1 if count else offset
    if reach > len(numbers) or count > len(numbers):
        raise UserError(f"{where}: it declares size {size} at offset {offset}, but its storage has {len(numbers):,}")
    storages.take(count * numbers.itemsize, where)
    steps = [step * numbers.itemsize for step in strides]
    window = np.lib.stride_tricks.as_strided(numbers[offset:], size, steps, writeable=False)
    return np.ascontiguousarray(window).reshape(size)


def _sizes(value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, tuple) or len(value) > MAX_DIMENSIONS:
        raise UserError(f"{where}: its size is {describe(value)}; expected a few whole numbers")
    return value
