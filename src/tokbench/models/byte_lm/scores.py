"""Files of byte scores, in the common format of all byte language models."""

import logging
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tokbench.io.arrow import column, ends_of, number_column, text_column
from tokbench.io.atomic import atomic_file
from tokbench.io.identity import TextDigest, metadata_of
from tokbench.io.job_record import job_metadata

log = logging.getLogger(__name__)

SCHEMA = pa.schema(
    {
        "document": pa.int64(),
        "language": pa.string(),
        "text": pa.binary(),
        "surprisal": pa.list_(pa.float32()),
        "entropy": pa.list_(pa.float32()),
    }
)

ROW_GROUP_BYTES = 4 << 20
"""Bytes of text in a row group, the unit of writing. One row group is in memory."""
Row = tuple[int, str, bytes, NDArray[np.float32], NDArray[np.float32]]
Documents = Iterable[tuple[int, bytes] | tuple[int, str, bytes]]
"""(document, text) or (document, language, text) tuples, in document order."""


def write_scores(
    documents: Documents,
    score_text: Callable[[bytes], tuple[NDArray[np.float32], NDArray[np.float32]]],
    output: Path,
    model: str,
) -> None:
    """Score documents and write the scores atomically. The file names the model, and the text by the numbers of bytes.

    Args:
        documents: documents to score. The language is empty if it is missing.
        score_text: function that returns surprisal and entropy of each byte of a document, float32 [n] each, in nats.
        output: Parquet with columns document (int64), language (string), text (binary), surprisal and entropy (lists of
            float32).
        model: digest of the model.
    """
    rows: list[Row] = []
    digest = TextDigest()
    waiting_bytes = written_bytes = 0
    with (
        atomic_file(output) as partial,
        pq.ParquetWriter(partial, SCHEMA, compression="zstd", write_page_checksum=True) as writer,
    ):
        writer.add_key_value_metadata(job_metadata())
        for document, *languages, text in documents:
            rows.append((document, "".join(languages), text, *score_text(text)))
            digest.add(text)
            waiting_bytes += len(text)
            if waiting_bytes >= ROW_GROUP_BYTES:
                writer.write_table(_table(rows))
                written_bytes += waiting_bytes
                log.info("scored %.1f MB, up to document %d", written_bytes / 1e6, document)
                rows, waiting_bytes = [], 0
        writer.write_table(_table(rows))
        writer.add_key_value_metadata(digest.metadata() | metadata_of(model=model))
    log.info("scored %.1f MB in all", (written_bytes + waiting_bytes) / 1e6)


def _table(rows: list[Row]) -> pa.Table:
    """Build the table from buffers of the rows. Arrow would convert arrays to lists of Python numbers."""
    documents, languages, texts, *lists = zip(*rows, strict=True) if rows else [()] * len(SCHEMA)
    ends = ends_of(np.fromiter(map(len, texts), np.int32, len(rows)), np.int32)
    columns = [
        number_column(np.array(documents, np.int64)),
        text_column(languages),
        column(pa.binary(), len(rows), ends, texts[0] if len(rows) == 1 else b"".join(texts)),
    ]
    for values in lists:
        joined = values[0] if len(rows) == 1 else np.concatenate([np.empty(0, np.float32), *values])
        lists_of = pa.ListArray.from_arrays(number_column(ends), number_column(joined), type=SCHEMA.types[-1])
        columns.append(lists_of)
    return pa.Table.from_arrays(columns, schema=SCHEMA)
