"""What the JSON inside a Stable-Baselines3 zip says about a policy: its spaces, activation and normalisation."""

import base64
import binascii
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ropeval.arrays import AnyArray
from ropeval.errors import UserError
from ropeval.policies.inert.archives import Archive
from ropeval.policies.inert.arrays import GLOBALS as ARRAY_GLOBALS
from ropeval.policies.inert.arrays import as_array, as_arrays
from ropeval.policies.inert.pickles import Made, read_pickle
from ropeval.policies.inert.tensors import ORDERED
from ropeval.policies.networks import ACTIVATIONS, Range
from ropeval.policies.readers.layers import action_range
from ropeval.policies.readers.spaces import GLOBALS as SPACE_GLOBALS
from ropeval.policies.readers.spaces import DescribedSpace, as_space

MAX_JSON = 32 * 2**20  # bytes; two bytes of JSON can make seventy in memory
SERIALIZED = ":serialized:"
ACTIVATION = re.compile(r"<class 'torch\.nn\.modules\.activation\.(\w+)'>")


@dataclass(frozen=True, eq=False)
class Settings:
    fields: dict[str, Any]
    observation_space: DescribedSpace
    action_space: DescribedSpace
    where: str

    @classmethod
    def read(cls, archive: Archive) -> "Settings":
        where = f"{archive.where}: data"
        text = archive.read("data", MAX_JSON)
        try:
            fields = json.loads(text.decode("utf-8"))  # bytes, JSON would also try as UTF-16
        except (ValueError, RecursionError) as error:
            raise UserError(f"{where}: it is no JSON; damaged?") from error
        if not isinstance(fields, dict):
            raise UserError(f"{where}: it is JSON, but not an object with fields; damaged?")
        spaces = [
            as_space(
                read_pickle(_serialized(fields, name, where), SPACE_GLOBALS, f"{where}: {name}"), f"{where}: {name}"
            )
            for name in ("observation_space", "action_space")
        ]
        return cls(fields, spaces[0], spaces[1], archive.where)

    @property
    def use_sde(self) -> bool:
        return self.fields.get("use_sde") is True

    @property
    def policy_module(self) -> str | None:
        described = self.fields.get("policy_class")
        module = described.get("__module__") if isinstance(described, dict) else None
        return module if isinstance(module, str) else None

    def activation(self, default: str) -> str:
        """The name of the activation function; Stable-Baselines3 writes its class as text."""
        options = self.fields.get("policy_kwargs")
        given = options.get("activation_fn") if isinstance(options, dict) else None
        if given is None:
            return default
        match = ACTIVATION.fullmatch(given) if isinstance(given, str) else None
        if match is None or match[1].lower() not in ACTIVATIONS:
            raise UserError(
                f"{self.where}: its activation function is {ascii(str(given)[:80])[1:-1]}; known are torch's "
                f"{', '.join(ACTIVATIONS)}"
            )
        return match[1].lower()

    def box(self, size: int) -> Range:
        space = self.action_space
        if space.kind != "Box" or space.low is None or space.high is None:
            raise UserError(f"{self.where}: its actions are {space.kind}; only Box and Discrete actions are read")
        return action_range(space.low, space.high, size, self.where)

    def check_discrete(self, size: int) -> None:
        space = self.action_space
        if space.kind != "Discrete":
            raise UserError(f"{self.where}: its actions are {space.kind}; only Box and Discrete actions are read")
        if space.count != size or space.start != 0:
            raise UserError(
                f"{self.where}: its action space has {space.count} actions from {space.start} on, but its network "
                f"gives {size} from 0 on"
            )

    def check_observations(self, size: int | None) -> None:
        space = self.observation_space
        if space.kind == "Box" and len(space.shape) == 3 and space.bytes_per_number == 1:
            raise UserError(f"{self.where}: its observations are images; only policies over vectors are read")
        if space.kind == "Box" and int(np.prod(space.shape)) != size:
            raise UserError(
                f"{self.where}: its observation space has shape {space.shape}, but its network takes {size}; damaged?"
            )

    @property
    def observation_range(self) -> Range | None:
        space = self.observation_space
        return None if space.low is None or space.high is None else (space.low, space.high)

    def check_normalisation(self, on_policy: bool, given: bool | None, path: Path) -> None:
        """On-policy files keep the last observation as seen and as it was: if they differ, VecNormalize was at work."""
        if not on_policy or given is None:
            return
        seen, original = (self._last(name) for name in ("_last_obs", "_last_original_obs"))
        if seen is None:
            return
        normalised = original is not None and (seen.shape != original.shape or not np.array_equal(seen, original))
        if normalised and not given:
            raise UserError(
                f"{self.where}: it was trained on observations normalised by VecNormalize, but the log's are raw: "
                f"give the statistics that VecNormalize.save wrote, as {path.name}+vecnormalize.pkl (or, if the log is "
                f"normalised by them already, {path.name}+none)"
            )
        if given and not normalised:
            raise UserError(
                f"{self.where}: it was trained on raw observations, but statistics to normalise them by were given; "
                "leave them out"
            )

    def _last(self, name: str) -> AnyArray | None:
        """The numbers of an observation that the file keeps; those in parts one after the other."""
        if not isinstance(self.fields.get(name), dict):
            return None
        where = f"{self.where}: data: {name}"
        found = read_pickle(_serialized(self.fields, name, where), ARRAY_GLOBALS | {ORDERED}, where)
        parts = found.items if isinstance(found, Made) and found.path == ORDERED else found
        if not isinstance(parts, dict):
            return as_array(found, where).reshape(-1)
        arrays = [array.reshape(-1) for array in as_arrays(parts, where).values()]
        return np.concatenate(arrays) if arrays else None


def _serialized(fields: dict[str, Any], name: str, where: str) -> bytes:
    described = fields.get(name)
    text = described.get(SERIALIZED) if isinstance(described, dict) else None
    if not isinstance(text, str):
        raise UserError(f"{where}: {name} is missing; expected what model.save writes")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise UserError(f"{where}: {name} is not base64 text; damaged?") from None
