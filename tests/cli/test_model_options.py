"""The command line's options are those of `Options`, with nothing lost on the way."""

from typing import Any

import pytest
import typer
from pydantic import create_model
from typer.testing import CliRunner

from ropeval.cli import model_options
from ropeval.cli.main import app, main
from ropeval.cli.model_options import UnderHeadings, with_options
from ropeval.evaluation.options import EFFORT, Options, option


def make_app(asked: list[dict[str, object]]) -> typer.Typer:
    @with_options
    def ask(log: str, own: bool = False, **given: object) -> None:
        asked.append({"log": log, "own": own, **given})

    made = typer.Typer(rich_markup_mode=None)
    made.command(cls=UnderHeadings)(ask)
    return made


def test_what_is_not_given_is_none_so_that_a_file_may_say_it():
    asked: list[dict[str, object]] = []
    assert CliRunner().invoke(make_app(asked), ["log.npz"]).exit_code == 0
    assert asked == [{"log": "log.npz", "own": False, **dict.fromkeys(Options.model_fields)}]


def test_every_type_arrives():
    asked: list[dict[str, object]] = []
    words = "log.npz --gamma 0.5 --members 3 --method fqe --method lspe --tune --no-resample --interval bca --set a.b=1"
    assert CliRunner().invoke(make_app(asked), words.split()).exit_code == 0
    found = {name: value for name, value in asked[0].items() if value is not None}
    assert found == {
        "log": "log.npz", "own": False, "gamma": 0.5, "members": 3, "method": ["fqe", "lspe"], "tune": True,
        "resample": False, "interval": "bca", "settings": ["a.b=1"],
    }  # fmt: skip


def test_a_new_field_is_a_new_option(monkeypatch):
    more = create_model("More", __base__=Options, minutes=(int, option(10, EFFORT, "How long.", ge=1)))
    monkeypatch.setattr(model_options, "Options", more)
    asked: list[dict[str, object]] = []
    made = make_app(asked)
    assert CliRunner().invoke(made, ["log.npz", "--minutes", "3"]).exit_code == 0
    assert asked[0]["minutes"] == 3
    assert "How long.  [default: 10]" in CliRunner().invoke(made, ["--help"]).output


def test_help_says_everything_under_its_heading(capsys):
    with pytest.raises(SystemExit):
        main(["evaluate", "--help"])
    printed = " ".join(capsys.readouterr().out.split())
    at = [printed.index(heading) for heading in ("Arguments:", "What is asked:", "How hard to try:", "Intervals:")]
    assert at == sorted(at)
    for name, field in Options.model_fields.items():
        extra: Any = field.json_schema_extra
        assert extra["flag"].split("/")[0] + " " in printed, name
        assert field.description.split("  [")[0] in printed, name
    for default in (
        "0.99",
        "mean-return, fqe-clip, world",
        "5",
        "0",
        "8; none where there are at most 16 actions whose probabilities it tells: all of them count then, by these",
        "resample",
        "percentile",
        "0.95",
    ):
        assert f"[default: {default}]" in printed
    assert "--interval percentile|bca" in printed


def test_every_verb_has_help():
    assert {c.name or c.callback.__name__ for c in app.registered_commands} == {
        "evaluate", "compare", "card", "demo", "methods", "report"
    }  # fmt: skip
