"""The small networks inside policy files, in NumPy: a policy is asked once, so speed is not what matters here."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, expit

from ropeval.errors import UserError

Layer = tuple[NDArray[np.float32], NDArray[np.float32]]  # weight [out, in], bias [out]
Range = tuple[NDArray[np.float32], NDArray[np.float32]]  # lowest and highest action, [A] each


def _elu(x: NDArray[Any]) -> NDArray[Any]:
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


ACTIVATIONS: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "tanh": np.tanh,
    "elu": _elu,
    "leakyrelu": lambda x: np.where(x > 0, x, np.float32(0.01) * x),
    "silu": lambda x: x * expit(x),
    "gelu": lambda x: x * np.float32(0.5) * (1 + erf(x * np.float32(0.5**0.5))),
    "sigmoid": expit,
}


def propagate(layers: Sequence[Layer], activation: str, x: NDArray[Any]) -> NDArray[Any]:
    """[n, in] → [n, out], with the activation after every layer."""
    h = np.asarray(x, np.float32)
    for layer in layers:
        h = ACTIVATIONS[activation](linear(layer, h))
    return h


def linear(layer: Layer, x: NDArray[Any]) -> NDArray[Any]:
    return x @ layer[0].T + layer[1]


def check_chain(layers: Sequence[Layer], where: str, inputs: int | None = None, of: str = "") -> int:
    """Refuse layers that do not fit each other, or inputs of another size; gives the size of what goes in."""
    size = first = layers[0][0].shape[-1] if inputs is None and layers[0][0].ndim else inputs
    for place, (weight, bias) in enumerate(layers):
        if weight.ndim != 2 or weight.shape[1] != size or bias.shape != weight.shape[:1]:
            raise UserError(
                f"{where}: layer {place}{of} has weight {weight.shape} and bias {bias.shape}; "
                f"expected (out, {size}) and (out,)"
            )
        size = weight.shape[0]
    assert first is not None
    return first


def widths(layers: Sequence[Layer]) -> str:
    return " → ".join(str(weight.shape[1]) for weight, _ in layers)


def digest(about: str, arrays: Iterable[NDArray[Any]]) -> str:
    """Hash of a policy: a text for what is not an array, then every array's shape and float32 content."""
    result = hashlib.sha256(about.encode())
    for array in arrays:
        result.update(f"{array.shape}".encode() + np.ascontiguousarray(array, np.float32).tobytes())
    return result.hexdigest()
