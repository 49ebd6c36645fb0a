"""The agent: a session's state, one turn as a step over it, and the planners that drive it."""
