"""The events of a Messages API stream, for tests that play the server."""

from __future__ import annotations

import json
from typing import Any

Event = dict[str, Any]
Block = dict[str, Any]


def text(content: str) -> Block:
    """Return a block of text."""
    return {"type": "text", "text": content}


def tool_use(name: str, arguments: dict[str, Any] | str, identity: str = "toolu_1") -> Block:
    """Return a tool call; `arguments` as a text are streamed as they are, whole JSON or not."""
    return {"type": "tool_use", "id": identity, "name": name, "input": arguments}


def thinking(content: str, signature: str) -> Block:
    """Return a block of thinking."""
    return {"type": "thinking", "thinking": content, "signature": signature}


def started(**usage: int) -> Event:
    """Return the event that begins a message."""
    model = "claude-sonnet-5-5"
    counts = {"input_tokens": 100, "output_tokens": 1, **usage}
    message = {"id": "msg_1", "role": "assistant", "model": model, "content": [], "usage": counts}
    return {"type": "message_start", "message": message}


def block_events(index: int, block: Block) -> list[Event]:
    """Return the events that stream one block, its content in two pieces."""
    key, kind = {
        "text": ("text", "text_delta"),
        "thinking": ("thinking", "thinking_delta"),
        "tool_use": ("input", "input_json_delta"),
    }[block["type"]]
    whole = block[key]
    if key == "input" and not isinstance(whole, str):
        whole = json.dumps(whole)
    delta_key = "partial_json" if key == "input" else key
    half = len(whole) // 2
    deltas = [{"type": kind, delta_key: piece} for piece in (whole[:half], whole[half:]) if piece]
    opened = {**block, key: {} if key == "input" else ""}
    if "signature" in block:
        opened["signature"] = ""
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    return [
        {"type": "content_block_start", "index": index, "content_block": opened},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def message(
    *blocks: Block, stop_reason: str = "end_turn", output_tokens: int = 20, **usage: int
) -> list[Event]:
    """Return the events of a whole message; `usage` is what its beginning tells."""
    return [
        started(**usage),
        {"type": "ping"},
        *(event for index, block in enumerate(blocks) for event in block_events(index, block)),
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop_reason, "stop_sequence": None},
            "usage": {"output_tokens": output_tokens},
        },
        {"type": "message_stop"},
    ]


def error(kind: str, sentence: str = "it failed") -> Event:
    """Return the event of an error within a stream."""
    return {"type": "error", "error": {"type": kind, "message": sentence}}
