"""Stable-Baselines3 zips: MLP policies of SAC, TD3, DDPG, DQN, PPO and A2C, without torch and without running anything.

`policy.pth` inside holds the tensors, whose names tell the architecture. `data` is JSON; next to plain values it holds
pickles of whatever was not plain. Of those only the two spaces and the last observations are read, inertly; the rest
(schedules, classes, buffers) is never looked into.
"""

from pathlib import Path
from typing import Any

import numpy as np

from ropeval.errors import UserError
from ropeval.policies.gaussian import GaussianMLP, Mode
from ropeval.policies.greedy import GreedyMLP
from ropeval.policies.inert.archives import Archive
from ropeval.policies.inert.tensors import read_tensors
from ropeval.policies.networks import Layer, Range
from ropeval.policies.onpolicy import CategoricalMLP, ClippedGaussianMLP
from ropeval.policies.policy import Policy
from ropeval.policies.readers.layers import Arrays, chain, check_finite, layer, weights
from ropeval.policies.readers.npz import SB3_LOG_STD_RANGE
from ropeval.policies.readers.sb3_settings import Settings
from ropeval.policies.squashed import TanhMLP

TRUSTED_CLASSES = ("stable_baselines3.", "sb3_contrib.tqc.")  # others may compute something else from the same weights
NOT_MLPS = {
    "lstm": "it has a recurrent network (LSTM): its action depends on more than the observation",
    "features_extractor.cnn": "it has a convolutional network (CnnPolicy); only MLP policies over vectors are read",
    "features_extractor.extractors": "it has a network per observation key (MultiInputPolicy with images); only MLP "
    "policies over vectors are read",
    "features_extractor.": "it has a features extractor of its own; only MLP policies over vectors are read",
    "quantile_net.": "it is a quantile network (QR-DQN), which is not read",
}
WAY_OUT = "; export it to ONNX, or wrap it in a Python function (package.module:name)"


def read_sb3(archive: Archive, path: Path, mode: Mode | None, statistics_given: bool | None) -> Policy:
    """`statistics_given`: whether VecNormalize statistics come with it; None: the user says that there are none."""
    where = archive.where
    settings = Settings.read(archive)
    tensors = read_tensors(Archive(archive.read("policy.pth"), f"{where}: policy.pth"))
    _refuse_what_is_no_mlp(settings, tensors, where)
    check_finite(tensors, where)
    settings.check_normalisation("action_net.weight" in tensors, statistics_given, path)
    name = path.stem if mode is None else f"{path.stem}@{mode}"
    for recognised_by, read in READERS.items():
        if recognised_by in tensors:
            policy = read(tensors, settings, mode, name, where)
            settings.check_observations(policy.observation_size)
            policy.observation_range = settings.observation_range
            return policy
    found = ", ".join(ascii(name[:40])[1:-1] for name in list(tensors)[:4]) or "nothing"
    raise UserError(
        f"{where}: no known policy: expected the networks of SAC, TD3, DQN, PPO or A2C, found {found}{WAY_OUT}"
    )


def _refuse_what_is_no_mlp(settings: Settings, tensors: Arrays, where: str) -> None:
    if settings.use_sde:
        raise UserError(
            f"{where}: it was trained with use_sde=True: its noise depends on the state and is kept over several "
            f"steps, so that it is no policy of the observation alone{WAY_OUT}"
        )
    for part, why in NOT_MLPS.items():
        if any(part in name for name in tensors):
            raise UserError(f"{where}: {why}{WAY_OUT}")
    made_by = settings.policy_module
    if made_by is not None and not made_by.startswith(TRUSTED_CLASSES):
        raise UserError(
            f"{where}: its policy class comes from {ascii(made_by[:80])[1:-1]}, not from Stable-Baselines3: its "
            f"weights alone do not say what it computes{WAY_OUT}"
        )


# --- one function per family, recognised by the name of one tensor ------------------------------------------------


def _sac(tensors: Arrays, settings: Settings, mode: Mode | None, name: str, where: str) -> Policy:
    mean = layer(tensors, "actor.mu.weight", "actor.mu.bias", where)
    return GaussianMLP(
        chain(tensors, "actor.latent_pi", where),
        mean,
        layer(tensors, "actor.log_std.weight", "actor.log_std.bias", where),
        SB3_LOG_STD_RANGE,
        _finite_box(settings, len(mean[0]), where),
        mode or "stochastic",
        name,
        _critic(tensors, where),
        settings.activation("relu"),
    )


def _td3(tensors: Arrays, settings: Settings, mode: Mode | None, name: str, where: str) -> Policy:
    _refuse_modes(mode, ("mean",), "is deterministic", where)
    *hidden, mean = chain(tensors, "actor.mu", where)
    box = _finite_box(settings, len(mean[0]), where)
    return TanhMLP(hidden, mean, box, name, _critic(tensors, where), settings.activation("relu"))


def _dqn(tensors: Arrays, settings: Settings, mode: Mode | None, name: str, where: str) -> Policy:
    _refuse_modes(mode, ("mean",), "is deterministic (greedy)", where)
    *hidden, values = chain(tensors, "q_net.q_net", where)
    settings.check_discrete(len(values[0]))
    return GreedyMLP(hidden, values, name, settings.activation("relu"))


def _on_policy(tensors: Arrays, settings: Settings, mode: Mode | None, name: str, where: str) -> Policy:
    _refuse_modes(mode, ("stochastic", "mean"), "was not trained by the paper's authors", where)
    shared = chain(tensors, "mlp_extractor.shared_net", where)  # before Stable-Baselines3 1.8
    hidden = [*shared, *chain(tensors, "mlp_extractor.policy_net", where)]
    output = layer(tensors, "action_net.weight", "action_net.bias", where)
    taken: Any = mode or "stochastic"
    if settings.action_space.kind == "Discrete":
        settings.check_discrete(len(output[0]))
        return CategoricalMLP(hidden, output, taken, name, settings.activation("tanh"))
    box = settings.box(len(output[0]))
    log_std = weights(tensors, "log_std", where)
    return ClippedGaussianMLP(hidden, output, log_std, box, taken, name, settings.activation("tanh"))


READERS = {
    "actor.mu.weight": _sac,
    "actor.mu.0.weight": _td3,
    "q_net.q_net.0.weight": _dqn,
    "action_net.weight": _on_policy,
}


def _critic(tensors: Arrays, where: str) -> list[Layer]:
    """The hidden layers of the first network of the target critic."""
    return chain(tensors, "critic_target.qf0", where)[:-1]


def _finite_box(settings: Settings, size: int, where: str) -> Range:
    box = settings.box(size)
    if not np.isfinite(box).all():
        raise UserError(f"{where}: its actions are squashed to a box, but the box in the file has no bounds; damaged?")
    return box


def _refuse_modes(mode: Mode | None, allowed: tuple[Mode, ...], why: str, where: str) -> None:
    if mode is not None and mode not in allowed:
        raise UserError(f"{where}: it {why}, so that @{mode} means nothing here; leave it out")
