"""Encoders: one file each, one line here. They turn state-action pairs into features, once, before estimating."""

from ropeval.encoders.bcrl import BCRL
from ropeval.encoders.critic import CRITIC
from ropeval.encoders.encoder import Encoded, Encoder
from ropeval.encoders.krope import KROPE
from ropeval.encoders.metrics import METRICS

ENCODERS: dict[str, Encoder] = {entry.name: entry for entry in (*METRICS, KROPE, BCRL, CRITIC)}

__all__ = ["ENCODERS", "Encoded", "Encoder"]
