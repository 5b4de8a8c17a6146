"""Encoders: one file each, one line here. They turn state-action pairs into features, once, before estimating."""

from ropeval.encoders.bcrl import BCRL
from ropeval.encoders.critic import CRITIC
from ropeval.encoders.encoder import Encoded, Encoder
from ropeval.encoders.identity import IDENTITY
from ropeval.encoders.mico import MICO
from ropeval.encoders.psm import PSM
from ropeval.encoders.random_metric import RANDOM_METRIC
from ropeval.encoders.rope import ROPE
from ropeval.encoders.rope_range import ROPE_RANGE

ENCODERS: dict[str, Encoder] = {
    "identity": IDENTITY,
    "rope": ROPE,
    "rope-range": ROPE_RANGE,
    "mico": MICO,
    "psm": PSM,
    "random-metric": RANDOM_METRIC,
    "bcrl": BCRL,
    "critic": CRITIC,
}

__all__ = ["ENCODERS", "Encoded", "Encoder"]
