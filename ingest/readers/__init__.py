"""One reader per kind of file; each yields documents, and rejects with their place and reason."""
