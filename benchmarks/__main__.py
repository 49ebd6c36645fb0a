"""The one door to the benchmarks: ``python -m benchmarks list | run NAME [--json]``."""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import sys

from benchmarks.harness import Report

BENCHMARKS = {
    "chunking": "documents into chunks by exact tokens, beside langchain and llama-index",
    "parser": "parsing is linear in length; CPU time of five-clause expressions",
    "embedded-ingest": "100,000 passages through the whole command, beside a bare tantivy loop",
    "embedded-search": "three clauses with exact counts at 100,000 passages, beside tantivy's own",
    "elastic-ingest": "passages into three nodes, beside a bare loop and langchain-elasticsearch",
    "elastic-search": "three clauses on three nodes, beside the bare request and a retriever",
    "offline-planner": "evidence found, answers and refusals of the offline planner",
}


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, or 1 where a target is missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        epilog="example: python -m benchmarks run parser --json",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="name the benchmarks")
    run = commands.add_parser("run", help="run one benchmark")
    run.add_argument("name", choices=sorted(BENCHMARKS))
    run.add_argument(
        "--small",
        action="store_true",
        help="only see that it runs",
    )
    run.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    if options.command == "list":
        for name, purpose in BENCHMARKS.items():
            print(f"{name:18} {purpose}")
        return 0
    module = importlib.import_module(f"benchmarks.{options.name.replace('-', '_')}")
    if options.small and "small" not in inspect.signature(module.run).parameters:
        parser.error(f"{options.name} has one size")
    report: Report = module.run(small=True) if options.small else module.run()
    if options.json:
        print(json.dumps(report.as_data()))
    else:
        _print(report)
    return 0 if report.holds else 1


def _print(report: Report) -> None:
    print(report.name)
    for metric, ratio in report.ratios.items():
        verdict = "holds" if ratio.holds else "MISSED"
        relation = ">=" if ratio.bound == "at_least" else "<="
        print(f"  {metric:40} {ratio.value:10.4g}  {relation} {ratio.target:g}  {verdict}")
    for measure, value in report.reference.items():
        print(f"  reference {measure}: {value}")
    print(f"  method: {report.method}")
    print("  versions: " + ", ".join(f"{k} {v}" for k, v in report.versions.items()))


if __name__ == "__main__":
    sys.exit(main())
