"""What goes wrong on the way to a cluster and inside it, as engine errors with their kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from logicalrag.engines.errors import EngineError

_SHOWN_CODE_POINTS = 300


class ClusterError(EngineError):
    """The cluster did not do what it was asked; never to be read as zero hits.

    Args:
        message: one sentence that says what is wrong and what to do; without secrets.
        retryable: whether the same call may succeed later.
        status: the HTTP status; 0 where no answer came.
        kind: Elasticsearch's ``error.type``; empty where there is none.
    """

    def __init__(
        self, message: str, retryable: bool = False, status: int = 0, kind: str = ""
    ) -> None:
        super().__init__(message, retryable)
        self.status = status
        self.kind = kind

    def __reduce__(self) -> tuple[type[ClusterError], tuple[str, bool, int, str]]:
        return (type(self), (self.message, self.retryable, self.status, self.kind))


class ClusterUnreachableError(ClusterError):
    """No node answered in time."""


class ClusterBusyError(ClusterError):
    """The cluster refuses work for now: 429, or no shard that could answer."""


class ClusterDeniedError(ClusterError):
    """Who we are does not suffice: 401 or 403 by the security layer."""


class BlockedError(ClusterError):
    """The index refuses writes until someone lifts its block, as at the flood stage of a disk."""


class ShardsFailedError(ClusterError):
    """Some shards did not answer, or not in time: no count of this call is known."""


class AbsentError(ClusterError):
    """An index or alias that should be there is not."""


def error_of(status: int, body: object, doing: str) -> ClusterError:
    """Return the error that an answer of status 400 or more stands for.

    Args:
        status: HTTP status.
        body: the parsed answer.
        doing: what was asked for, as ``a search``.
    """
    kind, reason = described(body)
    said = f"{kind}: {reason}" if reason else (kind or f"status {status}")
    if status == 401 or (status == 403 and kind == "security_exception"):
        return ClusterDeniedError(
            f"The cluster does not allow {doing} ({kind or status}); check the key or user of the "
            "settings and its role.",
            status=status,
            kind=kind,
        )
    if kind == "cluster_block_exception":
        # 403 in older servers and for write blocks, 429 at the flood stage, 503 without a master.
        found = BlockedError if status in (403, 429) else ClusterBusyError
        return found(f"The cluster refuses {doing} ({said}).", True, status, kind)
    if status == 429:
        return ClusterBusyError(
            f"The cluster is too busy for {doing} ({said}).", True, status, kind
        )
    if status == 404:
        return AbsentError(
            f"The cluster has no index for {doing} ({said}); make it with: logicalrag index create",
            status=status,
            kind=kind,
        )
    if status in (502, 503, 504):
        return ShardsFailedError(
            f"The cluster could not finish {doing} ({said}); try again when its health is green.",
            True,
            status,
            kind,
        )
    return ClusterError(f"The cluster refused {doing} ({said}).", status >= 500, status, kind)


def described(body: object) -> tuple[str, str]:
    """Return type and reason of the error in an answer, shortened and without document text."""
    error = body.get("error", body) if isinstance(body, Mapping) else body
    if not isinstance(error, Mapping):
        return "", str(error)[:_SHOWN_CODE_POINTS] if isinstance(error, str) else ""
    kind = str(error.get("type", ""))
    reason = _reason(error)
    return kind, reason


def _reason(error: Mapping[str, Any]) -> str:
    reason = str(error.get("reason") or "")
    # A mapping error quotes the value that it could not read.
    return reason.split(". Preview of field's value")[0][:_SHOWN_CODE_POINTS]
