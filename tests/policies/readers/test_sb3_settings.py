"""What the JSON inside a zip says about a policy, and what contradicts its network."""

import base64
import io
import pickle
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ropeval.errors import UserError
from ropeval.policies.inert.archives import Archive
from ropeval.policies.networks import ACTIVATIONS
from ropeval.policies.readers.sb3_settings import Settings
from ropeval.policies.readers.spaces import DescribedSpace
from tests.policies.hostile import FILES
from tests.policies.samples import HIGH, LOW

BOX = DescribedSpace("Box", (2,), LOW, HIGH)
ONE = Settings({}, DescribedSpace("Box", (3,), np.float32([-1] * 3), np.float32([1] * 3)), BOX, "file")


def with_fields(**fields) -> Settings:
    return replace(ONE, fields=fields)


def kept(values) -> dict[str, str]:
    """As Stable-Baselines3 keeps an array in its JSON."""
    return {":serialized:": base64.b64encode(pickle.dumps(np.float32(values))).decode()}


def test_a_saved_policy_is_read():
    found = Settings.read(Archive((FILES / "sac.zip").read_bytes(), "file"))
    assert (found.observation_space.kind, found.action_space.kind) == ("Box", "Box")
    np.testing.assert_array_equal(found.box(2), (LOW, HIGH))
    assert found.policy_module.startswith("stable_baselines3.")
    assert not found.use_sde


@pytest.mark.parametrize("name", ["ReLU", "Tanh"])
def test_the_activation_is_torchs(name):
    assert name.lower() in ACTIVATIONS
    given = {"activation_fn": f"<class 'torch.nn.modules.activation.{name}'>"}
    assert with_fields(policy_kwargs=given).activation("elu") == name.lower()
    assert ONE.activation("tanh") == "tanh"


@pytest.mark.parametrize("given", ["<class 'my.Swish'>", "<class 'torch.nn.modules.activation.Swish'>", 5])
def test_another_activation_is_refused(given):
    with pytest.raises(UserError, match=r"file: its activation function is .*known are torch's"):
        with_fields(policy_kwargs={"activation_fn": given}).activation("relu")


def test_spaces_must_fit_the_network():
    ONE.check_observations(3)
    with pytest.raises(UserError, match=r"observation space has shape \(3,\), but its network takes 4"):
        ONE.check_observations(4)
    image = DescribedSpace("Box", (8, 8, 3), bytes_per_number=1)
    with pytest.raises(UserError, match="its observations are images"):
        replace(ONE, observation_space=image).check_observations(192)
    discrete = replace(ONE, action_space=DescribedSpace("Discrete", count=4))
    discrete.check_discrete(4)
    with pytest.raises(UserError, match="4 actions from 0 on, but its network gives 3"):
        discrete.check_discrete(3)
    with pytest.raises(UserError, match="its actions are Box; only"):
        ONE.check_discrete(2)
    with pytest.raises(UserError, match="its actions are MultiBinary; only Box and Discrete"):
        replace(ONE, action_space=DescribedSpace("MultiBinary")).box(2)


@pytest.mark.parametrize(
    ("seen", "original", "given", "message"),
    [
        ([1, 2], [1, 2], False, None),
        ([1, 2], [3, 4], True, None),
        ([1, 2], [3, 4], False, r"trained on observations normalised by VecNormalize.*p\.zip\+vecnormalize\.pkl"),
        ([1, 2], [1, 2], True, "trained on raw observations, but statistics to normalise them by were given"),
        ([1, 2], [3, 4], None, None),  # the user says that it needs none
    ],
)
def test_normalisation_is_seen_in_the_last_observation(seen, original, given, message):
    settings = with_fields(_last_obs=kept(seen), _last_original_obs=kept(original))
    settings.check_normalisation(False, given, Path("p.zip"))  # off-policy files keep none
    if message is None:
        settings.check_normalisation(True, given, Path("p.zip"))
        return
    with pytest.raises(UserError, match=message):
        settings.check_normalisation(True, given, Path("p.zip"))


def test_json_in_another_encoding_is_refused():
    """Found by the fuzzer: Python went and imported a codec for it."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("data", "{}".encode("utf-16-le"))
    with pytest.raises(UserError, match="it is no JSON"):
        Settings.read(Archive(packed.getvalue(), "file"))
