"""One message put together from the events of its stream.

Read from the raw server-sent events and not through the SDK's own accumulation, which takes cut
tool arguments for whole ones, hides the pings that a deadline has to see, and does not keep what
it does not know. Events: https://platform.claude.com/docs/en/build-with-claude/streaming.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

import orjson

from logicalrag.agent.usage import Usage

MAX_MESSAGE_CHARACTERS = 4_000_000
MAX_NAME_CHARACTERS = 200
MAX_DETAIL_CHARACTERS = 1000
# A session is stored as JSON, whose reader takes some 200 levels, those of the session among them.
MAX_LEVELS = 100
_MAX_TOKENS = 10**12  # a count beyond it is none, and could not be multiplied by a price
_TRUNCATED = frozenset({"max_tokens", "model_context_window_exceeded"})
# What a delta adds to, by its type: the key of the delta and of the block.
_GROWING = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
}
_COUNTERS = {
    "input_tokens": "input_tokens",
    "cache_read_input_tokens": "cached_tokens",
    "cache_creation_input_tokens": "cache_write_tokens",
    "output_tokens": "output_tokens",
}


class StreamBrokenError(Exception):
    """The stream is not one of a whole message; its message says how, in a few words."""


class StreamedError(Exception):
    """The server reported an error within the stream, of one of the API's error types."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(kind, message)
        self.kind = kind
        self.message = message


