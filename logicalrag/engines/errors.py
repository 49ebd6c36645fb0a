"""Engine failures that are not the expression's fault."""

from __future__ import annotations


class EngineError(RuntimeError):
    """The index cannot be read or written; the caller may retry, and must not read it as zero.

    Args:
        message: one sentence that says what to do.
        retryable: whether the same call may succeed later.
    """

    def __init__(self, message: str, retryable: bool = False) -> None:
        super().__init__(message, retryable)
        self.message = message
        self.retryable = retryable

    def __str__(self) -> str:
        return self.message


class IndexLockedError(EngineError):
    """Another writer holds the index.

    Args:
        path: the lock file.
        holder: who holds it, as that process described itself (pid, host, command, since).
    """

    def __init__(self, path: str, holder: str) -> None:
        super().__init__(
            f"the index is being written by {holder}; wait for it to end, "
            f"or stop it, and run the command again (lock: {path})",
            retryable=True,
        )
        self.path = path
        self.holder = holder

    def __reduce__(self) -> tuple[type[IndexLockedError], tuple[str, str]]:
        return (type(self), (self.path, self.holder))
