"""Who decides the next action: one protocol, one package or module per planner.

`offline` follows rules and needs no model; `scripted` replays given actions. A planner driven by
a language model stands beside them, as `anthropic`, once the project has one.
"""
