"""Formats of policies: one file each, one line here. The first that recognises a file reads it; lists of them, in
messages and in `--help`, are made from here."""

from ropeval.policies.readers.cleanrl import CLEANRL
from ropeval.policies.readers.deep_ope import DEEP_OPE
from ropeval.policies.readers.format import PolicyFile, PolicyFormat, PolicyWord
from ropeval.policies.readers.npz import NPZ
from ropeval.policies.readers.onnx import ONNX
from ropeval.policies.readers.python import PYTHON
from ropeval.policies.readers.sb3 import STABLE_BASELINES
from ropeval.policies.readers.uniform import UNIFORM

FORMATS: tuple[PolicyFormat, ...] = (STABLE_BASELINES, CLEANRL, NPZ, ONNX, DEEP_OPE)
WORDS: tuple[PolicyWord, ...] = (UNIFORM, PYTHON)

__all__ = ["FORMATS", "WORDS", "PolicyFile", "PolicyFormat", "PolicyWord"]
