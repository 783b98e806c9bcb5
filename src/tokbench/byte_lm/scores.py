"""Files of byte scores: what every byte language model writes, whatever it is."""

import logging
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tokbench.atomic import atomic_file

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
"""Text in a row group: what is held in memory between writes."""

Row = tuple[int, str, bytes, NDArray[np.float32], NDArray[np.float32]]
Documents = Iterable[tuple[int, bytes] | tuple[int, str, bytes]]
"""(document, text) or (document, language, text) tuples, in document order."""


def write_scores(
    documents: Documents,
    score_text: Callable[[bytes], tuple[NDArray[np.float32], NDArray[np.float32]]],
    output: Path,
) -> None:
    """Score documents and write them, whole or not at all.

    Args:
        documents: what to score; the language is empty where it is not given.
        score_text: gives surprisal and entropy of each byte of one document, float32 [n] each, in nats.
        output: Parquet with columns document (int64), language (string), text (binary), surprisal and entropy (lists
            of float32).
    """
    rows: list[Row] = []
    held = done = 0
    with (
        atomic_file(output) as partial,
        pq.ParquetWriter(partial, SCHEMA, compression="zstd", write_page_checksum=True) as writer,
    ):
        for document, *languages, text in documents:
            rows.append((document, "".join(languages), text, *score_text(text)))
            held += len(text)
            if held >= ROW_GROUP_BYTES:
                writer.write_table(_table(rows))
                done += held
                log.info("scored %.1f MB, up to document %d", done / 1e6, document)
                rows, held = [], 0
        writer.write_table(_table(rows))
    log.info("scored %.1f MB in all", (done + held) / 1e6)


def _table(rows: list[Row]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(SCHEMA)
    return pa.table([pa.array(list(column), kind) for column, kind in zip(columns, SCHEMA.types, strict=True)], SCHEMA)
