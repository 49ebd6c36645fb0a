"""Every setting of the program, its default and its environment variable.

The only module that reads the environment: a setting ``name`` is taken from ``LOGICALRAG_NAME``
where no option on the command line gives it.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from logicalrag.agent.limits import Limits
from logicalrag.engines.protocol import DEFAULT_TENANT

PREFIX = "LOGICALRAG_"


class SettingsError(ValueError):
    """A setting that cannot be used; `message` names it and says what would do."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __str__(self) -> str:
        return self.message


class Settings(BaseSettings):
    """Frozen values handed down to what needs them.

    Args:
        index: folder of the embedded index and its ledger.
        planner: who decides the agent's actions.
        tenant: whose documents are written and read.
        groups: the caller's groups, for documents with an access list; separated by commas.
        chunk_mode: ``chunks`` cuts documents at sentences, ``passage`` keeps each whole.
        chunk_size: units of a chunk at most.
        chunk_overlap: units that a chunk repeats from the one before it.
        chunk_unit: what is counted.
        lock_wait_seconds: how long to wait for another process that writes the index.
        encoding: of text files without a byte-order mark; found out where not given.
        searching_turns: searches of a session at most.
        results: passages that one search shows at most.
        excerpt_characters: code points that a search shows of a passage.
        too_broad_fraction: share of the index above which a search is refused.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid")

    index: Path = Path(".logicalrag")
    planner: Literal["offline", "scripted"] = "offline"
    tenant: Annotated[str, Field(min_length=1, max_length=200)] = DEFAULT_TENANT
    groups: Annotated[frozenset[str], NoDecode] = frozenset()
    chunk_mode: Literal["chunks", "passage"] = "chunks"
    chunk_size: Annotated[int, Field(ge=1, le=100_000)] = 1000
    chunk_overlap: Annotated[int, Field(ge=0, le=50_000)] = 0
    chunk_unit: Literal["tokens", "sentences", "characters"] = "tokens"
    encoding: str | None = None
    lock_wait_seconds: Annotated[float, Field(ge=0, le=3600)] = 10.0
    searching_turns: Annotated[int, Field(ge=1, le=100)] = Limits().searching_turns
    results: Annotated[int, Field(ge=1, le=20)] = Limits().results
    excerpt_characters: Annotated[int, Field(ge=100, le=20_000)] = Limits().excerpt_characters
    too_broad_fraction: Annotated[float, Field(gt=0, le=1)] = Limits().too_broad_fraction

    @field_validator("groups", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return frozenset(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("encoding")
    @classmethod
    def _known(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                "x".encode(value)  # knows encodings of text only, not "base64"
            except LookupError:
                raise ValueError(f"no encoding of text is called {value!r}") from None
        return value

    @model_validator(mode="after")
    def _overlap_fits(self) -> Self:
        if self.chunk_overlap >= self.chunk_size:
            raise ValueError(
                f"chunk_overlap ({self.chunk_overlap}) must be under chunk_size ({self.chunk_size})"
            )
        return self


def read_settings(**given: Any) -> Settings:
    """Return the settings: what is `given` and not None, else the environment, else defaults.

    Raises:
        SettingsError: a value that does not fit, named with its environment variable, or a
            variable with our prefix that names no setting.
    """
    for variable in sorted(os.environ):
        name = variable.removeprefix(PREFIX).lower()
        if variable.startswith(PREFIX) and name not in Settings.model_fields:
            near = difflib.get_close_matches(name, Settings.model_fields, n=1)
            meant = f" Did you mean {PREFIX}{near[0].upper()}?" if near else ""
            raise SettingsError(f"{variable} names no setting.{meant}")
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        if not problem["loc"]:
            raise SettingsError(f"{problem['msg'].removeprefix('Value error, ')}.") from None
        name = str(problem["loc"][0])
        wrong = problem["msg"].removeprefix("Value error, ")
        raise SettingsError(
            f"The setting {name} (variable {PREFIX}{name.upper()}): {wrong}."
        ) from None
