"""What `evaluate` can be told, each option once: for the command line, for a TOML file and for Python.

A field below is all that a new option needs: `ropeval evaluate --help`, the file's check and the keywords of
`ropeval.evaluate` are made from it. Needs neither JAX nor NumPy, since whoever asks for help should not wait for them.
"""

import inspect
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic.fields import FieldInfo

from ropeval.errors import UserError, unknown_name
from ropeval.settings import parse_assignments, read_toml

Function = TypeVar("Function", bound=Callable[..., Any])
DEFAULT_LEVEL = 0.95
DEFAULT_METHODS = ("mean-return", "fqe-clip", "world")
Kind = Literal["percentile", "bca"]
Numbers = Literal["auto", "names", "quantity"]
Preset = Literal["default", "paper", "dope"]
Words = Annotated[
    tuple[str, ...], BeforeValidator(lambda v: (v,) if isinstance(v, str) else tuple(v) if isinstance(v, list) else v)
]
QUESTION, EFFORT, INTERVALS, RESULTS = "What is asked", "How hard to try", "Intervals", "Results"  # headings of --help


def option(default: Any, group: str, about: str, *, flag: str = "", metavar: str = "", **bounds: Any) -> Any:
    """A field with its sentence and its place in `--help`; `flag`: where that is not `--` and its name."""
    shown: dict[str, Any] = {"group": group, "flag": flag, "metavar": metavar}
    return Field(default, description=about, json_schema_extra=shown, **bounds)


class Options(BaseModel):
    """Everything that can be asked of a log and its policies."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    gamma: float = option(
        0.99, QUESTION, "Discount factor, in [0, 1]. 1 needs episodes that all end, or a --horizon.", ge=0, le=1
    )
    horizon: int | None = option(
        None,
        QUESTION,
        "Count the first H steps of an episode only.  [default: all; with --gamma 1 as many as the longest has]",
        ge=1,
        metavar="H",
    )
    method: Words = option(
        DEFAULT_METHODS,
        QUESTION,
        "Method; give it again for more. all: every one that applies to the log.",
        min_length=1,
    )
    columns: Words = option(
        (),
        QUESTION,
        "Where the log calls things otherwise: observations=s0,s1 or s*, actions=dose, rewards=r, terminations=died, "
        "truncations=never, terminations=always, episode_ids=patient, time=day, action_names=none,low,high. Give it "
        "again for more.",
        metavar="NAME=COLUMN[,COLUMN…]",
    )
    numbers: Numbers = option(
        "auto",
        QUESTION,
        "What an observation of one whole number is. names: of states, as the cells of a grid, each learned by itself. "
        "quantity: a queue, a stock, a count, where neighbours are alike. auto: what the log shows; a note says which.",
    )
    risk: float | None = option(
        None,
        QUESTION,
        "Also how bad the worst share of episodes is, e.g. 0.05: its best return and its mean, from methods that know "
        "how returns spread (world).",
        gt=0,
        lt=1,
    )
    below: float | None = option(
        None, QUESTION, "Also how likely an episode earns less than this.", allow_inf_nan=False
    )
    by: str | None = option(
        None,
        QUESTION,
        "Also the value by group: by the values of this column of the initial states, or by its quartiles.",
        metavar="COLUMN",
    )
    members: int = option(  # with ten, the interval is a sixth wider than with very many; with five, two fifths
        5,
        EFFORT,
        "Repetitions, each with its own seed and resample of the episodes; fewer than 3 support nothing.",
        ge=1,
        le=100_000,
    )
    minutes: float | None = option(
        None,
        EFFORT,
        "About how long it may take: steps and members follow.  [default: the usual sizes; a forecast says how long]",
        gt=0,
    )
    steps: int | None = option(None, EFFORT, "Training steps of everything that learns.", ge=1, lt=2**31)
    preset: Preset = option(
        "default",
        EFFORT,
        "default: minutes on a laptop. paper: the paper's settings, for a GPU. dope: the fqe of the published deep OPE "
        "benchmark, a million steps.",
    )
    tune: bool = option(
        False,
        EFFORT,
        "Choose β, d and learning rates of every method for every policy by a tournament of fitted values on the log. "
        "Takes as long as 3 (fqe) or 27 (rope+fqe) members more; what it is worth: docs/guide/ranking.md.",
    )
    draws: int | None = option(
        None,
        EFFORT,
        "Actions drawn per state from a stochastic policy.  [default: 8; none where there are at most 16 actions whose "
        "probabilities it tells: all of them count then, by these]",
        ge=1,
        le=100_000,
    )
    seed: int = option(0, EFFORT, "Same seed, data and device: same result.", ge=0, lt=2**31)
    settings: dict[str, dict[str, Any]] = option(
        {}, EFFORT, "Any field of any part, e.g. rope.beta=10.", flag="--set", metavar="PART.FIELD=VALUE"
    )
    resample: bool = option(
        True,
        INTERVALS,
        "Whether every member sees its own resample of the episodes, or all see the log as it is and there are no "
        "intervals.  [default: resample]",
        flag="--resample/--no-resample",
    )
    interval: Kind = option(
        "percentile", INTERVALS, "Either kind needs 100 members, and with fewer it is a t interval."
    )
    level: float = option(DEFAULT_LEVEL, INTERVALS, "Level of the intervals.", gt=0, lt=1)

    @model_validator(mode="before")
    @classmethod
    def _plain_values(cls, given: dict[str, Any]) -> dict[str, Any]:
        """None is as good as not given, and NumPy's numbers are numbers, too."""
        values = {name: value for name, value in given.items() if value is not None}
        return {k: v.item() if hasattr(v, "item") and not getattr(v, "shape", ()) else v for k, v in values.items()}


