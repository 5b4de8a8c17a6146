"""Where arrays lie that are part of a file."""

from typing import Any, NamedTuple

from numpy.typing import NDArray

from ropeval.files import mapping_of


class Place(NamedTuple):
    file: str
    offset: int  # of the first byte


def place_of(array: NDArray[Any]) -> Place | None:
    """Of an array whose rows follow each other in a mapped file that has a name."""
    found = mapping_of(array)
    if found is None or found.filename is None or not array.flags.c_contiguous:
        return None
    return Place(str(found.filename), found.offset + array.ctypes.data - found.ctypes.data)
