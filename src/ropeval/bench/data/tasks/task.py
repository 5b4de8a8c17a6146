"""What a task is: an environment, who writes the log, and the policies to judge from it."""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, PositiveInt, field_validator, model_validator

from ropeval.policies.policy import Mode

Split = Literal["dev", "test"]  # nothing is ever tuned on `test`
NAME = re.compile(r"[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)+")  # it becomes a folder, too
POLICY_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


class PolicySource(BaseModel, frozen=True, extra="forbid"):
    """A policy of a task: a word for `load_policy`, or a published file that has to be fetched first."""

    spec: str = ""  # FILE.npz, package.module:name, uniform …; empty where `files` says what to look for
    files: dict[str, str] = {}  # name of a file that is accepted → its sha256; any one of them is enough
    origin: str = ""  # who publishes them
    mode: Mode | None = None  # how it acts: stochastic, mean, offset; None: as the file says
    epsilon: Annotated[float, Field(ge=0, lt=1)] = 0.0  # how often it takes any action at all instead

    @model_validator(mode="after")
    def _one_of_both(self) -> "PolicySource":
        if bool(self.spec) == bool(self.files):
            raise ValueError("give either spec (a word for load_policy) or files (name → sha256)")
        return self


RANDOM = PolicySource(spec="uniform")


class Task(BaseModel, frozen=True, extra="forbid"):
    """One log and the questions asked of it. Anything that changes its rows needs a new version."""

    name: str  # group/name
    environment: str  # Gymnasium's id; `module:Id` imports the module first
    policies: dict[str, PolicySource]  # all that play a part, by name; `random` is always among them
    judged: dict[str, Split]  # the policies to judge, each for choosing among methods or for testing the choice
    writers: dict[str, PositiveInt]  # who writes the log, and how many parts of it: {"weak": 1, "random": 3}
    transitions: PositiveInt | None = None  # at most: whole episodes that fit. Or else
    episodes: PositiveInt | None = None  # just so many
    propensities: bool = True  # whether the log keeps the writers' log-probabilities, where they have any
    gamma: Annotated[float, Field(ge=0, lt=1)] = 0.99
    truth: Literal["played", "known"] = "played"  # known: the environment answers by itself, see `truth.KnowsAnswer`
    truth_episodes: PositiveInt = 300  # as the paper
    value_steps: PositiveInt | None = None  # longer episodes, where the time limit cuts the discounted truth short
    references: tuple[str, ...] = ("random",)  # whose true values are kept besides those of the judged
    family: str = "other"  # tables are also made family by family
    split: Split = "dev"  # test: the whole task is, whatever `judged` says of a policy
    version: PositiveInt = 1
    about: str = ""

    @field_validator("name")
    @classmethod
    def _name_is_a_path(cls, name: str) -> str:
        if not NAME.fullmatch(name):
            raise ValueError("a task's name is group/name in small letters, digits, '-', '_' and '.'")
        return name

    @field_validator("policies")
    @classmethod
    def _random_is_there(cls, policies: dict[str, PolicySource]) -> dict[str, PolicySource]:
        for name in policies:
            if not POLICY_NAME.fullmatch(name):
                raise ValueError(f"a policy's name is small letters, digits, '-', '_' and '.', not {name!r}")
        return {"random": RANDOM} | policies

    @field_validator("judged", "writers")
    @classmethod
    def _someone(cls, named: dict[str, Any]) -> dict[str, Any]:
        if not named:
            raise ValueError("name at least one policy")
        return named

    @model_validator(mode="after")
    def _fits_together(self) -> "Task":
        for field in ("judged", "writers", "references"):
            for name in getattr(self, field):
                if name not in self.policies:
                    raise ValueError(f"{field} names {name}; policies has {', '.join(self.policies)}")
        if (self.transitions is None) == (self.episodes is None):
            raise ValueError("give either transitions or episodes, the size of the log")
        return self

    @property
    def valued(self) -> tuple[str, ...]:
        """The policies whose true values are asked for."""
        return tuple(dict.fromkeys([*self.judged, *self.references]))

    @property
    def size(self) -> tuple[int, Literal["transitions", "episodes"]]:
        """Of the log, and what it is counted in."""
        if self.episodes is not None:
            return self.episodes, "episodes"
        assert self.transitions is not None
        return self.transitions, "transitions"

    def split_of(self, policy: str) -> Split:
        """What a row about this policy may be used for."""
        return "test" if self.split == "test" else self.judged[policy]

    @property
    def folder(self) -> str:
        """Where its data lie below the data folder."""
        return f"{self.name}/v{self.version}"


def every_second(names: Sequence[str]) -> dict[str, Split]:
    """Policies from weak to strong, parted so that both halves reach from weak to strong."""
    return {name: "test" if place % 2 else "dev" for place, name in enumerate(names)}


def world_id(name: str) -> str:
    """An environment of `bench.data.worlds`, by Gymnasium's id."""
    return f"ropeval.bench.data.worlds.environments:ropeval/{name}"


def paper_task(
    *,
    name: str,
    environment: str,
    evaluated: PolicySource,
    behaviour: PolicySource,
    mixture: Sequence[str] = ("behaviour",),
    transitions: int = 1_000_000,
    **more: Any,
) -> Task:
    """A task as the paper has them: π_e to judge, a lower π_b, and equal parts of the log by those of the mixture
    (`evaluated`, `behaviour`, `random`)."""
    if len(set(mixture)) != len(mixture):
        raise ValueError("mixture: name each writer of the log once")
    return Task(
        name=name,
        environment=environment,
        policies={"evaluated": evaluated, "behaviour": behaviour},
        judged={"evaluated": "dev"},
        writers=dict.fromkeys(mixture, 1),
        transitions=transitions,
        references=("behaviour", "random"),
        **more,
    )
