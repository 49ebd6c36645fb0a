"""Requests to the model's server until one reply is whole, within one total of attempts.

The SDK sends each request and retries none, so that those counted here are all there are.
"""

from __future__ import annotations

import functools
import math
import random
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, cast
from urllib.parse import urlsplit

import anthropic
import httpx2

from logicalrag.agent.planners.model_driven.failures import AttemptError, of_event, of_status
from logicalrag.agent.planners.model_driven.message import (
    MAX_MESSAGE_CHARACTERS,
    Message,
    MessageAssembly,
    StreamBrokenError,
    StreamedError,
)
from logicalrag.agent.planners.model_driven.settings import ModelSettings
from logicalrag.agent.planners.protocol import PlannerError
from logicalrag.agent.usage import Usage

FIRST_WAIT_SECONDS = 0.5
MAX_WAIT_SECONDS = 30.0
MAX_REASON_CHARACTERS = 300
# Of one answer: a character has at most four of them.
MAX_ANSWER_BYTES = 4 * MAX_MESSAGE_CHARACTERS


class MessagesClient:
    """Asks one server for messages.

    Args:
        settings: server, key, and bounds.
        clock: seconds of a clock that never goes back.
        sleep: waits for that many seconds.
        jitter: a number from 0 up to 1, drawn anew for every wait.
    """

    def __init__(
        self,
        settings: ModelSettings,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._sleep = sleep
        self._jitter = jitter
        # A redirection is a request more, and takes the passages to a server nobody named.
        http = anthropic.DefaultHttpxClient(
            follow_redirects=False, event_hooks={"response": [functools.partial(_bound, clock)]}
        )
        weakref.finalize(self, http.close)
        # With a key given, the SDK looks for no other in the environment.
        self._sdk = anthropic.Anthropic(
            api_key=settings.api_key or "none",
            base_url=settings.base_url,
            max_retries=0,
            http_client=http,
        )

    def ask(self, body: Mapping[str, Any], seconds: float = math.inf) -> tuple[Message, Usage]:
        """Return the message that answers `body`, and what all attempts used.

        An empty message is asked for once more, where an attempt is left, and is no reply then.

        Args:
            body: the arguments of `anthropic.Anthropic().messages.create`.
            seconds: until when to have it, waits included.

        Raises:
            PlannerError: no message; one sentence without the key, and what was used nonetheless.
        """
        begun = self._clock()
        left = seconds
        used = Usage()
        asked_again = False
        attempt = 1
        while True:
            assembly = MessageAssembly()
            last = attempt == self._settings.attempts
            outcome = self._attempt(body, assembly, left)
            passed = self._clock() - begun
            used = replace(used + self._priced(assembly.usage), seconds=passed)
            left = seconds - passed
            if isinstance(outcome, Message):
                if not outcome.is_empty:
                    return outcome, used
                if last or asked_again or left <= 0:
                    raise PlannerError(
                        f"The model {self._settings.model} ended its turn without a word or an "
                        "action: ask again, or ask another model.",
                        True,
                        used,
                    )
                asked_again = True
            else:
                wait = self._wait_seconds(attempt, outcome)
                if outcome.remedy or last or wait >= min(left, self._settings.request_seconds):
                    raise self._error(outcome, attempt, wait, used)
                self._sleep(wait)
                left = begun + seconds - self._clock()
            attempt += 1

    def _attempt(
        self, body: Mapping[str, Any], assembly: MessageAssembly, seconds: float
    ) -> Message | AttemptError:
        """Return the message of one request, or why there is none."""
        try:
            self._stream(body, assembly, min(seconds, self._settings.request_seconds))
            return assembly.message()
        except AttemptError as error:
            return error
        except StreamBrokenError as error:
            return AttemptError(str(error))
        except StreamedError as error:
            return of_event(error)
        except anthropic.APIStatusError as error:
            return of_status(error)
        except (anthropic.APITimeoutError, httpx2.TimeoutException):
            return AttemptError("it took too long")
        except anthropic.APIConnectionError:
            return AttemptError("it cannot be reached; is base_url right?")
        except (anthropic.AnthropicError, httpx2.HTTPError, UnicodeDecodeError):
            return AttemptError("the connection was cut")

    def _stream(self, body: Mapping[str, Any], assembly: MessageAssembly, seconds: float) -> None:
        """Send one request and take its events until the message is whole."""
        with self._sdk.messages.create(**body, stream=True, timeout=seconds) as stream:
            for event in anthropic.Stream.raw_events(stream.response):
                if event.data:
                    assembly.take(event.data)
                if assembly.whole:
                    return
        raise AttemptError("the stream ended before the message")

    def _priced(self, usage: Usage) -> Usage:
        price = self._settings.prices.get(self._settings.model)
        # A server that answers and counts nothing leaves the cost unknown.
        is_known = price is not None and (usage.tokens > 0 or not usage.calls)
        return replace(usage, cost=price.cost(usage) if price and is_known else None)

    def _wait_seconds(self, attempt: int, failure: AttemptError) -> float:
        """Return how long the server asks to wait, else twice as long each time, less up to half.

        The random part keeps clients that failed together from coming back together.
        """
        if failure.wait_seconds is not None:
            return failure.wait_seconds
        longest = min(FIRST_WAIT_SECONDS * 2.0 ** (attempt - 1), MAX_WAIT_SECONDS)
        return longest * (1 - self._jitter() / 2)

    def _error(
        self, failure: AttemptError, attempts: int, wait: float, used: Usage
    ) -> PlannerError:
        host = urlsplit(self._settings.base_url).netloc
        reason = self._presentable(failure.reason)
        if failure.remedy:
            sentence = f"The model server {host} refused the request ({reason}): {failure.remedy}."
        else:
            known = failure.wait_seconds is not None
            when = f"in {math.ceil(wait)} seconds" if known else "later"
            counted = f"{attempts} attempt{'s' if attempts > 1 else ''}"
            sentence = (
                f"The model server {host} gave no reply in {counted} ({reason}): try again {when}."
            )
        return PlannerError(sentence, not failure.remedy, used if used.calls else None)

    def _presentable(self, reason: str) -> str:
        """Return `reason` short, on one line, without the key if the server repeated it."""
        key = self._settings.api_key
        hidden = reason.replace(key, "[key]") if key else reason
        line = " ".join(hidden.encode(errors="replace").decode().split())
        return line if len(line) <= MAX_REASON_CHARACTERS else line[:MAX_REASON_CHARACTERS] + "…"


def _bound(clock: Callable[[], float], response: httpx2.Response) -> None:
    """Let the answer end in time, whatever it is: the SDK reads errors to their end."""
    deadline = clock() + response.request.extensions["timeout"]["read"]
    stream = cast(httpx2.SyncByteStream, response.stream)
    response.stream = _BoundedStream(stream, clock, deadline)


class _BoundedStream(httpx2.SyncByteStream):
    """The bytes of one answer, until the deadline and no more than `MAX_ANSWER_BYTES`.

    The SDK's timeout is for each read: a server that sends a byte now and then, or a line that
    never ends, would pass it for ever.
    """

    def __init__(
        self, stream: httpx2.SyncByteStream, clock: Callable[[], float], deadline: float
    ) -> None:
        self._stream = stream
        self._clock = clock
        self._deadline = deadline

    def __iter__(self) -> Iterator[bytes]:
        left = MAX_ANSWER_BYTES
        for part in self._stream:
            left -= len(part)
            if self._clock() > self._deadline:
                raise AttemptError("it took too long")
            if left < 0:
                raise AttemptError("the reply is too long")
            yield part

    def close(self) -> None:
        self._stream.close()
