"""The statistics that a policy's training normalised observations by: Stable-Baselines3's VecNormalize, or arrays."""

from pathlib import Path

import numpy as np

from ropeval.arrays import AnyArray
from ropeval.errors import UserError
from ropeval.policies.inert.archives import Archive, is_zip, read_bytes
from ropeval.policies.inert.arrays import as_array, as_number, describe
from ropeval.policies.inert.npy import read_arrays
from ropeval.policies.inert.pickles import Made, read_pickle
from ropeval.policies.normalised import Statistics
from ropeval.policies.readers.spaces import GLOBALS as SPACE_GLOBALS

VECNORMALIZE = "stable_baselines3.common.vec_env.vec_normalize.VecNormalize"
RUNNING = "stable_baselines3.common.running_mean_std.RunningMeanStd"


def read_statistics(path: Path) -> Statistics | None:
    """Mean and variance per number of an observation; None where VecNormalize left observations alone."""
    where = f"statistics {path}"
    if not path.is_file():
        raise UserError(
            f"{where}: no such file; expected the .pkl that VecNormalize.save wrote, or an .npz (mean, var)"
        )
    content = read_bytes(path, where)
    if is_zip(content):
        return _from_arrays(Archive(content, where))
    described = read_pickle(content, SPACE_GLOBALS | {VECNORMALIZE, RUNNING}, where)
    if not isinstance(described, Made) or described.path != VECNORMALIZE or not isinstance(described.state, dict):
        raise UserError(f"{where}: expected what VecNormalize.save writes, found {describe(described)}")
    state = described.state
    if state.get("norm_obs") is False:
        return None
    running = state.get("obs_rms")
    if not isinstance(running, Made) or running.path != RUNNING or not isinstance(running.state, dict):
        raise UserError(
            f"{where}: its obs_rms is {describe(running)}; expected statistics of one observation vector "
            "(dict observations are normalised by key: flatten them before training)"
        )
    mean, variance = (as_array(running.state.get(name), f"{where}: {name}") for name in ("mean", "var"))
    return _checked(
        mean,
        variance,
        as_number(state.get("epsilon", 1e-8), f"{where}: epsilon"),
        as_number(state.get("clip_obs", 10.0), f"{where}: clip_obs"),
        where,
    )


def _from_arrays(archive: Archive) -> Statistics:
    arrays = read_arrays(archive)
    if "mean" not in arrays or "var" not in arrays:
        found = ", ".join(sorted(arrays)[:6]) or "nothing"
        raise UserError(
            f"{archive.where}: expected arrays mean and var (and epsilon, clip, if not 1e-8 and 10), found {found}"
        )
    numbers = []
    for name, default in (("epsilon", 1e-8), ("clip", 10.0)):
        array = arrays.get(name, np.asarray(default))
        if array.shape != () or array.dtype.kind not in "fiu":
            raise UserError(f"{archive.where}: {name} must be one number")
        numbers.append(float(array))
    return _checked(arrays["mean"], arrays["var"], numbers[0], numbers[1], archive.where)


def _checked(mean: AnyArray, variance: AnyArray, epsilon: float, limit: float, where: str) -> Statistics:
    if mean.shape != variance.shape or mean.dtype.kind != "f" or variance.dtype.kind != "f" or not mean.size:
        raise UserError(f"{where}: mean is {mean.dtype} {mean.shape} and var {variance.dtype} {variance.shape}; "
                        "expected two float arrays of one shape")  # fmt: skip
    if not np.isfinite(mean).all() or not np.isfinite(variance).all() or (variance < 0).any():
        raise UserError(f"{where}: mean or var hold values that no mean and no variance have")
    if not (0 <= epsilon < 1) or not limit > 0:
        raise UserError(f"{where}: epsilon is {epsilon} and clip {limit}; expected a small and a positive number")
    if epsilon == 0 and (variance == 0).any():
        raise UserError(f"{where}: a variance of 0 with epsilon 0 divides by nothing")
    return Statistics(mean.astype(np.float64).reshape(-1), variance.astype(np.float64).reshape(-1), epsilon, limit)
