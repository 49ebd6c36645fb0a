"""Commands for developers: ``python -m tests.servers install`` and ``… elasticsearch``."""

from __future__ import annotations

import argparse
import os
import signal
import sys

from tests.servers.availability import ServerError
from tests.servers.containers import find_engine
from tests.servers.elasticsearch import Cluster
from tests.servers.elasticsearch_distribution import install
from tests.servers.elasticsearch_server import ADDRESS, CA, PASSWORD, USER
from tests.servers.toxiproxy_distribution import installed_program


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _install() -> None:
    if find_engine() is None:
        _say(f"Elasticsearch: {install(os.environ)}")
    else:
        _say("Elasticsearch: the image is fetched when it is first started")
    _say(f"toxiproxy: {installed_program(may_install=True)}")


def _run_elasticsearch(arguments: argparse.Namespace) -> None:
    with Cluster.start(
        arguments.nodes,
        arguments.security,
        heap_mebibytes=arguments.heap,
        java_options="",
        first_port=arguments.port,
    ) as cluster:
        _say(f"export {ADDRESS}={','.join(cluster.urls)}")
        if cluster.credentials is not None:
            _say(f"export {USER}={cluster.credentials.user}")
            _say(f"export {PASSWORD}={cluster.credentials.password}")
            _say(f"export {CA}={cluster.ca_file}")
        _say("# running; Ctrl-C ends it and removes its data")
        signal.pause()


def main() -> int:
    """Run the command that the arguments name; return 0, or 1 with the reason on stderr."""
    parser = argparse.ArgumentParser(prog="python -m tests.servers", description=__doc__)
    commands = parser.add_subparsers(required=True, dest="command")
    commands.add_parser("install", help="install what test servers need, start none")
    elasticsearch = commands.add_parser("elasticsearch", help="run a cluster until Ctrl-C")
    elasticsearch.add_argument("--nodes", type=int, default=1)
    elasticsearch.add_argument("--security", action="store_true", help="HTTPS and a user")
    elasticsearch.add_argument("--heap", type=int, default=512, metavar="MEBIBYTES")
    elasticsearch.add_argument("--port", type=int, help="of the first node; else any free one")
    arguments = parser.parse_args()
    # As Ctrl-C, so that what runs is ended in order, also while it starts.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if arguments.command == "install":
            _install()
        else:
            _run_elasticsearch(arguments)
    except ServerError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
