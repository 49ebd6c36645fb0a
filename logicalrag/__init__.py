"""Logical retrieval: Boolean search expressions, exact hit counts, cited answers."""
