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


def answer_lines(
    name: str, model: type[Request], answer: Callable[[Request], dict[str, Any]]
) -> int:
    """Print one JSON line for each line of file `name` and return the exit code.

    A line that is no such request gets ``{"error": {"code": "bad_line", …}}`` in its place, the
    rest goes on, and the exit code is 1.
    """
    code = 0
    with _opened(name) as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                request = model.model_validate(orjson.loads(line))
            except (orjson.JSONDecodeError, ValidationError) as error:
                code = EXIT_FAILED
                message = f"{name}:{number}: {_sentence(error)}"
                print_json({"error": {"code": "bad_line", "line": number, "message": message}})
                continue
            print_json(answer(request))
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
