"""Threads that ask the same questions over and over and hold every answer against the right one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from logicalrag.engines.errors import EngineError

Ask = Callable[[], object]


class Searchers:
    """A context manager; in it the threads run.

    Args:
        questions: each with its right answer.
        threads: how many.
    """

    def __init__(self, questions: Mapping[Ask, object], threads: int = 4) -> None:
        self.wrong: list[object] = []
        self.errors: list[EngineError] = []
        self.strange: list[BaseException] = []
        self._questions = list(questions.items())
        self._right = 0
        self._changed = threading.Condition()
        self._ending = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(number,)) for number in range(threads)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join()

    @property
    def right(self) -> int:
        """How many answers were right so far."""
        with self._changed:
            return self._right

    def wait_for_right_answers(self, count: int = 40, seconds: float = 90) -> None:
        """Return once so many more answers were right.

        Raises:
            AssertionError: they did not come within so many seconds.
        """
        self._wait(lambda begun: self._right >= begun[0] + count, seconds, "right answers")

    def wait_for_error(self, seconds: float = 60) -> None:
        """Return once one more question has ended with an error.

        Raises:
            AssertionError: none did within so many seconds.
        """
        self._wait(lambda begun: len(self.errors) > begun[1], seconds, "errors")

    def _wait(self, holds: Callable[[tuple[int, int]], bool], seconds: float, what: str) -> None:
        deadline = time.monotonic() + seconds
        with self._changed:
            begun = self._right, len(self.errors)
            while not holds(begun):
                left = deadline - time.monotonic()
                if left <= 0 or self.strange:
                    raise AssertionError(
                        f"{what} did not come: {self._right - begun[0]} right, errors "
                        f"{self.errors[begun[1] :][-3:]}, {self.strange}"
                    )
                self._changed.wait(left)

    def _run(self, number: int) -> None:
        turn = number
        while not self._ending.is_set() and not self.strange:
            ask, right = self._questions[turn % len(self._questions)]
            turn += 1
            self._note(ask, right)

    def _note(self, ask: Ask, right: object) -> None:
        try:
            answer = ask()
        except EngineError as error:
            with self._changed:
                self.errors.append(error)
                self._changed.notify_all()
        except BaseException as error:  # noqa: BLE001 - shown by the test, whatever it is
            with self._changed:
                self.strange.append(error)
                self._changed.notify_all()
        else:
            with self._changed:
                if answer == right:
                    self._right += 1
                else:
                    self.wrong.append((answer, right))
                self._changed.notify_all()
