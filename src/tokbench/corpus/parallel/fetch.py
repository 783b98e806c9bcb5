"""Fetching pairs of sentences from the Hugging Face hub."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tokbench.atomic import atomic_file
from tokbench.corpus.fetch import rows_of
from tokbench.corpus.parallel.read import Pair, side_of
from tokbench.corpus.parallel.sources import FetchedPairs

ROWS = 1000
"""Pairs in a row group."""


def fetch_pairs(wanted: FetchedPairs, output: Path) -> int:
    """Stream a data set at its pinned revision into one Parquet file with a binary column for each language.

    Sides are as the hub has them; cleaning is left to whoever prepares the corpus.

    Returns:
        Pairs written.

    Raises:
        TokbenchError: the hub, the data set or a column is not to be had.
    """
    schema = pa.schema([(language, pa.large_binary()) for language in wanted.languages])
    written = 0
    with (
        rows_of(wanted.source) as rows,
        atomic_file(output) as partial,
        pq.ParquetWriter(partial, schema, compression="zstd", write_page_checksum=True) as writer,
    ):
        pairs = _pairs(rows, wanted)
        while batch := list(islice(pairs, ROWS)):
            columns = zip(*batch, strict=True)
            writer.write_batch(pa.record_batch([pa.array(side, pa.large_binary()) for side in columns], schema))
            written += len(batch)
    return written


def _pairs(rows: Any, wanted: FetchedPairs) -> Iterator[Pair]:
    source = wanted.source
    fields = [source.fields.get(language, language) for language in wanted.languages]
    for number, row in enumerate(rows, 1):
        place = f"{source.dataset}: row {number}"
        first, second = (side_of(row, field, place, "choose another revision") for field in fields)
        yield first, second
