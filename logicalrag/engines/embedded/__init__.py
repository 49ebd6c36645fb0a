"""The embedded engine: a tantivy index in a folder, one process, no service.

`engine.EmbeddedEngine(path)` reads, `writer.EmbeddedWriter(path)` writes and creates the folder.
The folder holds `index.json` (format, identity, analysis and declared fields), `writer.lock`, and
one tantivy index for each tenant, so that no tenant's counts, scores or suggestions depend on
another's data.
"""
