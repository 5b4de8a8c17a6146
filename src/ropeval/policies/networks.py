"""The small networks inside policy files: hidden layers, then one linear output.

The arithmetic is written once, over a namespace `xp`: NumPy where a policy is asked about a log, jax.numpy where it
acts inside a compiled program (`compiled.py`).
"""

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ropeval.arrays import AnyArray, Singles
from ropeval.errors import UserError
from ropeval.policies.policy import Mode, Policy

if TYPE_CHECKING:
    from ropeval.policies.compiled import CompiledPolicy

Layer = tuple[Singles, Singles]  # weight [out, in], bias [out]
Range = tuple[Singles, Singles]  # lowest and highest action, [A] each
NEAR = 4096  # states that a network is asked about at a time
Weights = dict[str, Any]  # every array that decides the actions, by name; layers as pairs, chains as lists of them


def special(xp: Any) -> Any:
    """SciPy's special functions for arrays of `xp`. Imported here: `--help`, which lists the formats, needs none."""
    if xp is np:
        import scipy.special

        return scipy.special
    import jax.scipy.special

    return jax.scipy.special


ACTIVATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "relu": lambda xp, x: xp.maximum(x, 0.0),
    "tanh": lambda xp, x: xp.tanh(x),
    "elu": lambda xp, x: xp.where(x > 0, x, xp.expm1(xp.minimum(x, 0))),
    "leakyrelu": lambda xp, x: xp.where(x > 0, x, np.float32(0.01) * x),
    "silu": lambda xp, x: x * special(xp).expit(x),
    "gelu": lambda xp, x: x * np.float32(0.5) * (1 + special(xp).erf(x * np.float32(0.5**0.5))),
    "sigmoid": lambda xp, x: special(xp).expit(x),
}


def propagate(xp: Any, layers: Sequence[Layer], activation: str, x: Any) -> Any:
    """[n, in] → [n, out], with the activation after every layer."""
    h = xp.asarray(x, np.float32)
    for layer in layers:
        h = ACTIVATIONS[activation](xp, linear(layer, h))
    return h


def linear(layer: Layer, x: Any) -> Any:
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


class NetworkPolicy(Policy):
    """What policies that are networks share. A subclass says how an action follows from the weights and from noise."""

    noise: str | None = None  # what is drawn for every number of the output: "normal", "gumbel"

    def __init__(self, hidden: Sequence[Layer], output: Layer, name: str, activation: str, mode: Mode = "mean"):
        self.name, self.activation, self.mode = name, activation, mode
        self.deterministic = mode != "stochastic"
        self.weights: Weights = {"hidden": list(hidden), "output": output}
        self.observation_size = check_chain([*hidden, output], f"policy {name}")
        self.action_size = output[0].shape[0]

    @abstractmethod
    def act(self, xp: Any, weights: Weights, observations: Any, noise: Any) -> Any:
        """Actions for observations [n, S], of weights laid out as the policy's own; `noise` [n, A] or None. Pure. To
        noise of several draws, [K, n, A], there are as many actions, and the network is asked once."""

    def hidden(self, xp: Any, weights: Weights, observations: Any) -> Any:
        """The last hidden layer, [n, d]."""
        return propagate(xp, weights["hidden"], self.activation, observations)

    def output(self, xp: Any, weights: Weights, observations: Any) -> Any:
        return linear(weights["output"], self.hidden(xp, weights, observations))

    def sample(self, observations: Singles, rng: np.random.Generator) -> AnyArray:
        return np.asarray(self.act(np, self.weights, observations, self._drawn(rng, len(observations))))

    def draws(self, observations: Singles, count: int, rng: np.random.Generator) -> Iterable[AnyArray]:
        if not self.side_by_side:
            return super().draws(observations, count, rng)
        noise = self._drawn(rng, count, len(observations))
        return self._answered(observations, noise, count)

    def _answered(self, observations: Singles, noise: AnyArray | None, count: int) -> Iterator[AnyArray]:
        """Some rows at a time, whose hidden layers stay near the core."""
        every = []
        for start in range(0, max(1, len(observations)), NEAR):
            rows = slice(start, start + NEAR)
            own = None if noise is None else noise[:, rows]
            every.append(np.asarray(self.act(np, self.weights, observations[rows], own)))
        if noise is None:
            yield from [np.concatenate(every)] * count
        else:
            yield from np.concatenate(every, axis=1)

    @property
    def side_by_side(self) -> bool:
        return type(self).sample is NetworkPolicy.sample

    def _drawn(self, rng: np.random.Generator, *rows: int) -> AnyArray | None:
        if self.deterministic:
            return None
        shape = (*rows, self.action_size or 0)
        return rng.gumbel(size=shape) if self.noise == "gumbel" else rng.standard_normal(shape, np.float32)

    def compiled(self) -> "CompiledPolicy":
        from ropeval.policies.compiled import compile_network

        return compile_network(self)

    @property
    @abstractmethod
    def settings(self) -> str:
        """All that decides its actions beside the weights."""

    @property
    def sha256(self) -> str:
        return digest(self.settings, _arrays(self.weights.values()))

    def __repr__(self) -> str:
        layers = [*self.weights["hidden"], self.weights["output"]]
        inside = " → ".join(str(weight.shape[1]) for weight, _ in layers)
        how = self.kind if self.kind == self.mode else f"{self.kind}, mode {self.mode}"
        unit = " actions" if self.discrete else ""
        return f"{type(self).__name__} {self.name!r} ({how}), {inside} → {self.action_size}{unit}"


def _arrays(parts: Iterable[Any]) -> Iterable[AnyArray]:
    """The arrays of weights in their order; what is missing (None) is passed over."""
    for part in parts:
        if isinstance(part, np.ndarray):
            yield part
        elif part is not None:
            yield from _arrays(part)


def digest(about: str, arrays: Iterable[AnyArray]) -> str:
    """Hash of a policy: a text for what is not an array, then every array's shape and float32 content."""
    result = hashlib.sha256(about.encode())
    for array in arrays:
        result.update(f"{array.shape}".encode() + np.ascontiguousarray(array, np.float32).tobytes())
    return result.hexdigest()
