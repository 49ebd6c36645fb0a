"""How the command talks: results on standard output, everything else on standard error."""

from __future__ import annotations

import re
import sys
from typing import Any, NoReturn

import orjson
import typer
from rich.console import Console
from rich.markup import escape

from logicalrag.engines.metadata import number_text

EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_ABSTAINED = 3
EXIT_LIMIT = 4
EXIT_INTERRUPTED = 130

# C0 and C1 controls but tab and line feed, and what turns the direction of writing.
_CONTROLS = dict.fromkeys(
    {*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)} - {9, 10},
    "\ufffd",
)

# What JSON leaves as it is and a terminal may obey.
_C1 = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

out = Console(highlight=False, soft_wrap=True, emoji=False)
err = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)


def print_json(value: Any) -> None:
    """Print `value` as one JSON line, at once, so that a reader of a pipe gets it now."""
    # What is no Unicode text (a lone surrogate in a question) must not end the run.
    try:
        encoded = orjson.dumps(value)
    except orjson.JSONEncodeError:
        encoded = orjson.dumps(_clean(value))
    sys.stdout.write(_C1.sub(_escaped, encoded.decode()) + "\n")
    sys.stdout.flush()


def fail(message: str, code: int = EXIT_FAILED) -> NoReturn:
    """Print one sentence on standard error and end with `code`."""
    err.print(f"[bold red]error:[/] {plain(message)}")
    raise typer.Exit(code)


def warn(message: str) -> None:
    """Print one sentence on standard error and go on."""
    err.print(f"[yellow]warning:[/] {plain(message)}")


def plain(text: str) -> str:
    """Return `text` of unknown origin as it may be put into markup for a terminal.

    Control characters become U+FFFD, so that no document can steer the terminal, and square
    brackets are taken literally.
    """
    return escape(text.translate(_CONTROLS))


def one_line(text: str) -> str:
    """Return `text` as `plain` does, on one line: for titles, ids and places."""
    return plain(" ".join(text.split()))


def shown_value(value: str | float) -> str:
    """Return a metadata value as a person writes it: 2020 for 2020.0."""
    return value if isinstance(value, str) else number_text(value)


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found.group()):04x}"


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return value
