"""Runs clean-up commands once its standard input ends, so also when its starter was killed.

Each line of the input is a JSON object: ``{"add": [command, argument, ...]}`` or
``{"drop": [...]}`` for one that is no longer needed. The last added runs first. It is started as a
program of its own and imports nothing of the project.
"""

from __future__ import annotations

import json
import subprocess
import sys

if __name__ == "__main__":
    commands: dict[tuple[str, ...], None] = {}
    for line in sys.stdin:
        for verb, command in json.loads(line).items():
            if verb == "add":
                commands[tuple(command)] = None
            else:
                commands.pop(tuple(command), None)
    for command in reversed(commands):
        # S603: the commands are the starter's own.
        subprocess.run(  # noqa: S603
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
