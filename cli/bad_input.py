"""Expressions and conditions that cannot be read: what is printed, and exit code 2."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from cli.console import EXIT_BAD_INPUT, err, plain, print_json
from logicalrag.engines.metadata import MetadataError
from logicalrag.engines.report import error_report
from logicalrag.query.errors import ExpressionError


@contextmanager
def refusing(json: bool) -> Iterator[None]:
    """End the command where the block raises a language or metadata error; with `json`, as JSON."""
    try:
        yield
    except (ExpressionError, MetadataError) as error:
        if json:
            print_json(refusal(error))
        elif isinstance(error, ExpressionError):
            err.print(plain(error.render()))
        else:
            err.print(plain(f"error: {error}"))
        raise typer.Exit(EXIT_BAD_INPUT) from None


def refusal(error: ExpressionError | MetadataError) -> dict[str, Any]:
    """Return an error in the shape of the contract (`error_report`)."""
    if isinstance(error, ExpressionError):
        return error_report(error)
    return plain_error(error.code, error.message)


def plain_error(code: str, message: str, hint: str = "") -> dict[str, Any]:
    """Return an error that has no place in an expression, in the shape of the contract."""
    return {"error": {"code": code, "message": message, "position": 0, "end": 0, "hint": hint}}
