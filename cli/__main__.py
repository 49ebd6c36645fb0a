"""``python -m cli``: the same as the command `logicalrag`."""

from cli.main import run

run()