def make_options(given: Mapping[str, Any], where: str = "") -> Options:
    """Checked options. `where` stands before the name of one that has to be mended: `--`, or `file.toml: `."""
    try:
        made = Options.model_validate(dict(given))
    except ValidationError as error:
        raise _to_mend(error.errors()[0], where) from None
    if made.minutes is not None and made.steps is not None:
        raise UserError(f"{where}minutes and {where}steps both say how long to train; give one of them")
    return made


def read_options(given: Mapping[str, Any], config: Path | None = None) -> Options:
    """The command line's options, `settings` as assignments, over those of a TOML file, over the defaults."""
    below = _read_file(config) if config else {}
    settings = {part: dict(fields) for part, fields in below.get("settings", {}).items()}
    for part, fields in parse_assignments(given.get("settings", [])).items():
        settings[part] = {**settings.get(part, {}), **fields}
    return make_options({**below, **given, "settings": settings}, "--")


def _read_file(path: Path) -> dict[str, Any]:
    """Tables are parts, everything else is an option."""
    content = read_toml(path)
    tables = {name: value for name, value in content.items() if isinstance(value, dict)}
    given = {name: value for name, value in content.items() if name not in tables}
    if "settings" in given:
        raise UserError(f"{path}: settings is {given['settings']!r}; write a table per part instead, for example [fqe]")
    given["settings"] = tables
    make_options(given, f"{path}: ")
    return given


def _to_mend(error: Any, where: str) -> UserError:
    name, found, file = str(error["loc"][0]), error["input"], "" if where == "--" else where
    if error["type"] == "extra_forbidden":
        return UserError(f"{file}{unknown_name('option', name, list(Options.model_fields))}")
    field = Options.model_fields[name]
    if error["type"] == "literal_error":
        return UserError(f"{file}{unknown_name(name, found, list(get_args(field.annotation)))}")
    place = ".".join(map(str, error["loc"])) if plain_type(field) is dict else name
    return UserError(f"{where}{place} is {found!r}; it must be {_rule(field)}")


def plain_type(field: FieldInfo) -> type:
    """float, int, bool, str, tuple or dict: what a value is, whatever it holds and whether or not it may be None."""
    annotation: Any = field.annotation
    if isinstance(annotation, UnionType):
        annotation = get_args(annotation)[0]
    origin: Any = get_origin(annotation)
    return str if origin is Literal else origin or annotation


def _rule(field: FieldInfo) -> str:
    kinds = {
        float: "a number", int: "a whole number", bool: "true or false", str: "a word",
        tuple: "a word or a list of them", dict: "fields by part, for example {'fqe': {'steps': 1000}}",
    }  # fmt: skip
    words = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
    bounds = [f"{words[n]} {getattr(m, n)}" for m in field.metadata for n in words if hasattr(m, n)]
    return ", ".join([kinds[plain_type(field)], *filter(None, [" and ".join(bounds)])])


def takes_options(function: Function) -> Function:
    """Spells out the `**options` of a function, for `help` and for the completion of a notebook."""
    signature = inspect.signature(function)
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    taken = (*signature.parameters, "method", "columns")  # the last belongs to `load_dataset` here
    fields = {name: field for name, field in Options.model_fields.items() if name not in taken}
    spelt = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.annotation)
        for name, field in fields.items()
    ]
    function.__signature__ = signature.replace(parameters=[*own, *spelt])  # type: ignore[attr-defined]
    lines = [
        textwrap.fill(f"    {name:9} {field.description}", 120, subsequent_indent=" " * 14)
        for name, field in fields.items()
    ]
    function.__doc__ = f"{(function.__doc__ or '').rstrip()}\n\n" + "\n".join(lines) + "\n    "
    return function
