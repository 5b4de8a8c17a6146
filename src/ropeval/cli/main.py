"""`ropeval`: collects the verbs, and turns the errors that a user can mend into one line and exit code 2."""

import io
import sys

import typer

from ropeval.cli import bench, card, compare, data, demo, evaluate, methods, report, tabular
from ropeval.cli.model_options import UnderHeadings
from ropeval.cli.screen import drop_stdout
from ropeval.errors import FULL, UserError
from ropeval.interrupts import interruptible, stop_if_pressed
from ropeval.provenance import documentation
from ropeval.runtime import prepare
from ropeval.version import __version__
from ropeval.words import clean

app = typer.Typer(
    name="ropeval",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # help texts hold brackets, which markup would swallow
    context_settings={"help_option_names": ["-h", "--help"]},
    help="What would this policy earn, judged only from logged data?",
    epilog=f"Documentation: {documentation()}",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ropeval {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version and leave."
    ),
) -> None:
    """Off-policy evaluation: estimates, their spread and their warnings, from a log and policy files."""


app.command(epilog=evaluate.EPILOG, cls=UnderHeadings)(evaluate.evaluate)
app.command()(demo.demo)
app.command()(methods.methods)
app.command()(report.report)
app.command()(card.card)
app.command()(compare.compare)
app.add_typer(data.app, name="data")
app.add_typer(tabular.app, name="tabular")
app.add_typer(bench.app, name="bench")


def main(arguments: list[str] | None = None) -> None:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # the name of a file need not be text
    try:
        with interruptible():
            prepare()
            try:
                app(args=arguments, prog_name="ropeval")
            except SystemExit:
                stop_if_pressed()  # where it was Ctrl-C that Typer made this of, without a word
                raise
            finally:
                sys.stdout.flush()  # here, where it can still be said that it cannot
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # the reader went away, as in `ropeval … | head`
        sys.stderr.close()
        sys.exit(1)
    except (MemoryError, RuntimeError, OSError) as error:
        about = _beyond_the_machine(error)
        if about is None:
            raise
        print(f"error: {about}", file=sys.stderr)
        sys.exit(2)


def _beyond_the_machine(error: Exception) -> str | None:
    """What no check could know before: there is no memory left for it, or no room behind standard output."""
    if isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error):
        reason = clean(str(error).splitlines()[0])[:300] if str(error) else "none is left"
        return f"there is not enough memory for this ({reason}); ask for fewer members, or for smaller networks"
    if isinstance(error, OSError) and error.errno in FULL and error.filename is None:
        drop_stdout()
        return f"standard output cannot be written ({error.strerror})"
    return None
