"""Who decides the next action: one protocol, one package or module per planner.

`offline` follows rules and needs no model; `scripted` replays given actions; `model_driven` asks a
language model and is called ``anthropic``, after the API that it speaks.
"""
