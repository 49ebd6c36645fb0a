"""Real servers for development and for tests: how each is had, started, broken and stopped."""
