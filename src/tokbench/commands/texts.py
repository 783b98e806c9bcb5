"""Documents of the files that are named on the command line."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tokbench.corpus.documents import Document
from tokbench.corpus.read import read_source
from tokbench.corpus.sources import JsonLinesSource, ParquetSource, Source, TextSource
from tokbench.registry import TokbenchError


def documents_of(files: Sequence[str]) -> Iterator[Document]:
    """Documents of files told apart by name: JSON Lines, Parquet, else text; each may be gzip or zstd."""
    for file in files:
        if not Path(file).exists():
            raise TokbenchError(f"{file}: no such file")
        yield from read_source(_source(file))


def _source(file: str) -> Source:
    name = file.removesuffix(".gz").removesuffix(".zst")
    if name.endswith((".jsonl", ".ndjson")):
        return JsonLinesSource(type="jsonl", path=[file])
    if name.endswith(".parquet"):
        return ParquetSource(type="parquet", path=[file], language_field="language" if _tells_languages(file) else None)
    return TextSource(type="text", path=[file])


def _tells_languages(file: str) -> bool:
    try:
        return "language" in pq.read_schema(file).names
    except (OSError, pa.ArrowException):
        return False  # Whoever reads it says what is wrong with it.
