"""Progress of long work on standard error: live on a terminal, now and then a line in a pipe."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from cli.console import err, one_line

PLAIN_SECONDS = 5.0


@contextmanager
def steps() -> Iterator[Callable[[str, int, int], None]]:
    """Yield what shows a step's name, how much of it is done, and of how much; 0 for unknown."""
    if err.is_terminal:
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,}"),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=err, transient=True) as bar:
            task = bar.add_task("", total=None)
            yield lambda step, done, of: bar.update(
                task, description=one_line(step), completed=done, total=of or None
            )
        return
    said, shown = time.monotonic(), ""

    def say(step: str, done: int, of: int) -> None:
        nonlocal said, shown
        if step == shown and time.monotonic() - said < PLAIN_SECONDS:
            return
        said, shown = time.monotonic(), step
        share = f": {done:,} of {of:,}" if of else (f": {done:,}" if done else "")
        err.print(f"{one_line(step)}{share}", markup=False)

    yield say
