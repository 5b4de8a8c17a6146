"""Configuration: frozen, validated where it is made, settable field by field from a file or the command line."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from ropeval.errors import UserError, unknown_name
from ropeval.words import read_text

LARGEST = 2**31 - 1  # of a whole number: of steps, of units in a layer
MAX_TOML = 4 << 20  # bytes: Python reads a few of them per microsecond


class PartConfig(BaseModel):
    """The configuration of one encoder or estimator. Subclasses are its documentation, too."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def stages(self, part: str) -> dict[str, int]:
        """What the part trains and in how many steps, in this order: by them progress is told."""
        return {part: int(getattr(self, "steps", 0))}


Config = TypeVar("Config", bound=PartConfig)
Overrides = Mapping[str, Mapping[str, Any]]  # part name -> field -> value


def make_config(kind: type[Config], part: str, *layers: Mapping[str, Any]) -> Config:
    """A configuration from its defaults and layers of overrides, the last one winning."""
    values = {key: value for layer in layers for key, value in layer.items()}
    for name, value in values.items():
        if isinstance(value, int) and abs(value) > LARGEST:
            raise UserError(f"setting {part}.{name} is {value}; it is more than {LARGEST:,}, which nothing here can be")
    try:
        return kind(**values)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join([part, *map(str, first["loc"])])
        if first["type"] == "extra_forbidden":
            raise unknown_name("setting", field, [f"{part}.{name}" for name in kind.model_fields]) from None
        raise UserError(f"setting {field} is {first['input']!r}: {first['msg']}") from None


def parse_assignments(assignments: list[str]) -> dict[str, dict[str, Any]]:
    """`["fqe.learning_rate=1e-4"]` → `{"fqe": {"learning_rate": 1e-4}}`; values are read as TOML reads them."""
    result: dict[str, dict[str, Any]] = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        part, dot, field = name.strip().partition(".")
        if not (equals and dot and part and field):
            raise UserError(f"--set {text}: expected PART.FIELD=VALUE, for example fqe.learning_rate=1e-4")
        try:
            parsed = _parse_toml(f"value = {value.strip()}")["value"]
        except tomllib.TOMLDecodeError:
            parsed = value.strip()  # a bare word is a string
        except (ValueError, RecursionError) as error:
            raise UserError(f"--set {name}: cannot be read as TOML: {error}") from None
        result.setdefault(part, {})[field] = parsed
    return result


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return _parse_toml(read_text(path, MAX_TOML))
    except FileNotFoundError:
        raise UserError(f"{path}: no such configuration file") from None
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: cannot be read as TOML: {error}") from None


def _parse_toml(text: str) -> dict[str, Any]:
    content = tomllib.loads(text)
    waiting: list[Any] = [content]
    for value in waiting:
        if isinstance(value, dict | list):
            waiting += value.values() if isinstance(value, dict) else value
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise ValueError("it holds an integer of more than 64 bits, which TOML has not")
    return content
