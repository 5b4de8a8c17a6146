"""`ropeval`: collects the verbs, and turns the errors that a user can mend into one line and exit code 2."""

import sys

import typer

from ropeval.cli import bench, card, compare, data, demo, evaluate, methods, report, tabular
from ropeval.cli.model_options import UnderHeadings
from ropeval.errors import UserError
from ropeval.interrupts import interruptible
from ropeval.runtime import prepare
from ropeval.version import __version__

app = typer.Typer(
    name="ropeval",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # help texts hold brackets, which markup would swallow
    context_settings={"help_option_names": ["-h", "--help"]},
    help="What would this policy earn, judged only from logged data?",
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
    try:
        with interruptible():
            prepare()
            app(args=arguments, prog_name="ropeval")
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # the reader went away, as in `ropeval … | head`
        sys.stderr.close()
        sys.exit(1)