@dataclass(frozen=True, slots=True)
class Message:
    """A whole message.

    Args:
        content: its blocks as they are to be sent back: those the API refuses are left out.
        tool_calls: raw actions, in order.
        text: what stands outside of tool calls and thinking.
        stop, detail: as in `logicalrag.agent.actions.Reply`.
    """

    content: tuple[dict[str, Any], ...]
    tool_calls: tuple[dict[str, Any], ...]
    text: str
    stop: Literal["complete", "truncated", "refused"]
    detail: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether the model ended its turn without a word or a tool call."""
        return self.stop == "complete" and not self.tool_calls and not self.text.strip()


@dataclass(slots=True)
class MessageAssembly:
    """Takes the events of one stream; what was charged is known even where it breaks off.

    Args:
        model: the model's name as the server gave it; empty before the first event.
    """

    model: str = ""
    whole: bool = False
    _stop_reason: str = ""
    _refusal: str = ""
    _counts: dict[str, int] = field(default_factory=dict)
    _blocks: dict[int, dict[str, Any]] = field(default_factory=dict)
    _grown: dict[tuple[int, str], list[str]] = field(default_factory=dict)
    _characters: int = 0

    def take(self, data: str) -> None:
        """Take the data of one event.

        Raises:
            StreamBrokenError: it is not an event of a message, or the message is too long.
            StreamedError: it is an error of the server.
        """
        self._characters += len(data)
        if self._characters > MAX_MESSAGE_CHARACTERS:
            raise StreamBrokenError("the reply is too long")
        try:
            self._take(json.loads(data, parse_constant=_refuse, parse_float=_finite))
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
            raise StreamBrokenError("the stream is malformed") from None

    def _take(self, event: Any) -> None:
        kind = event["type"]
        if kind == "message_start":
            self.model = _text(event["message"].get("model"))[:MAX_NAME_CHARACTERS]
            self._count(event["message"].get("usage"))
        elif kind == "content_block_start":
            self._blocks[int(event["index"])] = dict(event["content_block"])
        elif kind == "content_block_delta":
            delta = event["delta"]
            if (key := _GROWING.get(delta["type"])) is not None:
                parts = self._grown.setdefault((int(event["index"]), key), [])
                parts.append(str(delta[key]))
        elif kind == "message_delta":
            self._stop_reason = str(event["delta"].get("stop_reason") or "")
            self._refusal = _text((event["delta"].get("stop_details") or {}).get("explanation"))
            self._count(event.get("usage"))
        elif kind == "message_stop":
            self.whole = True
        elif kind == "error":
            raise StreamedError(str(event["error"]["type"]), str(event["error"].get("message")))

    def _count(self, usage: Mapping[str, Any] | None) -> None:
        """Keep the counts given; those of later events are totals, not additions."""
        for theirs, ours in _COUNTERS.items():
            given = (usage or {}).get(theirs)
            if isinstance(given, int) and 0 <= given <= _MAX_TOKENS:
                self._counts[ours] = given

    @property
    def usage(self) -> Usage:
        """What the request was charged for so far; no call where the server never answered."""
        return Usage(model=self.model, calls=int(self.whole or bool(self._counts)), **self._counts)

    def message(self) -> Message:
        """Return the whole message.

        Raises:
            StreamBrokenError: a block has not the shape of one, or no reason to stop was given.
        """
        if not self._stop_reason:
            raise StreamBrokenError("the stream does not say why the message ended")
        try:
            blocks = list(self._finished())
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
            raise StreamBrokenError("the stream is malformed") from None
        texts = tuple(block for block, _ in blocks if block["type"] == "text")
        text = "\n".join(block["text"] for block in texts)
        calls = tuple(call for _, call in blocks if call is not None)
        if self._stop_reason == "refusal":
            detail = (self._refusal or text)[:MAX_DETAIL_CHARACTERS]
            return Message((), (), "", "refused", detail)
        if self._stop_reason in _TRUNCATED:
            # Arguments that happen to parse may be cut all the same: no call is kept.
            return Message(texts, (), text, "truncated")
        # Thinking alone is no turn that could be sent back.
        content = tuple(block for block, _ in blocks) if texts or calls else ()
        return Message(content, calls, text, "complete")

    def _finished(self) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
        """Yield each block that can be sent back, with the action that it calls for."""
        for index in sorted(self._blocks):
            block = dict(self._blocks[index])
            for (of, key), parts in self._grown.items():
                if of == index:
                    block[key] = block.get(key, "") + "".join(parts)
            block = _clean(block)
            kind = block["type"]
            if kind == "tool_use":
                yield _tool_call(block, index)
                continue
            _check_levels(block)
            # The API refuses text that is blank and thinking that it did not sign.
            if kind == "text":
                if block["text"].strip():
                    yield block, None
            elif kind != "thinking" or block.get("signature"):
                yield block, None


def _tool_call(block: dict[str, Any], index: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `block` with its arguments parsed, and the action that it calls for."""
    arguments = block.pop("partial_json", "")
    call: dict[str, Any]
    try:
        given = orjson.loads(arguments) if arguments else block.get("input") or {}
        call = {**given}
        _check_levels(given)
    except (TypeError, ValueError):
        given, call = {}, {"malformed_arguments": arguments[:200]}
    # Some servers give no id; the result needs one to answer to.
    block |= {"id": str(block.get("id") or f"call_{index}"), "name": str(block["name"])}
    block["input"] = given
    _check_levels(block)
    return block, {**call, "kind": block["name"]}


def _clean(block: dict[str, Any]) -> dict[str, Any]:
    """Return `block` without lone surrogates; halves that two events brought are put together."""
    text = json.dumps(block, ensure_ascii=False)
    if text.isascii():
        return block
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    cleaned: dict[str, Any] = json.loads(whole)
    return cleaned


def _check_levels(value: Any) -> None:
    """Raise ValueError where `value` has more than `MAX_LEVELS` levels."""
    level = [value]
    for _ in range(MAX_LEVELS):
        level = [
            inner
            for part in level
            if isinstance(part, dict | list)
            for inner in (part.values() if isinstance(part, dict) else part)
        ]
        if not level:
            return
    raise ValueError(f"more than {MAX_LEVELS} levels")


def _text(value: object) -> str:
    """Return `value` as a text without lone surrogates; empty where there is none."""
    return str(value or "").encode(errors="replace").decode()


def _finite(number: str) -> float:
    value = float(number)
    return value if math.isfinite(value) else _refuse(number)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")
