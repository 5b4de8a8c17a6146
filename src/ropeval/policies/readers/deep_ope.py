"""deep_ope (DOPE) pickles: a dict of NumPy weights, `fc0/weight`, …, `last_fc/weight`, `last_fc_log_std/weight`."""

from typing import Any

from ropeval.errors import UserError
from ropeval.policies.continuous import GaussianMLP
from ropeval.policies.inert.arrays import GLOBALS, as_arrays, describe
from ropeval.policies.inert.pickles import read_pickle
from ropeval.policies.networks import ACTIVATIONS
from ropeval.policies.readers.layers import check_finite, layer
from ropeval.policies.readers.policy_file import PolicyFile
from ropeval.policies.readers.vecnormalize import VECNORMALIZE

SQUASHED = {"tanh_gaussian": True, "gaussian": False}  # by the file's `output_distribution`
EXTENSIONS = (".pkl", ".pickle")
START = 0x80  # of every pickle since protocol 2


def recognises(file: PolicyFile) -> bool:
    return file.archive is None and (file.content[0] == START or file.path.suffix in EXTENSIONS)


def read(file: PolicyFile) -> GaussianMLP:
    content, where = file.content, file.where
    if VECNORMALIZE.encode() in content.replace(b"\n", b".") or b"vec_normalize" in content[:200]:
        raise UserError(
            f"{where}: these are VecNormalize statistics, not a policy; give them with the policy, as "
            f"POLICY.zip+{file.path.name}"
        )
    described = read_pickle(content, GLOBALS, where)
    if not isinstance(described, dict):
        raise UserError(f"{where}: expected a dict of weights (deep_ope), found {describe(described)}")
    arrays = as_arrays(described, where)
    check_finite(arrays, where)
    depth = sum(name.startswith("fc") and name.endswith("/weight") for name in arrays)
    if not depth and "last_fc/weight" not in arrays:
        found = ", ".join(ascii(str(name)[:30]) for name in list(described)[:6]) or "nothing"
        raise UserError(f"{where}: unknown layout; expected fc0/weight … last_fc/weight (deep_ope), found {found}")
    activation = _choice(described, "nonlinearity", "relu", list(ACTIVATIONS), where)
    squash = SQUASHED[_choice(described, "output_distribution", "tanh_gaussian", list(SQUASHED), where)]
    hidden = [layer(arrays, f"fc{i}/weight", f"fc{i}/bias", where) for i in range(depth)]
    mean = layer(arrays, "last_fc/weight", "last_fc/bias", where)
    log_std = layer(arrays, "last_fc_log_std/weight", "last_fc_log_std/bias", where)
    return GaussianMLP(
        hidden, mean, log_std, mode=file.mode or "stochastic", name=file.name, activation=activation, squash=squash
    )


def _choice(described: dict[Any, Any], field: str, default: str, choices: list[str], where: str) -> str:
    found = described.get(field, default)
    if not isinstance(found, str) or found not in choices:
        raise UserError(f"{where}: its {field} is {describe(found)}; known are {', '.join(choices)}")
    return found
