"""One node: its settings, its configuration folder, and how it is started from the artifact."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tests.servers.process import CleanUp, ServerProcess

PBKDF2_ROUNDS = 1000  # of a password with 144 random bits; the server checks it at many requests


@dataclass(frozen=True)
class Credentials:
    """A user of the server who may do everything."""

    user: str
    password: str = field(repr=False)


@dataclass(frozen=True)
class Node:
    """What one node is started from.

    Args:
        name: unique in the cluster.
        folder: its own; configuration, data and temporary files.
        http_port: on 127.0.0.1.
        settings: of ``elasticsearch.yml``, without paths.
        java_options: for the server's Java, the heap among them.
        log: file that what the server writes is appended to.
        certificates: folder with the files of `make_certificates`; None without security.
        credentials: None without security.
    """

    name: str
    folder: Path
    http_port: int
    settings: Mapping[str, object]
    java_options: str
    log: Path
    certificates: Path | None = None
    credentials: Credentials | None = None

    @property
    def configuration(self) -> Path:
        """The folder of the node's configuration."""
        return self.folder / "config"


class Installation(Protocol):
    """Something that nodes can be started from."""

    def new_run(self, clean_up: CleanUp) -> Path:
        """Return a new folder for one running cluster, and have it removed in the end."""

    def start(self, node: Node, clean_up: CleanUp) -> ServerProcess:
        """Start the node, or start it again on the data it has."""


def write_configuration(node: Node, more: Mapping[str, object]) -> None:
    """Write the node's settings, and with security its certificates and its user.

    Args:
        more: settings beside those of the node.
    """
    node.configuration.mkdir(parents=True, exist_ok=True)
    settings = {**node.settings, **more, "node.name": node.name, "http.port": node.http_port}
    if node.certificates is not None and node.credentials is not None:
        shutil.copytree(node.certificates, node.configuration / "certificates")
        settings |= _secured()
        _write_user(node.configuration, node.credentials)
    else:
        settings["xpack.security.enabled"] = False
    # JSON is YAML.
    text = "".join(f"{name}: {json.dumps(value)}\n" for name, value in settings.items())
    (node.configuration / "elasticsearch.yml").write_text(text, encoding="utf-8")


def _secured() -> dict[str, object]:
    settings: dict[str, object] = {"xpack.security.enabled": True}
    for layer in ("http", "transport"):
        prefix = f"xpack.security.{layer}.ssl"
        settings |= {
            f"{prefix}.enabled": True,
            f"{prefix}.certificate": "certificates/server.crt",
            f"{prefix}.key": "certificates/server.key",
            f"{prefix}.certificate_authorities": ["certificates/ca.crt"],
        }
    return settings


def _write_user(folder: Path, credentials: Credentials) -> None:
    # A user of the file realm needs no index, so it works before the cluster does.
    salt = secrets.token_bytes(32)
    password = credentials.password.encode()
    digest = hashlib.pbkdf2_hmac("sha512", password, salt, PBKDF2_ROUNDS, 32)
    encoded = "$".join(base64.b64encode(part).decode() for part in (salt, digest))
    line = f"{credentials.user}:{{PBKDF2}}{PBKDF2_ROUNDS}${encoded}\n"
    (folder / "users").write_text(line, encoding="ascii")
    (folder / "users_roles").write_text(f"superuser:{credentials.user}\n", encoding="ascii")
