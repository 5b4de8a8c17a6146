"""NumPy arrays out of what an inert pickle describes. Sizes are believed only as far as the bytes are there."""

import math
import re
from typing import Any

import numpy as np

from ropeval.arrays import AnyArray
from ropeval.errors import UserError
from ropeval.policies.inert.archives import MAX_BYTES
from ropeval.policies.inert.pickles import Global, Made

RECONSTRUCT = "numpy._core.multiarray._reconstruct"
SCALAR = "numpy._core.multiarray.scalar"
FROM_BUFFER = "numpy._core.numeric._frombuffer"
DTYPE = "numpy.dtype"
ENCODE = "_codecs.encode"  # how protocols before 3 write bytes: as a text, and a call that encodes it
GLOBALS = frozenset({RECONSTRUCT, SCALAR, FROM_BUFFER, DTYPE, ENCODE, "numpy.ndarray"})

MAX_DIMENSIONS = 8
PLAIN_TYPE = re.compile(r"[fiub][1248]")  # floats, integers, truth values; never objects, texts or records


def is_array(value: Any) -> bool:
    return isinstance(value, Made) and value.path in (RECONSTRUCT, FROM_BUFFER)


def as_array(value: Any, where: str) -> AnyArray:
    """The array that `value` describes; a read-only view of the file's own bytes."""
    if isinstance(value, Made) and value.path == RECONSTRUCT:
        state = value.state
        if isinstance(state, tuple) and len(state) == 5:
            _, shape, dtype, fortran, content = state
            return _shaped(content, dtype, shape, "F" if fortran is True else "C", where)
    if isinstance(value, Made) and value.path == FROM_BUFFER and len(value.args) == 4:
        content, dtype, shape, order = value.args
        return _shaped(content, dtype, shape, "F" if order == "F" else "C", where)
    raise UserError(f"{where}: expected an array, found {describe(value)}")


def as_arrays(items: dict[Any, Any], where: str) -> dict[str, AnyArray]:
    """The arrays among the values of a dict. Together they are no larger than a file may be: a pickle can mention the
    same bytes a thousand times."""
    arrays: dict[str, AnyArray] = {}
    left = MAX_BYTES
    for key, value in items.items():
        if is_array(value):
            name = str(key)[:100]
            arrays[name] = as_array(value, f"{where}: {name}")
            left -= arrays[name].nbytes
            if left < 0:
                raise UserError(f"{where}: its arrays are larger than the file; no policy describes the same twice")
    return arrays


def as_number(value: Any, where: str) -> float:
    """A Python or NumPy number."""
    if isinstance(value, Made) and value.path == SCALAR and len(value.args) == 2:
        dtype, content = value.args
        value = _shaped(content, dtype, (), "C", where)[()].item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError(f"{where}: expected a number, found {describe(value)}")
    return value


def _shaped(content: Any, dtype: Any, shape: Any, order: Any, where: str) -> AnyArray:
    kind = _dtype(dtype, where)
    if not isinstance(shape, tuple) or len(shape) > MAX_DIMENSIONS or not all(_is_size(n) for n in shape):
        raise UserError(f"{where}: its shape is {describe(shape)}; expected a few whole numbers")
    if isinstance(content, Made) and content.path == ENCODE:
        content = _encoded(content.args, where)
    if not isinstance(content, bytes | bytearray):
        raise UserError(f"{where}: its numbers are {describe(content)}; expected bytes")
    declared = math.prod(shape) * kind.itemsize
    if len(content) != declared:
        raise UserError(
            f"{where}: it declares shape {shape} of {kind}, {declared:,} bytes, but holds {len(content):,}; damaged?"
        )
    return np.frombuffer(content, kind).reshape(shape, order=order)


def _encoded(arguments: tuple[Any, ...], where: str) -> bytes:
    text = arguments[0] if arguments[1:] == ("latin1",) else None
    if not isinstance(text, str) or not all(ord(c) < 256 for c in text):
        raise UserError(f"{where}: its numbers are not bytes; damaged?")
    return text.encode("latin1")


def _is_size(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 2**40


def _dtype(value: Any, where: str) -> np.dtype[Any]:
    name = value.args[0] if isinstance(value, Made) and value.path == DTYPE and value.args else None
    if not isinstance(name, str) or not PLAIN_TYPE.fullmatch(name):
        found = ascii(name[:20]) if isinstance(name, str) else describe(value)
        raise UserError(f"{where}: its numbers are of type {found}; expected plain floats or integers")
    state = value.state
    order = state[1] if isinstance(state, tuple) and len(state) > 1 and state[1] in ("<", ">", "|", "=") else "="
    try:
        return np.dtype(f"{order}{name}")
    except TypeError:
        raise UserError(f"{where}: its numbers are of type {name!r}, which NumPy does not know") from None


def describe(value: Any) -> str:
    """A value in a few words. Never its repr: a file can describe a value whose text would fill the memory."""
    if isinstance(value, Made | Global):
        return ascii(value.path[:100])[1:-1]
    if isinstance(value, str):
        return f"text {value[:40]!a}"
    if isinstance(value, int | float) or value is None:
        return str(value)
    if isinstance(value, tuple | list | dict):
        return f"a {type(value).__name__} of {len(value)}"
    return type(value).__name__
