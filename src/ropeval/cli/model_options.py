"""The command line's side of `Options`: an option per field, and a `--help` under headings."""

import inspect
from collections.abc import Callable
from typing import Annotated, Any, TypeVar, get_args

import typer
from pydantic.fields import FieldInfo
from typer.core import TyperCommand

from ropeval.evaluation.options import Options, plain_type

Command = TypeVar("Command", bound=Callable[..., Any])


def with_options(command: Command) -> Command:
    """Gives a command an option for every field of `Options`; what is not given comes as None. They stand before the
    command's own in `--help`."""
    signature = inspect.signature(command)
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    made = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=_annotation(name))
        for name in Options.model_fields
    ]
    arguments = [p for p in own if p.default is p.empty]
    parameters = [*arguments, *made, *own[len(arguments) :]]
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return command


def _annotation(name: str) -> Any:
    kind: Any = plain_type(Options.model_fields[name])
    return Annotated[list[str] | None if kind in (tuple, dict) else kind | None, shown(name)]


def shown(name: str) -> Any:
    """A field as Typer's option: how it is called, and what `--help` says."""
    field = Options.model_fields[name]
    about: Any = field.json_schema_extra
    choices = get_args(field.annotation) if plain_type(field) is str else ()
    return typer.Option(
        about["flag"] or f"--{name}",
        help=f"{field.description}{_default(field)}",
        metavar=about["metavar"] or "|".join(choices) or None,
        rich_help_panel=about["group"],
    )


def _default(field: FieldInfo) -> str:
    """Said in the sentence: to Typer the default is None, since a file's value stands between the two."""
    value = field.default
    if value is None or isinstance(value, bool) or value in ((), {}):
        return ""
    return f"  [default: {', '.join(value) if isinstance(value, tuple) else value}]"


class UnderHeadings(TyperCommand):
    """A command that shows its options under the headings that they name."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[Any]] = {}
        for parameter in self.get_params(ctx):
            usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
            record = parameter.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(parameter, "rich_help_panel", None) or usual, []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)
