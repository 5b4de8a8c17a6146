"""What all verbs share: help at once, and errors in one line."""

import io
import subprocess
import sys
from pathlib import Path

import pytest

from ropeval.cli import main as cli
from ropeval.cli.main import main
from ropeval.version import __version__

ROOT = Path(__file__).parents[2]
HELP = """
import sys
from contextlib import suppress
from ropeval.cli.main import main
from tests.cli.test_every_verb import verbs
for words in verbs():
    with suppress(SystemExit):
        main([*words, "--help"])
with suppress(SystemExit):
    main(["--version"])
print([name for name in ("jax", "numpy", "polars", "scipy", "matplotlib") if name in sys.modules], file=sys.stderr)
"""


def verbs() -> list[list[str]]:
    """Every command, and every group of them."""
    from typer.main import get_command

    root = get_command(cli.app)
    groups = {name: getattr(command, "commands", {}) for name, command in root.commands.items()}  # type: ignore[attr-defined]
    return [[], *([name] for name in groups), *([name, verb] for name in groups for verb in groups[name])]


@pytest.mark.process
def test_whoever_asks_for_help_does_not_wait():
    done = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Usage: ropeval") == len(verbs()) > 10
    assert done.stdout.endswith(f"ropeval {__version__}\n")
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize("words", verbs(), ids=" ".join)
def test_an_example_has_a_line_of_its_own(words, capsys):
    """Click makes one paragraph of lines that follow each other."""
    with pytest.raises(SystemExit):
        main([*words, "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "ropeval " in line.partition("ropeval ")[2].replace("`ropeval", "")] == []


def test_what_the_user_can_mend_is_one_line_and_exit_code_2(capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(["report", "no/such/folder"])
    assert caught.value.code == 2
    assert capsys.readouterr().err.startswith("error: no/such/folder")


@pytest.mark.parametrize(("error", "raised"), [(BrokenPipeError, SystemExit), (ZeroDivisionError, ZeroDivisionError)])
def test_a_reader_who_goes_away_is_no_error_and_one_that_is_ours_is_not_hidden(monkeypatch, error, raised):
    def fails(**_: object) -> None:
        raise error

    monkeypatch.setattr(cli, "app", fails)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with pytest.raises(raised):
        cli.main([])


@pytest.mark.parametrize("verb", ["evaluate", "demo", "methods", "tabular", ""])
def test_help_teaches(capsys, verb):
    with pytest.raises(SystemExit) as caught:
        main([*([verb] if verb else []), "--help"])
    assert not caught.value.code
    assert len(capsys.readouterr().out.splitlines()) > 5
