"""Columns of HDF5 that lie in the file in one piece, as NumPy would hold them, so that they are mapped and not read."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

TYPES = {"IEEE_F32LE": "<f4", "IEEE_F64LE": "<f8", "STD_I32LE": "<i4", "STD_I64LE": "<i8"}  # HDF5's, and NumPy's


def mapped_column(dataset: Any) -> NDArray[Any] | None:
    """A dataset of h5py, mapped; None where it is in chunks, compressed, or of a type that libhdf5 has to translate.
    Whoever writes to it changes a copy of his own."""
    from h5py import h5t

    kind = dataset.id.get_type()
    found = next((ours for theirs, ours in TYPES.items() if kind.equal(getattr(h5t, theirs))), None)
    offset = dataset.id.get_offset()  # none where nothing was written yet
    if found is None or offset is None or not dataset.size or dataset.chunks or dataset.file.userblock_size:
        return None
    return np.memmap(dataset.file.filename, found, "c", offset, dataset.shape)
