"""``python -m cli``: the same as the command `logicalrag`."""

from cli.main import run

if __name__ == "__main__":
    run()
