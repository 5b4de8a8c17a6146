"""Layers out of named arrays, checked: the part that all readers of networks share."""

from collections.abc import Mapping

import numpy as np

from ropeval.arrays import AnyArray, Singles
from ropeval.errors import UserError
from ropeval.policies.networks import Layer, Range

Arrays = Mapping[str, AnyArray]


def check_finite(arrays: Arrays, where: str) -> None:
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise UserError(f"{where}: {name} holds values that are not finite; the training diverged?")


def weights(arrays: Arrays, name: str, where: str) -> Singles:
    if name not in arrays:
        raise UserError(f"{where}: missing {name}")
    if arrays[name].dtype.kind != "f":
        raise UserError(f"{where}: {name} holds {arrays[name].dtype}, not floating-point weights")
    with np.errstate(over="ignore"):
        narrow = arrays[name].astype(np.float32)
    if not np.isfinite(narrow).all():
        raise UserError(f"{where}: {name} holds values too large for float32; the training diverged?")
    return narrow


def layer(arrays: Arrays, weight: str, bias: str, where: str) -> Layer:
    found = weights(arrays, weight, where), weights(arrays, bias, where)
    if found[0].ndim != 2:
        raise UserError(f"{where}: {weight} has shape {found[0].shape}; expected [outputs, inputs]")
    return found


def chain(arrays: Arrays, prefix: str, where: str, separator: str = ".") -> list[Layer]:
    """The linear layers of a torch Sequential, `PREFIX.0.weight`, `PREFIX.2.weight`, …, in order."""
    start, end = prefix + separator, separator + "weight"
    inside = [name.removeprefix(start).removesuffix(end) for name in arrays if name.startswith(start)]
    places = sorted({int(place) for place in inside if place.isascii() and place.isdigit() and len(place) < 6})
    return [layer(arrays, f"{start}{i}{end}", f"{start}{i}{separator}bias", where) for i in places]


def action_range(low: AnyArray, high: AnyArray, size: int, where: str) -> Range:
    """The box of the actions, [A] each; refused where it is not one, or not of the network's size."""
    if len(low) != size:
        raise UserError(f"{where}: its bounds are of {len(low)} numbers, but its network gives {size}; damaged?")
    if not (low < high).all():
        raise UserError(f"{where}: its lowest action {low[:4]} is not below its highest {high[:4]} everywhere")
    return low.astype(np.float32), high.astype(np.float32)
