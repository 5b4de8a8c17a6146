"""Arrays of numbers, for shapes in signatures: `Float[Floats, "batch d"]`.

Spelt out, since NumPy's `NDArray` is from 2.5 on an alias that jaxtyping cannot look into.
"""

from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]
AnyFloats = np.ndarray[Any, np.dtype[np.floating[Any]]]  # of 32 or 64 bits
STATIC = {"static": True}  # metadata of a field that is no array, but decides which program JAX compiles
