"""`logicalrag delete`: documents out of the index."""

from __future__ import annotations

from typing import Annotated

import typer

from bootstrap.opening import open_writer
from bootstrap.settings import read_settings
from cli import options
from cli.console import err, one_line
from cli.ingest import conclude
from ingest.deletion import Deletion
from ingest.deletion import delete as delete_documents

EXAMPLES = """
Examples:

  logicalrag delete notes/old.md

  logicalrag delete paper-17 paper-18 --index big/
"""


def delete(
    document_ids: Annotated[list[str], typer.Argument(help="Ids of documents, as ingested.")],
    index: options.Index = None,
    engine: options.Engine = None,
    elastic_hosts: options.ElasticHosts = None,
    elastic_index: options.ElasticIndex = None,
    tenant: options.Tenant = None,
    json: options.Json = False,
) -> None:
    """Remove documents from the index, by id."""
    settings = read_settings(
        index=index,
        engine=engine,
        elastic_hosts=elastic_hosts,
        elastic_index=elastic_index,
        tenant=tenant,
    )
    with open_writer(settings, create=False) as (writer, ledger):
        report = delete_documents(
            (Deletion(identity, settings.tenant) for identity in document_ids), writer, ledger
        )
    for reject in report.rejects:
        err.print(one_line(str(reject)))
    conclude(report, json)
