"""Why a request gave no message, and whether asking again may help.

Statuses and error types: https://platform.claude.com/docs/en/api/errors.
"""

from __future__ import annotations

import email.utils
import math
import time
from collections.abc import Mapping

import anthropic

from logicalrag.agent.planners.model_driven.message import StreamedError

# What an error within the stream would have been as the status of the answer.
_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_REMEDIES = {
    401: "set LOGICALRAG_API_KEY or ANTHROPIC_API_KEY to a valid key, or --base-url to a server "
    "of your own",
    402: "see to the billing of the key's account",
    403: "use a key that may use this model",
    404: "check the settings model and base_url, which ends before /v1",
    413: "lower the settings results and excerpt_characters",
}
_MOVED = "set base_url to the address that the server redirects to, if it is one you trust"
_REMEDY = (
    "check the settings model, temperature, top_p, thinking_budget and max_output_tokens, of which "
    "some models take only some"
)


class AttemptError(Exception):
    """Why one request gave no message.

    Args:
        reason: a few words.
        remedy: what to do; empty where asking again may help.
        wait_seconds: before which the server does not want to be asked again; None if not said.
    """

    def __init__(self, reason: str, remedy: str = "", wait_seconds: float | None = None) -> None:
        super().__init__(reason, remedy, wait_seconds)
        self.reason = reason
        self.remedy = remedy
        self.wait_seconds = wait_seconds


def of_status(error: anthropic.APIStatusError) -> AttemptError:
    """Return what an answer with an error status means."""
    status, headers = error.status_code, error.response.headers
    reason = f"{status}: {error.api_message}" if error.api_message else str(status)
    may_pass = status in {408, 409, 429} or status >= 500
    if may_pass and headers.get("x-should-retry") != "false":
        return AttemptError(reason, wait_seconds=_retry_after(headers))
    return AttemptError(reason, _MOVED if status < 400 else _REMEDIES.get(status, _REMEDY))


def of_event(error: StreamedError) -> AttemptError:
    """Return what an error within a stream means."""
    status = _STATUS.get(error.kind, 500)
    remedy = "" if status == 429 or status >= 500 else _REMEDIES.get(status, _REMEDY)
    return AttemptError(f"{error.kind}: {error.message}", remedy)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that ``retry-after`` names, as a number or a date; None if neither."""
    text = headers.get("retry-after", "")
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
