"""`.npz` policies: MLPs as plain arrays, in the names of deep_ope (Gaussian, or `logits`) or of Stable-Baselines3."""

from pathlib import Path

import numpy as np

from ropeval.errors import UserError
from ropeval.policies.gaussian import MODES, GaussianMLP, Mode
from ropeval.policies.inert.archives import Archive
from ropeval.policies.inert.npy import read_arrays
from ropeval.policies.networks import Layer, Range
from ropeval.policies.onpolicy import CategoricalMLP
from ropeval.policies.readers.layers import Arrays, chain, check_finite, layer

SB3_LOG_STD_RANGE = (-20.0, 2.0)


def read_npz_policy(archive: Archive, path: Path, mode: Mode | None) -> GaussianMLP | CategoricalMLP:
    where, arrays = archive.where, read_arrays(archive)
    check_finite(arrays, where)
    if "logits_w" in arrays:
        return _categorical(arrays, path, where, mode)
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
    name = path.stem if mode is None else f"{path.stem}@{mode}"
    return GaussianMLP(hidden, mean, log_std, log_std_range, bounds, mode or stored, name, critic)


def deep_ope_layers(arrays: Arrays, where: str) -> tuple[list[Layer], Layer, Layer]:
    """Hidden layers, mean and log std, under the names `fc0_w, fc0_b, …, mean_w, mean_b, logstd_w, logstd_b`."""
    return (
        _hidden(arrays, where),
        layer(arrays, "mean_w", "mean_b", where),
        layer(arrays, "logstd_w", "logstd_b", where),
    )


def _categorical(arrays: Arrays, path: Path, where: str, mode: Mode | None) -> CategoricalMLP:
    """A choice among actions: `fc0_w, fc0_b, …, logits_w, logits_b`."""
    if mode == "offset":
        raise UserError(f"{where}: it chooses among actions; its modes are stochastic and mean")
    name = path.stem if mode is None else f"{path.stem}@{mode}"
    logits = layer(arrays, "logits_w", "logits_b", where)
    return CategoricalMLP(_hidden(arrays, where), logits, mode or "stochastic", name, "relu")


def _hidden(arrays: Arrays, where: str) -> list[Layer]:
    depth = sum(name.startswith("fc") and name.endswith("_w") for name in arrays)
    return [layer(arrays, f"fc{i}_w", f"fc{i}_b", where) for i in range(depth)]


def _action_range(arrays: Arrays, size: int, where: str) -> Range | None:
    if "action_low" not in arrays and "action_high" not in arrays:
        return None
    bounds = []
    for name in ("action_low", "action_high"):
        if name not in arrays or arrays[name].shape != (size,) or arrays[name].dtype.kind != "f":
            raise UserError(f"{where}: action_low and action_high must both be floats of shape ({size},)")
        bounds.append(arrays[name].astype(np.float32))
    if not (bounds[0] < bounds[1]).all():
        raise UserError(f"{where}: action_low is not below action_high everywhere")
    return bounds[0], bounds[1]
