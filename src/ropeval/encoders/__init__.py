"""Encoders: one file each, one line here. They turn state-action pairs into features, once, before estimating."""

from ropeval.encoders.encoder import Encoded, Encoder
from ropeval.encoders.identity import IDENTITY
from ropeval.encoders.rope import ROPE

ENCODERS: dict[str, Encoder] = {
    "identity": IDENTITY,
    "rope": ROPE,
}

__all__ = ["ENCODERS", "Encoded", "Encoder"]
