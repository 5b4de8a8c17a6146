"""`.npz` policies: MLPs as plain arrays, in the names of deep_ope (Gaussian, or `logits`) or of Stable-Baselines3."""

import numpy as np

from ropeval.errors import UserError
from ropeval.policies.continuous import GaussianMLP
from ropeval.policies.discrete import CategoricalMLP
from ropeval.policies.inert.npy import read_arrays
from ropeval.policies.networks import Layer, Range
from ropeval.policies.policy import MODES
from ropeval.policies.readers.layers import Arrays, action_range, chain, check_finite, layer
from ropeval.policies.readers.policy_file import PolicyFile

SB3_LOG_STD_RANGE = (-20.0, 2.0)


def recognises(file: PolicyFile) -> bool:
    return file.archive is not None and any(name.endswith(".npy") for name in file.archive.members)


def read(file: PolicyFile) -> GaussianMLP | CategoricalMLP:
    assert file.archive is not None
    where, arrays = file.where, read_arrays(file.archive)
    check_finite(arrays, where)
    if "logits_w" in arrays:
        file.refuse_modes_but(("stochastic", "mean"), "chooses among actions")
        logits = layer(arrays, "logits_w", "logits_b", where)
        return CategoricalMLP(_hidden(arrays, where), logits, file.mode or "stochastic", file.name, "relu")
    critic: list[Layer] = []
    log_std_range = None
    if "fc0_w" in arrays:
        hidden, mean, log_std = deep_ope_layers(arrays, where)
    elif "actor/mu/weight" in arrays:
        hidden = chain(arrays, "actor/latent_pi", where, "/")
        mean = layer(arrays, "actor/mu/weight", "actor/mu/bias", where)
        log_std = layer(arrays, "actor/log_std/weight", "actor/log_std/bias", where)
        log_std_range = SB3_LOG_STD_RANGE
        critic = chain(arrays, "critic_target/qf0", where, "/")[:-1]  # the last layer is the linear output
    elif "observations" in arrays:
        raise UserError(f"{where}: this is a log; the log comes first: ropeval evaluate LOG POLICY…")
    else:
        raise UserError(
            f"{where}: unknown layout; expected fc0_w… (deep_ope) or actor/mu/weight… "
            f"(Stable-Baselines3), found {', '.join(sorted(arrays)[:6]) or 'nothing'}"
        )
    stored = str(arrays["mode"]) if "mode" in arrays else "stochastic"
    if stored not in MODES:
        raise UserError(f"{where}: its field mode is {stored!r}; expected one of {', '.join(MODES)}")
    bounds = _action_range(arrays, mean[0].shape[0], where)
    return GaussianMLP(hidden, mean, log_std, log_std_range, bounds, file.mode or stored, file.name, critic)


def deep_ope_layers(arrays: Arrays, where: str) -> tuple[list[Layer], Layer, Layer]:
    """Hidden layers, mean and log std, under the names `fc0_w, fc0_b, …, mean_w, mean_b, logstd_w, logstd_b`."""
    mean, log_std = (layer(arrays, f"{name}_w", f"{name}_b", where) for name in ("mean", "logstd"))
    return _hidden(arrays, where), mean, log_std


def _hidden(arrays: Arrays, where: str) -> list[Layer]:
    depth = sum(name.startswith("fc") and name.endswith("_w") for name in arrays)
    return [layer(arrays, f"fc{i}_w", f"fc{i}_b", where) for i in range(depth)]


def _action_range(arrays: Arrays, size: int, where: str) -> Range | None:
    if "action_low" not in arrays and "action_high" not in arrays:
        return None
    low, high = (arrays.get(name, np.zeros(0)) for name in ("action_low", "action_high"))
    if any(bound.shape != (size,) or bound.dtype.kind != "f" for bound in (low, high)):
        raise UserError(f"{where}: action_low and action_high must both be floats of shape ({size},)")
    return action_range(low, high, size, where)
