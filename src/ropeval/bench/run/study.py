"""A study: which tasks, which methods, which settings, how many seeds. A TOML file, resolved into groups and units.

A unit is what is trained and stored together: one task, one method, one shape of network, as many members (setting ×
seed) as the device's memory holds, and all policies that the task judges: what depends on the log alone is prepared
once for them. A study can grow: members that are there already are never run again.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import product
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, PositiveInt, ValidationError

from ropeval.bench.data.task_data import EVALUATED
from ropeval.bench.run.schema import BASELINES
from ropeval.bench.run.studies import shipped_studies
from ropeval.errors import UserError, unknown_name
from ropeval.evaluation.methods import Method, check_overrides, known_name, make_method, parts
from ropeval.files import read_json
from ropeval.settings import read_toml

MOST_MEMBERS = 1_000_000  # for one task
Setting = Mapping[str, Any]  # "part.field" -> value, of what the grid varies


class Study(BaseModel, frozen=True, extra="forbid"):
    """The fields of a study file."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
    tasks: Annotated[list[str], Field(min_length=1)]  # names, or patterns such as d4rl/*
    methods: Annotated[list[str], Field(min_length=1)]  # the trivial baselines are added by themselves
    seeds: PositiveInt = 20
    resample: bool = False  # seeds are bootstrap members: one row for all of them, with an interval
    split: Literal["dev", "test"] | None = None  # judge only the policies on this side, where tasks say so
    protocol: Literal["standard", "paper"] = "standard"
    preset: Literal["default", "paper"] = "default"
    steps: PositiveInt | None = None  # of every part that is trained; None: as the preset says
    gamma: Annotated[float, Field(gt=0, lt=1)] | None = None  # None: each task's own
    draws: PositiveInt | None = None  # actions per state of a stochastic policy; None: as the protocol says
    key: Annotated[int, Field(ge=0, lt=2**31)] = 0  # seed 0, 1, … are counted from here
    settings: dict[str, dict[str, Any]] = {}  # part -> field -> value, for all methods
    grid: dict[str, dict[str, Annotated[list[Any], Field(min_length=1)]]] = {}  # method -> "part.field" -> values

    @property
    def all_methods(self) -> list[str]:
        return [*BASELINES, *(m for m in self.methods if m not in BASELINES)]

    def make(self, method: str, setting: Setting) -> Method:
        """The method with the study's settings and one setting of its grid."""
        overrides = {part: dict(fields) for part, fields in self.settings.items()}
        for part in _parts(method):
            if self.steps is not None and "steps" in parts()[part].config.model_fields:
                overrides[part] = {"steps": self.steps} | overrides.get(part, {})
        for name, value in setting.items():
            part, _, field = name.partition(".")
            overrides.setdefault(part, {})[field] = value
        return make_method(method, overrides, self.preset)

    def settings_of(self, method: str) -> list[dict[str, Any]]:
        """Every combination of the method's grid; one empty setting where it has none."""
        grid = self.grid.get(method, {})
        return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]

    def is_default(self, method: str, setting: Setting) -> bool:
        """Whether a setting is what the method would have had without a grid."""
        return self.make(method, setting).configs == self.make(method, {}).configs

    def check_size(self) -> None:
        """Refuse a study of more members than anyone could run, before they are counted one by one."""
        sizes = [prod(map(len, self.grid.get(method, {}).values())) for method in self.methods]
        members = sum(sizes) * (1 if self.resample else self.seeds)
        if members > MOST_MEMBERS:
            raise UserError(
                f"{members:,} members for every task ({max(sizes):,} settings, {self.seeds:,} seeds); at most "
                f"{MOST_MEMBERS:,} make a study: shorten the grid, or take fewer seeds"
            )

    def check(self) -> None:
        """Refuse a study whose last unit would be the impossible one, before the first is run."""
        self.check_size()
        check_overrides(self.settings)
        for method in self.all_methods:
            for setting in self.settings_of(method):
                self.make(method, setting)
        for method, fields in self.grid.items():
            if method not in self.methods:
                raise unknown_name("method", method, self.methods)
            for name, values in fields.items():
                if len(set(map(canonical, values))) < len(values):
                    raise UserError(f"grid.{method}: {name} lists a value twice: {values}; every setting is run once")
                if name.partition(".")[0] not in _parts(method):
                    raise unknown_name(f"part of {method}", name.partition(".")[0], _parts(method))


