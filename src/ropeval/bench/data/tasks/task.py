"""What a task is: an environment, the policy to evaluate, and who writes the log."""

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, field_validator, model_validator

from ropeval.policies.policy import Mode

Role = Literal["evaluated", "behaviour", "random"]
ROLES: tuple[Role, ...] = ("evaluated", "behaviour", "random")
NAME = re.compile(r"[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)+")  # it becomes a folder, too


class PolicySource(BaseModel):
    """A policy of a task: a word for `load_policy`, or a published file that has to be fetched first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    spec: str = ""  # FILE.npz, package.module:name, uniform …; empty where `files` says what to look for
    files: dict[str, str] = {}  # name of a file that is accepted → its sha256; any one of them is enough
    origin: str = ""  # who publishes them
    mode: Mode | None = None  # how it acts: stochastic, mean, offset; None: as the file says

    @model_validator(mode="after")
    def _one_of_both(self) -> "PolicySource":
        if bool(self.spec) == bool(self.files):
            raise ValueError("give either spec (a word for load_policy) or files (name → sha256)")
        return self


RANDOM = PolicySource(spec="uniform")


class Task(BaseModel):
    """One dataset of the study and the question asked of it. Anything that changes its rows needs a new version."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str  # group/name
    environment: str  # Gymnasium's id; `module:Id` imports the module first
    evaluated: PolicySource  # π_e
    behaviour: PolicySource  # π_b
    mixture: tuple[Role, ...] = ("behaviour",)  # who writes the log, in equal parts of transitions
    transitions: PositiveInt = 1_000_000  # at most: whole episodes that fit
    gamma: Annotated[float, Field(gt=0, lt=1)] = 0.99
    value_steps: PositiveInt | None = (
        None  # longer episodes for the discounted truth, where the time limit cuts it short
    )
    version: PositiveInt = 1
    about: str = ""

    @field_validator("name")
    @classmethod
    def _name_is_a_path(cls, name: str) -> str:
        if not NAME.fullmatch(name):
            raise ValueError("a task's name is group/name in small letters, digits, '-', '_' and '.'")
        return name

    @field_validator("mixture")
    @classmethod
    def _someone_writes(cls, mixture: tuple[Role, ...]) -> tuple[Role, ...]:
        if not mixture or len(set(mixture)) != len(mixture):
            raise ValueError("name each writer of the log once")
        return mixture

    def policy(self, role: Role) -> PolicySource:
        return {"evaluated": self.evaluated, "behaviour": self.behaviour, "random": RANDOM}[role]

    @property
    def folder(self) -> str:
        """Where its data lie below the data folder."""
        return f"{self.name}/v{self.version}"
