"""Room on the stack for deep trees, whatever thread the call comes from."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

# Tantivy recurses by some 10 KB of stack a level, and overflowing ends the process. Threads may
# have as little as 128 KB.
SHALLOW_LEVELS = 6
STACK_BYTES = 16 * 1024 * 1024

_Result = TypeVar("_Result")
_size_is_changed = threading.Lock()


def on_large_stack(work: Callable[[], _Result]) -> _Result:
    """Return what `work` returns, or raise what it raises, run in a thread of its own.

    Costs the start of a thread: for trees deeper than `SHALLOW_LEVELS`.
    """
    future: Future[_Result] = Future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001  # raised again where `work` is awaited
            future.set_exception(error)
        else:
            future.set_result(result)

    # The size for new threads is a setting of the process: changed as briefly as possible.
    with _size_is_changed:
        usual = threading.stack_size(STACK_BYTES)
        try:
            threading.Thread(target=run, name="deep-expression", daemon=True).start()
        finally:
            threading.stack_size(usual)
    return future.result()
