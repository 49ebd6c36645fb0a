"""A writer in a process of its own, driven line by line through its standard streams.

Run as ``python -m tests.integration.embedded_writer_process FOLDER``. Commands: ``put NAME TEXT``,
``commit``, ``close``; each is answered by one line. Killing it is the point.
"""

from __future__ import annotations

import sys
from pathlib import Path

from logicalrag.engines.embedded.writer import EmbeddedWriter
from tests.integration.embedded_documents import document


def main() -> None:
    """Answer commands until the input ends."""
    writer = EmbeddedWriter(Path(sys.argv[1]))
    answer("open")
    for line in sys.stdin:
        command, *arguments = line.rstrip("\n").split(" ", 2)
        if command == "put":
            writer.put(document(arguments[0], arguments[1]), replaces=1)
            answer("put")
        elif command == "commit":
            answer(writer.commit())
        elif command == "close":
            writer.close()
            answer("closed")


def answer(text: str) -> None:
    """Print one line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
