"""The reference of `embedded-ingest`: the shortest tantivy-py loop that indexes the same two forms.

Run as a process of its own: ``python -m benchmarks.bare_tantivy PASSAGES.jsonl DIR TOKENIZER``.
TOKENIZER is ``simple`` (tantivy's fastest, other words than ours) or ``rule`` (our token rule as
tantivy's regular expression, nearly the same words). Prints seconds from the first document to
the committed index, and the process's CPU seconds for them, as JSON. Tuned: tantivy's own
analysers, the fastest number of threads and heap found for this loop (two threads, 128 MB),
documents parsed before the clock starts.
"""

from __future__ import annotations

import json
import sys
import time

import orjson
import tantivy

HEAP_BYTES = 128_000_000
THREADS = 2
WORD_RULE = r"[\p{sc=Han}\p{sc=Hiragana}]|[\p{L}\p{M}\p{N}_&&[^\p{sc=Han}\p{sc=Hiragana}]]{1,64}"


def build(passages: str, folder: str, tokenizer: str) -> dict[str, float]:
    """Index title and content of a JSONL file, stemmed and exact; return its timings."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
    for field in ("title", "content"):
        builder.add_text_field(field, stored=True, tokenizer_name="stemmed")
        builder.add_text_field(f"{field}_exact", stored=False, tokenizer_name="exact")
    index = tantivy.Index(builder.build(), folder)
    for name in ("stemmed", "exact"):
        splitter = (
            tantivy.Tokenizer.regex(WORD_RULE)
            if tokenizer == "rule"
            else tantivy.Tokenizer.simple()
        )
        analyzer = (
            tantivy.TextAnalyzerBuilder(splitter)
            .filter(tantivy.Filter.lowercase())
            .filter(tantivy.Filter.ascii_fold())
        )
        if name == "stemmed":
            analyzer = analyzer.filter(tantivy.Filter.stemmer("english"))
        index.register_tokenizer(name, analyzer.build())
    writer = index.writer(HEAP_BYTES, THREADS)
    with open(passages, "rb") as lines:
        parsed = [orjson.loads(line) for line in lines]
    began, cpu = time.perf_counter(), time.process_time()
    for passage in parsed:
        title, text = passage["title"], passage["text"]
        writer.add_document(
            tantivy.Document(
                id=passage["id"], title=title, title_exact=title, content=text, content_exact=text
            )
        )
    writer.commit()
    writer.wait_merging_threads()
    return {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - cpu}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(build(*sys.argv[1:4])))
