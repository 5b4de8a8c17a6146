"""Stable-Baselines3 zips: MLP policies of SAC, TD3, DDPG, DQN, PPO and A2C, without torch and without running anything.

`policy.pth` inside holds the tensors, whose names tell the architecture. `data` is JSON; next to plain values it holds
pickles of whatever was not plain. Of those only the two spaces and the last observations are read, inertly; the rest
(schedules, classes, buffers) is never looked into.
"""

import numpy as np

from ropeval.errors import UserError
from ropeval.policies.continuous import ClippedGaussianMLP, GaussianMLP, TanhMLP
from ropeval.policies.discrete import CategoricalMLP, GreedyMLP
from ropeval.policies.inert.archives import Archive
from ropeval.policies.inert.tensors import read_tensors
from ropeval.policies.networks import Layer, Range
from ropeval.policies.policy import Policy
from ropeval.policies.readers.layers import Arrays, chain, check_finite, layer, weights
from ropeval.policies.readers.npz import SB3_LOG_STD_RANGE
from ropeval.policies.readers.policy_file import PolicyFile
from ropeval.policies.readers.sb3_settings import Settings

TRUSTED_CLASSES = ("stable_baselines3.", "sb3_contrib.tqc.")  # others may compute something else from the same weights
NOT_MLPS = {
    "lstm": "it has a recurrent network (LSTM): its action depends on more than the observation",
    "features_extractor.cnn": "it has a convolutional network (CnnPolicy); only MLP policies over vectors are read",
    "features_extractor.extractors": "it has a network per observation key (MultiInputPolicy with images); only MLP "
    "policies over vectors are read",
    "features_extractor.": "it has a features extractor of its own; only MLP policies over vectors are read",
    "quantile_net.": "it is a quantile network (QR-DQN), which is not read",
}
WAY_OUT = "; export it to ONNX, or wrap it in a Python function (FILE.py:name)"


def recognises(file: PolicyFile) -> bool:
    return file.archive is not None and {"policy.pth", "data"} <= set(file.archive.members)


def read(file: PolicyFile) -> Policy:
    assert file.archive is not None
    settings = Settings.read(file.archive)
    tensors = read_tensors(Archive(file.archive.read("policy.pth"), f"{file.where}: policy.pth"))
    _refuse_what_is_no_mlp(settings, tensors, file.where)
    check_finite(tensors, file.where)
    settings.check_normalisation("action_net.weight" in tensors, file.normalised, file.path)
    for recognised_by, family in FAMILIES.items():
        if recognised_by in tensors:
            policy = family(tensors, settings, file)
            settings.check_observations(policy.observation_size)
            policy.observation_range = settings.observation_range
            return policy
    found = ", ".join(ascii(name[:40])[1:-1] for name in list(tensors)[:4]) or "nothing"
    raise UserError(
        f"{file.where}: no known policy: expected the networks of SAC, TD3, DQN, PPO or A2C, found {found}{WAY_OUT}"
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


def _sac(tensors: Arrays, settings: Settings, file: PolicyFile) -> Policy:
    mean = layer(tensors, "actor.mu.weight", "actor.mu.bias", file.where)
    return GaussianMLP(
        chain(tensors, "actor.latent_pi", file.where),
        mean,
        layer(tensors, "actor.log_std.weight", "actor.log_std.bias", file.where),
        SB3_LOG_STD_RANGE,
        _finite_box(settings, len(mean[0]), file.where),
        file.mode or "stochastic",
        file.name,
        _critic(tensors, file.where),
        settings.activation("relu"),
    )


def _td3(tensors: Arrays, settings: Settings, file: PolicyFile) -> Policy:
    file.refuse_modes_but(("mean",), "is deterministic")
    *hidden, mean = chain(tensors, "actor.mu", file.where)
    box = _finite_box(settings, len(mean[0]), file.where)
    return TanhMLP(hidden, mean, box, file.name, _critic(tensors, file.where), settings.activation("relu"))


def _dqn(tensors: Arrays, settings: Settings, file: PolicyFile) -> Policy:
    file.refuse_modes_but(("mean",), "is deterministic (greedy)")
    *hidden, values = chain(tensors, "q_net.q_net", file.where)
    settings.check_discrete(len(values[0]))
    return GreedyMLP(hidden, values, file.name, settings.activation("relu"))


def _on_policy(tensors: Arrays, settings: Settings, file: PolicyFile) -> Policy:
    file.refuse_modes_but(("stochastic", "mean"), "was not trained by the paper's authors")
    shared = chain(tensors, "mlp_extractor.shared_net", file.where)  # before Stable-Baselines3 1.8
    hidden = [*shared, *chain(tensors, "mlp_extractor.policy_net", file.where)]
    output = layer(tensors, "action_net.weight", "action_net.bias", file.where)
    mode, activation = file.mode or "stochastic", settings.activation("tanh")
    if settings.action_space.kind == "Discrete":
        settings.check_discrete(len(output[0]))
        return CategoricalMLP(hidden, output, mode, file.name, activation)
    box = settings.box(len(output[0]))
    log_std = weights(tensors, "log_std", file.where)
    return ClippedGaussianMLP(hidden, output, log_std, box, mode, file.name, activation)


FAMILIES = {
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
