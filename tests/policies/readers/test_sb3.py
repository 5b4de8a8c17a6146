"""Stable-Baselines3 zips answer as Stable-Baselines3 does, and what its users get wrong.

`files/` was made by scripts/make_policy_fixtures.py, which also asked Stable-Baselines3 for the answers.
"""

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropeval.policies import (
    CategoricalMLP,
    ClippedGaussianMLP,
    GaussianMLP,
    GreedyMLP,
    NormalisedPolicy,
    TanhMLP,
    load_policy,
)
from tests.policies.hostile import FILES, members, packed, told
from tests.policies.inert.test_archives import with_data, with_tensors

RNG = np.random.default_rng(0)


STABLE_BASELINES = {
    "sac": ("sac.zip@mean", GaussianMLP),
    "sac_tanh": ("sac_tanh.zip@mean", GaussianMLP),
    "td3": ("td3.zip", TanhMLP),
    "dqn": ("dqn.zip", GreedyMLP),
    "ppo": ("ppo.zip@mean", ClippedGaussianMLP),
    "ppo_normalised": (f"ppo_normalised.zip+{FILES / 'vecnormalize.pkl'}@mean", NormalisedPolicy),
    "ppo_discrete": ("ppo_discrete.zip@mean", CategoricalMLP),
    "a2c_flat": ("a2c_flat.zip@mean", ClippedGaussianMLP),
}


@pytest.mark.parametrize("name", STABLE_BASELINES)
def test_actions_are_those_of_stable_baselines3(name, expected):
    spec, kind = STABLE_BASELINES[name]
    policy: Any = load_policy(f"{FILES / spec}")
    assert (type(policy), policy.deterministic) == (kind, True)
    actions = policy.sample(expected["observations"], RNG)
    np.testing.assert_allclose(actions, expected[f"{name}/action"], rtol=1e-5, atol=2e-6)
    assert np.unique(actions, axis=0).shape[0] > 1, "a constant policy would agree by accident"


