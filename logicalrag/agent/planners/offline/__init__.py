"""The planner that follows rules: no model, no embeddings, the same actions for the same session.

It searches best first from the names of the question over the names that shown passages hold,
answers with one or two sentences of those passages, or abstains.
"""

from logicalrag.agent.planners.offline.planner import OfflinePlanner, plan

__all__ = ["OfflinePlanner", "plan"]
