"""CleanRL's `.cleanrl_model` files: state dicts of its scripts for vector observations, without torch.

A state dict names its weights but not what lies between them. CleanRL's scripts are single files that nearly everybody
leaves as they are, so the names tell which of them wrote it; the ending is the user's word that one of them did.

actor.0.weight                       ppo                      softmax, tanh
actor_mean.0.weight, actor_logstd    ppo_continuous_action    Gaussian, tanh; observations are normalised
network.0.weight                     dqn, c51 is refused      greedy, ReLU
fc1.weight, fc_mu.weight             ddpg, td3                tanh to the action box, ReLU; (actor, critics) as a tuple
fc1.weight, fc_mean.weight           sac                      only `@mean`
"""

import numpy as np

from ropeval.errors import UserError
from ropeval.policies.continuous import ClippedGaussianMLP, TanhMLP
from ropeval.policies.discrete import CategoricalMLP, GreedyMLP
from ropeval.policies.inert.tensors import read_tensors
from ropeval.policies.policy import Policy
from ropeval.policies.readers.layers import Arrays, action_range, chain, check_finite, layer, weights
from ropeval.policies.readers.policy_file import PolicyFile

ENDING = ".cleanrl_model"
WAY_OUT = "export it to ONNX, or wrap it in a Python function (FILE.py:name)"


def recognises(file: PolicyFile) -> bool:
    return file.archive is not None and file.path.suffix == ENDING


def read(file: PolicyFile) -> Policy:
    assert file.archive is not None
    tensors = read_tensors(file.archive, first=True)
    check_finite(tensors, file.where)
    if any(array.ndim > 2 for array in tensors.values()):
        raise UserError(f"{file.where}: it has a convolutional network; only networks over vectors are read: {WAY_OUT}")
    for name, family in FAMILIES.items():
        if name in tensors:
            return family(tensors, file)
    found = ", ".join(ascii(name[:40])[1:-1] for name in list(tensors)[:4]) or "nothing"
    raise UserError(f"{file.where}: not of a CleanRL script that is known (found {found}); {WAY_OUT}")


def _ppo(tensors: Arrays, file: PolicyFile) -> Policy:
    file.refuse_modes_but(("stochastic", "mean"), "chooses among actions")
    *hidden, logits = chain(tensors, "actor", file.where)
    return CategoricalMLP(hidden, logits, file.mode or "stochastic", file.name, "tanh")


def _ppo_continuous(tensors: Arrays, file: PolicyFile) -> Policy:
    file.refuse_modes_but(("stochastic", "mean"), "was not trained by the paper's authors")
    if file.normalised is False:
        raise UserError(
            f"{file.where}: ppo_continuous_action normalises observations and does not save how; give the mean and var "
            f"of its NormalizeObservation as {file.path}+STATISTICS (an .npz with mean and var), or {file.path}+none "
            "where observations were left as they are"
        )
    *hidden, mean = chain(tensors, "actor_mean", file.where)
    log_std = weights(tensors, "actor_logstd", file.where).reshape(-1)
    everything = np.full(len(mean[0]), np.inf, np.float32)  # the box of the environment is not in the file
    return ClippedGaussianMLP(
        hidden, mean, log_std, (-everything, everything), file.mode or "stochastic", file.name, "tanh"
    )


def _dqn(tensors: Arrays, file: PolicyFile) -> Policy:
    file.refuse_modes_but(("mean",), "is deterministic (greedy)")
    if "atoms" in tensors:
        raise UserError(f"{file.where}: it is a distribution of returns (c51), which is not read; {WAY_OUT}")
    *hidden, values = chain(tensors, "network", file.where)
    return GreedyMLP(hidden, values, file.name)


def _actor(tensors: Arrays, file: PolicyFile) -> Policy:
    output = "fc_mu" if "fc_mu.weight" in tensors else "fc_mean"
    if output == "fc_mean" and file.mode != "mean":
        raise UserError(
            f"{file.where}: the noise of CleanRL's sac is bounded in a way of its own, which is not read; take "
            f"{file.path}@mean, or {WAY_OUT}"
        )
    file.refuse_modes_but(("mean",), "is deterministic")
    hidden = [layer(tensors, f"{name}.weight", f"{name}.bias", file.where) for name in ("fc1", "fc2")]
    mean = layer(tensors, f"{output}.weight", f"{output}.bias", file.where)
    size = len(mean[0])
    scale, bias = (weights(tensors, f"action_{name}", file.where).reshape(-1)[:size] for name in ("scale", "bias"))
    return TanhMLP(hidden, mean, action_range(bias - scale, bias + scale, size, file.where), file.name)


FAMILIES = {
    "actor.0.weight": _ppo,
    "actor_mean.0.weight": _ppo_continuous,
    "network.0.weight": _dqn,
    "fc1.weight": _actor,
}