def test_observations_in_parts_are_flattened_as_gymnasium_does(expected):
    policy = load_policy(f"{FILES / 'ppo_parts.zip'}@mean")
    observations = expected["ppo_parts/observations"].astype(np.float32)
    assert policy.observation_size == observations.shape[1] == 2 + 3 + 2
    actions = policy.sample(observations, RNG)
    np.testing.assert_allclose(actions, expected["ppo_parts/action"], rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("name", ["sac", "sac_tanh", "ppo", "ppo_normalised", "ppo_discrete", "a2c_flat"])
def test_log_probabilities_are_those_of_stable_baselines3(name, expected):
    policy = load_policy(f"{FILES / STABLE_BASELINES[name][0]}".removesuffix("@mean"))
    actions = np.arange(20) % 4 if policy.discrete else expected["actions"]
    assert policy.has_log_prob
    np.testing.assert_allclose(
        policy.log_prob(expected["observations"], actions), expected[f"{name}/log_prob"], rtol=2e-4
    )


@pytest.mark.parametrize("name", ["sac", "sac_tanh", "td3"])
def test_features_are_the_critics_last_hidden_layer(name, expected):
    policy = load_policy(f"{FILES / STABLE_BASELINES[name][0]}")
    features = policy.features(expected["observations"], expected["actions"])
    np.testing.assert_allclose(features, expected[f"{name}/features"], rtol=1e-4, atol=1e-5)


def test_without_their_critic_the_on_policy_family_has_no_features():
    assert not load_policy(FILES / "ppo.zip").has_features


def test_torch_is_never_imported():
    assert "torch" not in sys.modules
    assert "stable_baselines3" not in sys.modules


@pytest.fixture
def native_policies(shared_policies):
    return shared_policies.parent / "reference" / "policies"


@pytest.mark.parametrize(
    "name",
    [f"{task}_online_{n}" for task in ("hopper", "walker", "halfcheetah") for n in (5, 10)]
    + [f"cheetah_model_sac_{n}_steps" for n in (60000, 420000)]
    + [f"swimmer_model_sac_{n}_steps" for n in (220000, 350000)],
)
def test_published_policies_agree_with_their_arrays(native_policies, shared_policies, name):
    (path,) = native_policies.glob(f"{name}.*")
    native, arrays = load_policy(path), load_policy(shared_policies / f"{name}.npz")
    observations = RNG.standard_normal((64, native.observation_size)).astype(np.float32)
    ours, theirs = (p.sample(observations, np.random.default_rng(1)) for p in (native, arrays))
    np.testing.assert_allclose(ours, theirs, atol=2e-7)  # the zip has a box of ±1, and scaling by one rounds
    if "sac" in name:
        np.testing.assert_allclose(
            native.features(observations, ours), arrays.features(observations, theirs), atol=1e-4
        )
    else:
        assert native.sha256 == arrays.sha256


def edited(tmp_path: Path, name: str, change) -> Path:
    content = members(FILES / name)
    change(content)
    path = tmp_path / "policy.zip"
    path.write_bytes(packed(content))
    return path


def renamed_tensor(old: str, new: str):
    """Another name of the same length: what the file describes, without the file of a network of another kind."""
    assert len(old) == len(new)

    def change(inner):
        inner["archive/data.pkl"] = inner["archive/data.pkl"].replace(old.encode(), new.encode())

    return with_tensors(change)


def torch_script(content):
    content.clear()
    content.update({"policy/code/x.py": b"", "policy/data.pkl": b""})


def policy_class(module: str):
    return with_data(lambda fields: fields["policy_class"].update(__module__=module))


def kwargs(**options):
    return with_data(lambda fields: fields["policy_kwargs"].update(options))


MISTAKES = {
    "integer actions in a continuous policy": (
        "ppo.zip",
        None,
        "discrete",
        "its actions are continuous, but the log's are",
    ),
    "a discrete policy on continuous actions": (
        "dqn.zip",
        None,
        "continuous",
        "its actions are discrete, but the log's",
    ),
    "too few discrete actions": (
        "ppo_discrete.zip",
        None,
        "more_actions",
        "it has 4 discrete actions, but the log has 6",
    ),
    "observations of another task": (
        "sac.zip",
        None,
        "wide",
        "takes observations of size 3, but the log's have size 6",
    ),
    "actions of another task": ("td3.zip", None, "one_action", "has 2 numbers per action, but the log has 1"),
    "trained under VecNormalize, statistics forgotten": (
        "ppo_normalised.zip",
        lambda c: None,
        None,
        r"\+vecnormalize.pkl",
    ),
    "use_sde": ("sac_sde.zip", lambda c: None, None, "use_sde=True.*export it to ONNX"),
    "a convolutional policy": (
        "ppo.zip",
        renamed_tensor("mlp_extractor.policy_net.0.weight", "features_extractor.cnn.0.weightxx"),
        None,
        r"CnnPolicy.*export it to ONNX",
    ),
    "a recurrent policy": (
        "ppo.zip",
        renamed_tensor("mlp_extractor.value_net.0.weight", "lstm_actor.weight_ih_l0xxxxxxxxx"),
        None,
        "LSTM.*more than the observation",
    ),
    "a policy class of one's own": (
        "ppo.zip",
        policy_class("my_project.nets"),
        None,
        "my_project.nets, not from Stable",
    ),
    "an activation of one's own": (
        "sac_tanh.zip",
        kwargs(activation_fn="<class 'mine.Swish'>"),
        None,
        "activation function is <class 'mine.Swish'>; known are torch's relu, tanh",
    ),
    "only the weights inside": ("sac.zip", lambda c: c.pop("data"), None, "expected data and policy.pth"),
    "zipped with its folder": (
        "sac.zip",
        lambda c: [c.update({f"model/{name}": c.pop(name)}) for name in list(c)],
        None,
        "in a folder inside the zip; zip the files themselves",
    ),
    "TorchScript": ("sac.zip", torch_script, None, r"TorchScript.*torch\.onnx\.export"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_stable_baselines3(mistake, tmp_path, logs):
    name, change, log, match = MISTAKES[mistake]
    path = FILES / name if change is None else edited(tmp_path, name, change)
    message = told(path, logs.get(log))
    assert re.search(match, message), message
