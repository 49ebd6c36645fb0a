"""``python -m cli.settings_page``: the page docs/settings.md, made from the settings themselves."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from bootstrap.settings import PREFIX, PROVIDERS_KEY, Settings
from cli.main import load, names

HEAD = """# Settings

Made from the code by `python -m cli.settings_page > docs/settings.md`; do not edit.

An option of the command line wins over the environment variable, which wins over the default. An
empty variable is one that is not set. `logicalrag config` shows every value and where it came from.

| setting | values | default | variable | option | meaning |
| --- | --- | --- | --- | --- | --- |
"""
_TYPES = {
    bool: "`true`, `false`",
    float: "number",
    frozenset: "names, separated by commas",
    int: "integer",
    Path: "path",
    SecretStr: "secret",
    str: "text",
    tuple: "addresses, separated by commas",
}
_SIGNS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}


def settings_page() -> str:
    """Return the page: one row for each setting, in the order declared."""
    meanings = _meanings()
    options = _options()
    rows = []
    for name, field in Settings.model_fields.items():
        variables = [f"`{PREFIX}{name.upper()}`"]
        if name == "api_key":
            variables.append(f"`{PROVIDERS_KEY}`")
        cells = (
            f"`{name}`",
            _values(field),
            _default(field.default),
            ", else ".join(variables),
            " ".join(f"`{option}`" for option in options.get(name, ())),
            meanings[name],
        )
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return HEAD + "\n".join(rows) + "\n"


def _meanings() -> dict[str, str]:
    """Return what the docstring of `Settings` says of each."""
    text = inspect.cleandoc(Settings.__doc__ or "").partition("Args:\n")[2]
    found = re.findall(r"^    (\w+): ((?:.|\n     )+)", text, re.MULTILINE)
    return {name: " ".join(said.split()).replace("``", "`") for name, said in found}


def _options() -> dict[str, list[str]]:
    """Return the options that give each setting, in the order of the commands."""
    found: dict[str, list[str]] = {}
    for command in chain.from_iterable(map(_commands, map(load, names()))):
        for parameter in command.params:
            known = found.setdefault(parameter.name, [])
            for option in (*parameter.opts, *parameter.secondary_opts):
                if option.startswith("--") and option not in known:
                    known.append(option)
    return found


def _commands(loaded: Any) -> Iterable[Any]:
    """Return the commands of a group, or the command itself."""
    return getattr(loaded, "commands", {"": loaded}).values()


def _values(field: FieldInfo) -> str:
    kind: Any = field.annotation
    bounds = list(field.metadata)
    for part in get_args(kind):
        if get_origin(part) is Annotated:
            kind, *described = get_args(part)
            bounds += [bound for each in described for bound in each.metadata]
        elif part is not type(None) and type(None) in get_args(kind):
            kind = part
    if get_origin(kind) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(kind))
    return ", ".join([_TYPES[get_origin(kind) or kind], *_bounds(bounds)])


def _bounds(described: list[Any]) -> list[str]:
    return [
        f"{sign} {getattr(bound, name)}"
        for bound in described
        for name, sign in _SIGNS.items()
        if hasattr(bound, name)
    ]


def _default(value: object) -> str:
    if value is None or value == frozenset():
        return "none"
    if isinstance(value, tuple):
        value = ",".join(value)
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


if __name__ == "__main__":
    sys.stdout.write(settings_page())
