"""Formats of policies: one file each, one line here. The first that recognises a file reads it; lists of them, in
messages and in `--help`, are made from here."""

from ropeval.policies.readers.format import PolicyFormat, PolicyWord

STABLE_BASELINES = "a Stable-Baselines3 .zip (with what VecNormalize.save wrote as STATISTICS)"
PYTHON = "FILE.py:name (or package.module:name) of a function f(observations) or f(observations, rng)"

FORMATS = (
    PolicyFormat("Stable-Baselines3 .zip", STABLE_BASELINES, "sb3", (".zip",)),
    PolicyFormat("CleanRL .cleanrl_model", "a CleanRL .cleanrl_model", "cleanrl", (".cleanrl_model",)),
    PolicyFormat(".npz", "an .npz", "npz", (".npz",)),
    PolicyFormat(".onnx", "an .onnx", "onnx", (".onnx",)),
    PolicyFormat("deep_ope .pkl", "a deep_ope .pkl", "deep_ope", (".pkl", ".pickle")),
)
WORDS = (
    PolicyWord("uniform", "uniform[:LOW,HIGH]", "uniform", reserved=True),
    PolicyWord("FILE.py:name", PYTHON, "python"),
)

__all__ = ["FORMATS", "WORDS", "PolicyFormat", "PolicyWord"]
