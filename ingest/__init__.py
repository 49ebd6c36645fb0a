"""Documents in: readers, chunking, the ledger and the pipeline that joins them to an index."""