def load_study(path: Path) -> Study:
    """Read a study file. A name that is no file here may be one of those shipped."""
    if not path.exists() and path.name == str(path) and path.name in shipped_studies():
        path = Path(str(resources.files("ropeval.bench.run.studies") / path.name))
    elif not path.exists():
        raise UserError(f"{path}: no such study; shipped with ropeval are {', '.join(shipped_studies())}")
    content = read_toml(path)
    content.setdefault("name", path.stem)
    study = _make(content, path)
    study = study.model_copy(
        update={
            "methods": list(map(known_name, study.methods)),
            "grid": {known_name(method): fields for method, fields in study.grid.items()},
        }
    )
    try:
        study.check()
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    return study


def read_study(folder: Path) -> Study:
    """What the study in a folder was asked for. Its methods need not exist here: they may be another's own."""
    path = folder / "study.json"
    if not folder.is_dir():
        raise UserError(f"{folder}: there is no such folder; give the folder that `ropeval bench run` wrote")
    if not path.is_file():
        raise UserError(f"{folder}: no study here, no study.json; give the folder that `ropeval bench run` wrote")
    return _make(read_json(path), path)


def _make(content: dict[str, Any], path: Path) -> Study:
    try:
        return Study(**content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        if first["type"] == "extra_forbidden":
            raise UserError(f"{path}: {unknown_name('field', place, list(Study.model_fields))}") from None
        raise UserError(f"{path}: {place} is {first['input']!r}: {first['msg']}") from None


# --- what there is to do --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Member:
    """One row of the results, for each policy."""

    setting: Setting
    seed: int

    @property
    def hyper(self) -> str:
        return canonical(self.setting)


@dataclass(frozen=True)
class Group:
    """All members of one task, method and shape. One process at a time works on a group."""

    task: str
    method: str
    members: tuple[Member, ...]
    shape: Setting  # what they share because it cannot differ within one vectorised run

    @property
    def name(self) -> str:
        return f"{slug(self.task)}.{self.method}.{digest(self.shape)}"

    def units(self, left: Sequence[Member], largest: int, policies: tuple[str, ...] = (EVALUATED,)) -> "list[Unit]":
        """The members that are left, in units as equal in size as can be: every size is compiled once."""
        if not left:
            return []
        parts = -(-len(left) // largest)
        size = -(-len(left) // parts)
        found = []
        for members in (tuple(left[start : start + size]) for start in range(0, len(left), size)):
            name = f"{self.name}.{digest([[(m.hyper, m.seed) for m in members], policies])}"
            found.append(Unit(self.task, self.method, members, name, self.grid, policies))
        return found

    @property
    def grid(self) -> dict[str, list[Any]]:
        """All values of what its settings vary. The widest encoding among them decides the shape of every unit's
        networks, so that a member's numbers do not depend on how the group was split into units."""
        names = [name for name in self.members[0].setting if name not in self.shape]
        return {name: list(dict.fromkeys(m.setting[name] for m in self.members)) for name in names}


@dataclass(frozen=True)
class Unit:
    """Members that train together and are stored together, for one policy after the other."""

    task: str
    method: str
    members: tuple[Member, ...]
    id: str
    grid: Mapping[str, Sequence[Any]]
    policies: tuple[str, ...]

    @property
    def hyper(self) -> str:
        """What all its settings have in common."""
        first, rest = self.members[0].setting, self.members[1:]
        return canonical({k: v for k, v in first.items() if all(m.setting[k] == v for m in rest)})


def make_groups(study: Study, tasks: Sequence[str]) -> list[Group]:
    """Everything that a study asks for, task by task."""
    return [group for task in tasks for method in study.all_methods for group in _groups(study, task, method)]


def _groups(study: Study, task: str, method: str) -> list[Group]:
    spread = {f"{part}.{field}" for part in _parts(method) for field in parts()[part].spread}
    seeds = 1 if method in BASELINES or study.resample else study.seeds
    by_shape: dict[str, list[Member]] = {}
    for setting in study.settings_of(method):
        shape = canonical({k: v for k, v in setting.items() if k not in spread})
        by_shape.setdefault(shape, []).extend(Member(setting, seed) for seed in range(seeds))
    return [Group(task, method, tuple(members), json.loads(shape)) for shape, members in by_shape.items()]


def _parts(method: str) -> list[str]:
    """Names of the encoder and the estimator; unknown names are refused by `make_method`."""
    known = parts()
    return [part for part in method.split("+") if part in known]


def slug(task: str) -> str:
    """A task's name as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", task)


def digest(value: Any) -> str:
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:8]


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
