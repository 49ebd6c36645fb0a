"""Every setting of the program, its default and its environment variable.

The only module that reads the environment: a setting ``name`` is taken from ``LOGICALRAG_NAME``
where no option on the command line gives it. An empty variable is one that is not set.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self
from urllib.parse import SplitResult, urlsplit

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
from logicalrag.engines.elastic.names import Names
from logicalrag.engines.protocol import DEFAULT_TENANT

PREFIX = "LOGICALRAG_"
PROVIDERS_KEY = "ANTHROPIC_API_KEY"
_API_KEY = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")


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
        engine: ``embedded`` keeps the index in a folder, ``elastic`` in an Elasticsearch cluster.
        index: folder of the embedded index and its ledger, and of what is kept on this machine.
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
        elastic_hosts: ``http(s)://host:port`` of the cluster's nodes, separated by commas.
        elastic_ca_file: certificate authority (PEM) that the cluster's HTTPS is checked against;
            the system's where not given.
        elastic_api_key: encoded API key for the cluster, in place of a user. Never shown.
        elastic_user: who asks the cluster, with a password.
        elastic_password: of that user. Never shown.
        elastic_index: what the names of all indices begin with: lower-case letters, digits and
            ``_``, a letter first, at most 40.
        elastic_tenants: ``apart`` gives each tenant indices and scores of its own, ``together``
            keeps all in one, without scores; fixed when the indices are made.
        elastic_shards: of a new index.
        elastic_replicas: copies of each shard of a new index.
        elastic_seconds: how long to wait for one answer of the cluster.
        elastic_attempts: requests for one call to the cluster at most, retries included.
        attached: file that `logicalrag attach` wrote: an index of the cluster that others fill
            is searched, and never written.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    engine: Literal["embedded", "elastic"] = "embedded"
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
    elastic_hosts: Annotated[tuple[str, ...], Field(min_length=1)] = ("http://127.0.0.1:9200",)
    elastic_ca_file: Path | None = None
    elastic_api_key: SecretStr | None = None
    elastic_user: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    elastic_password: SecretStr | None = None
    elastic_index: str = "logicalrag"
    elastic_tenants: Literal["apart", "together"] = "apart"
    elastic_shards: Annotated[int, Field(ge=1, le=1024)] = 3
    elastic_replicas: Annotated[int, Field(ge=0, le=32)] = 1
    elastic_seconds: Annotated[float, Field(ge=0.1, le=3600)] = 30.0
    elastic_attempts: Annotated[int, Field(ge=1, le=20)] = 5
    attached: Path | None = None

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
        if value is not None and _http_address(value) is None:
            # The value is not repeated: it may hold a password.
            raise ValueError("write http(s)://host[:port][/path], with no user or password")
        return value

    @field_validator("elastic_hosts", mode="before")
    @classmethod
    def _hosts(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("elastic_hosts")
    @classmethod
    def _nodes(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for each in value:
            parts = _http_address(each)
            if parts is None or parts.port is None or parts.query or parts.fragment:
                raise ValueError(
                    "write http(s)://host:port for each node, separated by commas; who asks goes "
                    "into elastic_api_key, or elastic_user and elastic_password"
                )
        return tuple(each.rstrip("/") for each in value)

    @field_validator("elastic_user")
    @classmethod
    def _user(cls, value: str | None) -> str | None:
        if value is not None and (":" in value or not value.isprintable()):
            raise ValueError("a user's name holds no ':' and no control characters")
        return value

    @field_validator("elastic_api_key")
    @classmethod
    def _encoded(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not _API_KEY.fullmatch(value.get_secret_value()):
            raise ValueError(
                "give the key as one word of letters and digits, which the cluster calls encoded"
            )
        return value

    @field_validator("elastic_index")
    @classmethod
    def _prefix(cls, value: str) -> str:
        return Names(value).prefix

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

    @model_validator(mode="after")
    def _cluster_fits(self) -> Self:
        if self.elastic_api_key is not None and (self.elastic_user or self.elastic_password):
            raise ValueError("Give elastic_api_key, or elastic_user and elastic_password, not both")
        if (self.elastic_user is None) != (self.elastic_password is None):
            raise ValueError("elastic_user and elastic_password go together; give both or none")
        if self.engine != "elastic":
            if self.attached is not None:
                raise ValueError("attached is for an index of a cluster; set engine to elastic")
            return self
        if self.elastic_ca_file is not None:
            if not self.elastic_ca_file.is_file():
                raise ValueError(
                    f"elastic_ca_file is {self.elastic_ca_file}, where there is no file; name the "
                    "cluster's certificate authority"
                )
            if any(host.startswith("http:") for host in self.elastic_hosts):
                raise ValueError(
                    "elastic_ca_file is for https, and elastic_hosts has an address with http"
                )
        return self


def _http_address(text: str) -> SplitResult | None:
    """Return the parts of an address with http(s), a host and no user; None where it is none."""
    try:
        parts = urlsplit(text)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.port == 0:
            return None
    except ValueError:
        return None
    return None if "@" in parts.netloc else parts


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

    values["groups"].sort()
    return [Explained(name, value, origin(name)) for name, value in values.items()]


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
