"""How an Elasticsearch cluster is talked to: connection, errors, bulk requests."""
