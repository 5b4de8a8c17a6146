"""From a word on the command line to a policy: `FILE.npz`, `FILE.npz@mode`, `uniform`, `package.module:name`."""

import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropeval.errors import UserError
from ropeval.files import read_npz
from ropeval.policies.gaussian import MODES, GaussianMLP, Mode
from ropeval.policies.policy import CallablePolicy, Policy, UniformPolicy

Arrays = dict[str, NDArray[Any]]
SB3_LOG_STD_RANGE = (-20.0, 2.0)


def load_policy(spec: str | Path, mode: Mode | None = None) -> Policy:
    """Load a policy.

    `FILE.npz[@MODE]`      tanh-Gaussian MLP; MODE is stochastic (default), mean, or offset
    `uniform[:LOW,HIGH]`   uniform over a box, or over the log's discrete actions
    `package.module:name`  a function `f(observations)` or `f(observations, rng)`, or a Policy
    """
    text = str(spec)
    head, at, tail = text.rpartition("@")
    if at and tail in MODES:
        text, mode = head, tail
    elif at and not Path(text).exists() and Path(head).exists():
        raise UserError(f"policy {text}: unknown action mode {tail!r}; choose from: {', '.join(MODES)}")
    if mode is not None and mode not in MODES:
        raise UserError(f"policy {text}: unknown action mode {mode!r}; choose from: {', '.join(MODES)}")
    if text == "uniform" or text.startswith("uniform:"):
        return _uniform(text)
    path = Path(text)
    if path.suffix == ".npz" or path.exists():
        return _load_npz(path, mode)
    if ":" in text:
        return _load_callable(text)
    raise UserError(
        f"policy {text}: no such file, and no package.module:name either; give an .npz file, "
        "uniform, or package.module:name"
    )


def _uniform(text: str) -> UniformPolicy:
    bounds = text.partition(":")[2]
    if not bounds:
        return UniformPolicy(name=text)
    try:
        low, high = (float(part) for part in bounds.split(","))
    except ValueError:
        raise UserError(f"policy {text}: expected uniform:LOW,HIGH, for example uniform:-1,1") from None
    return UniformPolicy(low, high, name=text)


def _load_npz(path: Path, mode: Mode | None) -> GaussianMLP:
    if not path.exists():
        raise UserError(f"policy {path}: no such file")
    arrays = _read(path)
    if "fc0_w" in arrays:
        hidden, mean, log_std, log_std_range = _deep_ope_layers(arrays, path)
    elif "actor/mu/weight" in arrays:
        hidden, mean, log_std, log_std_range = _sb3_layers(arrays, path)
    else:
        raise UserError(
            f"policy {path}: unknown layout; expected fc0_w… (deep_ope) or actor/mu/weight… "
            f"(Stable-Baselines3), found {', '.join(sorted(arrays)[:6]) or 'nothing'}"
        )
    stored = str(arrays["mode"]) if "mode" in arrays else "stochastic"
    if stored not in MODES:
        raise UserError(f"policy {path}: its field mode is {stored!r}; expected one of {', '.join(MODES)}")
    chosen: Mode = mode or stored
    name = path.stem if mode is None else f"{path.stem}@{mode}"
    bounds = _action_range(arrays, mean[0].shape[0], path)
    return GaussianMLP(hidden, mean, log_std, log_std_range, bounds, chosen, name, _sb3_critic(arrays, path))


def _read(path: Path) -> Arrays:
    arrays = read_npz(path, what="policy ")
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise UserError(f"policy {path}: {name} holds values that are not finite")
    return arrays


def _layer(arrays: Arrays, weight: str, bias: str, path: Path) -> tuple[NDArray[Any], NDArray[Any]]:
    for name in (weight, bias):
        if name not in arrays:
            raise UserError(f"policy {path}: missing {name}")
        if arrays[name].dtype.kind != "f":
            raise UserError(f"policy {path}: {name} holds {arrays[name].dtype}, not floating-point weights")
    return arrays[weight].astype(np.float32), arrays[bias].astype(np.float32)


def _deep_ope_layers(arrays: Arrays, path: Path) -> tuple[Any, Any, Any, tuple[float, float] | None]:
    depth = sum(name.startswith("fc") and name.endswith("_w") for name in arrays)
    hidden = [_layer(arrays, f"fc{i}_w", f"fc{i}_b", path) for i in range(depth)]
    mean = _layer(arrays, "mean_w", "mean_b", path)
    return hidden, mean, _layer(arrays, "logstd_w", "logstd_b", path), None


def _sb3_layers(arrays: Arrays, path: Path) -> tuple[Any, Any, Any, tuple[float, float] | None]:
    prefix = "actor/latent_pi/"
    places = sorted({int(n.split("/")[2]) for n in arrays if n.startswith(prefix) and n.split("/")[2].isdigit()})
    hidden = [_layer(arrays, f"{prefix}{i}/weight", f"{prefix}{i}/bias", path) for i in places]
    mean = _layer(arrays, "actor/mu/weight", "actor/mu/bias", path)
    log_std = _layer(arrays, "actor/log_std/weight", "actor/log_std/bias", path)
    return hidden, mean, log_std, SB3_LOG_STD_RANGE


def _sb3_critic(arrays: Arrays, path: Path) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """The hidden layers of the first network of the target critic; none where the file holds no critic."""
    prefix = "critic_target/qf0/"
    names = [n.split("/") for n in arrays if n.startswith(prefix)]
    places = sorted({int(parts[2]) for parts in names if len(parts) == 4 and parts[2].isdigit()})
    return [_layer(arrays, f"{prefix}{i}/weight", f"{prefix}{i}/bias", path) for i in places[:-1]]  # the last: output


def _action_range(arrays: Arrays, size: int, path: Path) -> tuple[NDArray[Any], NDArray[Any]] | None:
    if "action_low" not in arrays and "action_high" not in arrays:
        return None
    bounds = []
    for name in ("action_low", "action_high"):
        if name not in arrays or arrays[name].shape != (size,) or arrays[name].dtype.kind != "f":
            raise UserError(f"policy {path}: action_low and action_high must both be floats of shape ({size},)")
        bounds.append(arrays[name].astype(np.float32))
    return bounds[0], bounds[1]


def _load_callable(text: str) -> Policy:
    module_name, _, attribute = text.rpartition(":")
    if "" not in sys.path:  # a console script does not look into the folder that it is called from
        sys.path.insert(0, "")
    try:
        found: Any = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise UserError(f"policy {text}: cannot import it ({error})") from error
    except Exception as error:  # the user's module itself failed
        raise UserError(f"policy {text}: its module failed: {type(error).__name__}: {error}") from error
    if isinstance(found, Policy):
        return found
    if inspect.isclass(found) or not callable(found):
        raise UserError(f"policy {text}: it is neither a function nor a Policy object")
    needed = [
        p
        for p in inspect.signature(found).parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if len(needed) not in (1, 2):
        raise UserError(
            f"policy {text}: it takes {len(needed)} arguments; expected f(observations) for a deterministic "
            "policy or f(observations, rng) for a stochastic one"
        )
    return CallablePolicy(found, deterministic=len(needed) == 1, name=text)
