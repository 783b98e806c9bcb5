"""Download of corpora and parallel corpora from the Hugging Face hub. Only this module needs network access."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tokbench.corpus.limits import within_limits
from tokbench.corpus.parallel import FetchedPairs
from tokbench.corpus.parallel_read import Pair, side_of
from tokbench.corpus.reading import RecordRule
from tokbench.corpus.sources import HubDataset, HubSource
from tokbench.errors import TokbenchError, listed
from tokbench.io.atomic import atomic_file
from tokbench.io.encodings import Notes
from tokbench.io.job_record import job_metadata
from tokbench.io.parquet import steps_of

SCHEMA = pa.schema([("text", pa.large_binary()), ("language", pa.string())])
ROWS = 1000
NO_VALUE = object()


def fetch(source: HubSource, output: Path, notes: Notes) -> int:
    """Stream a data set at its pinned revision into one Parquet file with columns ``text`` and ``language``.

    Args:
        source: the data set, and its limits.
        output: the file.
        notes: counter of rows without text that are left out.

    Returns:
        Number of documents written.

    Raises:
        TokbenchError: the hub, the data set or a column is not available.
    """
    with rows_of(source) as rows:
        return _write(_documents(rows, source, notes), output)


@contextmanager
def rows_of(source: HubDataset) -> Iterator[Iterable[dict[str, Any]]]:
    """Stream the rows of a data set at its revision, without running code from the data set.

    Raises:
        TokbenchError: any error inside the block, as one line that names the data set.
    """
    from datasets import load_dataset

    try:
        yield load_dataset(
            source.dataset,
            source.config,
            split=source.split,
            revision=source.revision,
            streaming=True,
            trust_remote_code=False,
        )
    except TokbenchError:
        raise
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise TokbenchError(f"{source.dataset} at {source.revision[:8]}: cannot be fetched ({reason})") from error


def _documents(rows: Iterable[dict[str, Any]], source: HubSource, notes: Notes) -> Iterator[tuple[bytes, str]]:
    """Yield text and language of the documents within the source's limits."""
    read = filter(None, (_document(number, row, source, notes) for number, row in enumerate(rows, 1)))
    return ((text, language or "") for language, text in within_limits(source, read))


def _document(number: int, row: dict[str, Any], source: HubSource, notes: Notes) -> tuple[str, bytes] | None:
    """Return language and text of a row, None if it is left out. Rows are numbered from 1; a dot in a column name leads
    into a structure."""
    text = _value(row, source.text_field)
    if text is NO_VALUE:
        raise TokbenchError(f"{source.dataset}: no column '{source.text_field}' (there are {listed(row)})")
    language = _value(row, source.language_field) if source.language_field else None
    if not isinstance(text, str | bytes):
        rule = RecordRule(source.bad_lines == "skip", notes)
        rule.reject(f"{source.dataset}: row {number}", f"no text under '{source.text_field}'", rule.other_field)
        return None
    encoded = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return str((None if language is NO_VALUE else language) or source.language), encoded


def _value(row: dict[str, Any], field: str) -> Any:
    value: Any = row
    for step in steps_of(field, row):
        if not isinstance(value, dict) or step not in value:
            return NO_VALUE
        value = value[step]
    return value


def _write(documents: Iterator[tuple[bytes, str]], output: Path) -> int:
    written = 0
    with (
        atomic_file(output) as partial,
        pq.ParquetWriter(partial, SCHEMA, compression="zstd", write_page_checksum=True) as writer,
    ):
        writer.add_key_value_metadata(job_metadata())
        batch: list[tuple[bytes, str]] = []
        for document in documents:
            batch.append(document)
            if len(batch) == ROWS:
                writer.write_batch(_batch(batch))
                written += len(batch)
                batch = []
        if batch:
            writer.write_batch(_batch(batch))
    return written + len(batch)


def _batch(documents: list[tuple[bytes, str]]) -> pa.RecordBatch:
    columns = zip(*documents, strict=True)
    return pa.record_batch(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], SCHEMA
    )


def fetch_pairs(pairs_to_fetch: FetchedPairs, output: Path) -> int:
    """Stream a data set at its pinned revision into one Parquet file with a binary column for each language.

    The sides are written unchanged; :func:`~tokbench.corpus.parallel_prepare.prepare_parallel` cleans them.

    Returns:
        Number of pairs written.

    Raises:
        TokbenchError: the hub, the data set or a column is not available.
    """
    schema = pa.schema([(language, pa.large_binary()) for language in pairs_to_fetch.languages])
    written = 0
    with (
        rows_of(pairs_to_fetch.source) as rows,
        atomic_file(output) as partial,
        pq.ParquetWriter(partial, schema, compression="zstd", write_page_checksum=True) as writer,
    ):
        writer.add_key_value_metadata(job_metadata())
        pairs = _pairs(rows, pairs_to_fetch)
        while batch := list(islice(pairs, ROWS)):
            columns = zip(*batch, strict=True)
            writer.write_batch(pa.record_batch([pa.array(side, pa.large_binary()) for side in columns], schema))
            written += len(batch)
    return written


def _pairs(rows: Any, pairs_to_fetch: FetchedPairs) -> Iterator[Pair]:
    source = pairs_to_fetch.source
    fields = [source.fields.get(language, language) for language in pairs_to_fetch.languages]
    for number, row in enumerate(rows, 1):
        place = f"{source.dataset}: row {number}"
        first, second = (side_of(row, field, place, "choose another revision") for field in fields)
        yield first, second
