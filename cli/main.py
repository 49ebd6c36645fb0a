"""The command's entry point: its commands, and what becomes of errors."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from bootstrap.settings import SettingsError
from cli import ask, demo, ingest, search, stats
from cli.console import EXIT_BAD_INPUT, EXIT_FAILED, err, out, plain
from ingest.ledger import LedgerError
from logicalrag.engines.errors import EngineError

app = typer.Typer(
    name="logicalrag",
    help="Index documents, search them with Boolean expressions, ask questions about them.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command(epilog=ingest.EXAMPLES)(ingest.ingest)
app.command(epilog=ingest.DELETE_EXAMPLES)(ingest.delete)
app.command(epilog=search.EXAMPLES)(search.search)
app.command(epilog=ask.EXAMPLES)(ask.ask)
app.command(epilog=stats.EXAMPLES)(stats.stats)
app.command(epilog=demo.EXAMPLES)(demo.demo)


def _print_version(wanted: bool) -> None:
    if wanted:
        out.print(f"logicalrag {version('logicalrag')}")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Index documents, search them with Boolean expressions, ask questions about them.

    Every option has an environment variable: --index is LOGICALRAG_INDEX, and so on.
    """


def run() -> None:
    """Run the command line; known failures end in one sentence and a non-zero exit code."""
    try:
        app()
    except SettingsError as error:
        err.print(plain(f"error: {error}"))
        sys.exit(EXIT_BAD_INPUT)
    except (EngineError, LedgerError) as error:
        err.print(plain(f"error: {error}"))
        sys.exit(EXIT_FAILED)
    except BrokenPipeError:
        # The reader of our output has gone (``| head``): nothing is left to say to it.
        sys.stderr.close()
        sys.exit(EXIT_FAILED)
