"""JSON lines in, JSON lines out: what `--batch` of several commands has in common."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from cli.console import EXIT_BAD_INPUT, EXIT_FAILED, fail, print_json

Request = TypeVar("Request", bound=BaseModel)


Report = dict[str, Any]


def answer_lines(
    name: str,
    model: type[Request],
    answer: Callable[[Request], tuple[Report, bool]],
    refuse: Callable[[object, str], Report],
) -> int:
    """Print one JSON line for each line of file `name` and return the exit code.

    Args:
        name: a path, or ``-`` for standard input; blank lines are skipped.
        model: what a line holds.
        answer: gives the report on a line, and whether the infrastructure failed over it.
        refuse: gives the report on a line that does not hold that, from its JSON value (None
            where it has none) and a sentence with its number. The rest goes on.

    Returns:
        0, or 1 where a line was refused or failed.
    """
    code = 0
    with _opened(name) as lines:
        for number, line in enumerate(lines, start=1):
            text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if not text.strip():
                continue
            value: object = None
            try:
                value = orjson.loads(text)
                request = model.model_validate(value)
            except (orjson.JSONDecodeError, ValidationError) as error:
                code = EXIT_FAILED
                print_json(refuse(value, f"{name}:{number}: {_sentence(error)}"))
                continue
            report, failed = answer(request)
            print_json(report)
            if failed:
                code = EXIT_FAILED
    return code


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    if name == "-":
        yield sys.stdin.buffer
        return
    try:
        lines = open(name, "rb")  # noqa: SIM115 - closed below
    except OSError as error:
        fail(f"cannot read {name}: {error.strerror}", EXIT_BAD_INPUT)
    with lines:
        yield lines


def _sentence(error: orjson.JSONDecodeError | ValidationError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        return f"{field}: {first['msg']}" if field else str(first["msg"])
    return f"no JSON object: {error}"
