"""The Elasticsearch engine: trees to Query DSL, versioned indices behind aliases, bulk writes."""
