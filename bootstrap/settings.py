"""Every setting of the program, its default and its environment variable.

The only module that reads the environment: a setting ``name`` is taken from ``LOGICALRAG_NAME``
where no option on the command line gives it. An empty variable is one that is not set.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)

from logicalrag.agent.limits import Limits
from logicalrag.engines.analysis import Analysis
from logicalrag.engines.protocol import DEFAULT_TENANT

PREFIX = "LOGICALRAG_"
PROVIDERS_KEY = "ANTHROPIC_API_KEY"


class SettingsError(ValueError):
    """A setting that cannot be used; `message` names it and says what would do."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __str__(self) -> str:
        return self.message


class Settings(BaseModel):
    """Frozen values handed down to what needs them.

    Args:
        index: folder of the embedded index and its ledger.
        analysis: of a new index: ``english`` (where not given) finds words by their stems and
            quotes exactly, ``standard`` has no stems.
        metadata: TOML file that declares the fields of a new index.
        synonyms: file of synonym groups that searches expand; read again when it changes.
        tenant: whose documents are written and read.
        groups: the caller's groups, for documents with an access list; separated by commas.
        chunk_mode: ``chunks`` cuts documents at sentences, ``passage`` keeps each whole.
        chunk_size: units of a chunk at most.
        chunk_overlap: units that a chunk repeats from the one before it.
        chunk_unit: what is counted.
        lock_wait_seconds: how long to wait for another process that writes the index.
        encoding: of text files without a byte-order mark; found out where not given.
        searching_turns: searches, counts and reads of a session at most.
        results: passages that one search of a session shows at most.
        excerpt_characters: code points that a search of a session shows of a passage.
        too_broad_fraction: share of the index (of 100 passages or more) above which a search of
            a session is refused, where no clause by itself is below it.
        max_tokens: tokens of a session at most, read and written.
        max_seconds: seconds of a session at most.
        max_cost: US dollars of a session at most; needs a model whose price is known.
        planner: who decides the actions of a session; ``anthropic`` is a language model.
        model: name of the language model.
        base_url: address of a server that speaks the Anthropic Messages API, where it is not
            Anthropic's own.
        api_key: key for that server; where not given, taken from ``ANTHROPIC_API_KEY`` for
            Anthropic's own server, and for no other. Never shown.
        temperature: of the model's choices; the server's default where not given.
        top_p: share of likely words that the model chooses from; the server's default where not
            given.
        thinking_budget: tokens that the model may think with before it replies; none where not
            given. Less than ``max_output_tokens``.
        max_output_tokens: tokens of one reply at most, thinking included.
        attempts: requests for one reply at most, retries included.
        request_seconds: how long to wait for one reply.
        prompt: what the model is told of the language.
        prices: TOML file of prices of models that are not known here.
        expression_cache: whether expressions that led to an answer are kept and tried first when
            the question comes again.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    index: Path = Path(".logicalrag")
    analysis: Analysis | None = None
    metadata: Path | None = None
    synonyms: Path | None = None
    tenant: Annotated[str, Field(min_length=1, max_length=200)] = DEFAULT_TENANT
    groups: frozenset[str] = frozenset()
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
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    max_cost: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    planner: Literal["offline", "anthropic", "scripted"] = "offline"
    model: Annotated[str, Field(min_length=1, max_length=200)] = "claude-sonnet-5-5"
    base_url: str | None = None
    api_key: SecretStr | None = None
    temperature: Annotated[float, Field(ge=0, le=1)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    thinking_budget: Annotated[int, Field(ge=1024, le=1_000_000)] | None = None
    max_output_tokens: Annotated[int, Field(ge=64, le=1_000_000)] = 16_000
    attempts: Annotated[int, Field(ge=1, le=20)] = 4
    request_seconds: Annotated[float, Field(gt=0, le=3600)] = 120.0
    prompt: Literal["full", "syntax-only", "no-operators"] = "full"
    prices: Path | None = None
    expression_cache: bool = True

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

    @field_validator("base_url")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                parts = urlsplit(value)
                fits = parts.scheme in {"http", "https"} and bool(parts.hostname)
                fits = fits and parts.port != 0
            except ValueError:
                fits = False
            if not fits or "@" in parts.netloc:
                # The value is not repeated: it may hold a password.
                raise ValueError("write http(s)://host[:port][/path], with no user or password")
        return value

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        if self.chunk_overlap >= self.chunk_size:
            raise ValueError(
                f"chunk_overlap ({self.chunk_overlap}) must be under chunk_size ({self.chunk_size})"
            )
        if self.thinking_budget is not None and self.thinking_budget >= self.max_output_tokens:
            raise ValueError(
                f"thinking_budget ({self.thinking_budget}) must be under max_output_tokens "
                f"({self.max_output_tokens})"
            )
        return self


class Explained(NamedTuple):
    """One setting: its name, its value as JSON has it, and where that came from."""

    name: str
    value: Any
    origin: Literal["option", "environment", "default"]


def explain_settings(**given: Any) -> list[Explained]:
    """Return every setting, in the order declared, as `read_settings` reads it; no secret.

    Raises:
        SettingsError: as `read_settings`.
    """
    values = read_settings(**given).model_dump(mode="json")
    variables = _chosen(given)

    def origin(name: str) -> Literal["option", "environment", "default"]:
        if given.get(name) is not None:
            return "option"
        return "environment" if name in variables else "default"

    return [
        Explained(name, sorted(value) if isinstance(value, list) else value, origin(name))
        for name, value in values.items()
    ]


def read_settings(**given: Any) -> Settings:
    """Return the settings: what is `given` and not None, else the environment, else defaults.

    Raises:
        SettingsError: a value that does not fit, named with its environment variable, or a
            variable with our prefix that names no setting.
    """
    try:
        return Settings(**_chosen(given))
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        if not problem["loc"]:
            raise SettingsError(f"{problem['msg'].removeprefix('Value error, ')}.") from None
        name = str(problem["loc"][0])
        wrong = problem["msg"].removeprefix("Value error, ")
        raise SettingsError(
            f"The setting {name} (variable {PREFIX}{name.upper()}): {wrong}."
        ) from None


def _chosen(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what options or the environment set, by the settings' names."""
    options = {name: value for name, value in given.items() if value is not None}
    chosen = {**_environment(), **options}
    # The provider's key is for the provider's own server, and never sent to another.
    if os.environ.get(PROVIDERS_KEY) and not chosen.get("base_url"):
        chosen.setdefault("api_key", os.environ[PROVIDERS_KEY])
    return chosen


def _environment() -> dict[str, Any]:
    """Return what the environment sets, by the settings' names."""
    found: dict[str, Any] = {}
    for variable, value in sorted(os.environ.items()):
        name = variable.removeprefix(PREFIX).lower()
        if not variable.startswith(PREFIX):
            continue
        if name not in Settings.model_fields:
            near = difflib.get_close_matches(name, Settings.model_fields, n=1)
            meant = f" Did you mean {PREFIX}{near[0].upper()}?" if near else ""
            raise SettingsError(f"{variable} names no setting.{meant}")
        if value:
            found[name] = value
    return found


def read_text(path: Path, what: str, max_bytes: int = 10_000_000) -> str:
    """Return the text of a file that a setting names; `what` says in messages what it is.

    Raises:
        SettingsError: it cannot be read, is too long, or is no UTF-8.
    """
    try:
        with path.open("rb") as file:
            content = file.read(max_bytes + 1)
    except OSError as error:
        raise SettingsError(f"The {what} {path} cannot be read: {error.strerror}.") from None
    if len(content) > max_bytes:
        raise SettingsError(f"The {what} {path} is longer than {max_bytes} bytes; shorten it.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SettingsError(f"The {what} {path} is no UTF-8 text; save it as UTF-8.") from None
