"""Arrays of numbers by what they hold, as they are or with shapes: `Float[Floats, "batch d"]`.

Spelt out, since NumPy's `NDArray` is from 2.5 on an alias that jaxtyping cannot look into.
"""

from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]
Singles = np.ndarray[Any, np.dtype[np.float32]]
Integers = np.ndarray[Any, np.dtype[np.int64]]
Booleans = np.ndarray[Any, np.dtype[np.bool_]]
AnyArray = np.ndarray[Any, Any]
AnyFloats = np.ndarray[Any, np.dtype[np.floating[Any]]]  # of 32 or 64 bits
STATIC = {"static": True}  # metadata of a field that is no array, but decides which program JAX compiles
