"""The `logicalrag` command: one module per command, output apart from work."""
