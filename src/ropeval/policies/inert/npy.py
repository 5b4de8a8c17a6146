"""The arrays of an `.npz` of strangers. A declared shape is believed only as far as the bytes are there."""

import io
import math
import warnings

import numpy as np

from ropeval.arrays import AnyArray
from ropeval.errors import UserError
from ropeval.files import UNREADABLE
from ropeval.policies.inert.archives import Archive

PLAIN = "fiubU"  # numbers, truth values and texts; never objects or records
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def read_arrays(archive: Archive) -> dict[str, AnyArray]:
    """Every member `NAME.npy`, as an array under NAME."""
    names = [name for name in archive.members if name.endswith(".npy")]
    return {name.removesuffix(".npy"): _parse(archive.read(name), f"{archive.where}: {name}") for name in names}


def _parse(content: bytes, where: str) -> AnyArray:
    stream = io.BytesIO(content)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a header that Python 2 wrote
            shape, fortran, dtype = HEADERS[np.lib.format.read_magic(stream)](stream)
    except UNREADABLE as error:
        raise UserError(f"{where}: it is cut short or damaged: its header is no array's") from error
    if dtype.kind not in PLAIN or dtype.subdtype is not None or dtype.itemsize == 0:
        raise UserError(f"{where}: it holds {str(dtype)[:40]}; expected plain numbers (nothing is unpickled)")
    numbers = content[stream.tell() :]
    declared = math.prod(shape) * dtype.itemsize
    if len(numbers) != declared or min(shape, default=0) < 0:
        raise UserError(
            f"{where}: it declares shape {shape} of {dtype}, {declared:,} bytes, but holds {len(numbers):,}; damaged?"
        )
    return np.frombuffer(numbers, dtype).reshape(shape, order="F" if fortran else "C")
