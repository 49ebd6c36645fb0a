"""The command's entry point: its commands, and what becomes of errors."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from bootstrap.settings import SettingsError
from cli.console import EXIT_BAD_INPUT, EXIT_FAILED, err, out, plain
from ingest.ledger import LedgerError
from logicalrag.engines.errors import EngineError
from logicalrag.engines.metadata import MetadataError

# Each command's name and module, in the order of the help; a module is imported when its command
# is used. The function, or the group of commands, has the command's name.
_MODULES = {
    "ingest": "cli.ingest",
    "delete": "cli.delete",
    "search": "cli.search",
    "ask": "cli.ask",
    "why-not": "cli.why_not",
    "stats": "cli.stats",
    "index": "cli.index",
    "attach": "cli.attach",
    "reconcile": "cli.reconcile",
    "doctor": "cli.doctor",
    "config": "cli.config",
    "demo": "cli.demo",
}


def names() -> tuple[str, ...]:
    """Return the names of the commands, in the order of the help."""
    return tuple(_MODULES)


@cache
def load(name: str) -> Any:  # a click command, whose class typer keeps to itself
    """Return the command, or the group of commands, called `name`."""
    module = import_module(_MODULES[name])
    found = getattr(module, name.replace("-", "_"))
    if isinstance(found, typer.Typer):
        return typer.main.get_command(found)
    alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
    alone.command(name, epilog=module.EXAMPLES)(found)
    return typer.main.get_command(alone)


class _Commands(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: TyperCommand(name) for name in _MODULES}

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return load(cmd_name) if cmd_name in _MODULES else super().get_command(ctx, cmd_name)


app = typer.Typer(
    cls=_Commands,
    name="logicalrag",
    help="Index documents, search them with Boolean expressions, ask questions about them.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

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

    Every setting has an environment variable, LOGICALRAG_INDEX for --index and so on;
    logicalrag config shows them all.
    """


def run() -> None:
    """Run the command line; known failures end in one sentence and a non-zero exit code."""
    try:
        app()
    except (SettingsError, MetadataError) as error:
        err.print(plain(f"error: {error}"))
        sys.exit(EXIT_BAD_INPUT)
    except (EngineError, LedgerError) as error:
        err.print(plain(f"error: {error}"))
        sys.exit(EXIT_FAILED)
    except BrokenPipeError:
        # The reader of our output has gone (``| head``): nothing is left to say to it.
        sys.stderr.close()
        sys.exit(EXIT_FAILED)
