"""Texts in a column of Parquet."""

import itertools
from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from tokbench.allowance import Largest
from tokbench.corpus.nested import column_of, steps_of, type_of
from tokbench.corpus.parts import WHOLE, Span, row_groups
from tokbench.errors import TokbenchError, listed
from tokbench.inputs.parquet import batches, is_text, parquet, raw, strings, views

REMEDY = "fetch or make the file again"
AROUND = 1 << 16
"""Bytes of a column in Parquet that may be none of its texts."""
COPIES = 3
"""Bytes in memory for each of a row that is cut: a page, a dictionary and the column of Arrow, or a line of JSON, its
text and the parts of that."""
Row = tuple[str, bytes | memoryview]
"""Language tag, empty where nothing tells one, and text."""


def texts_of_rows(
    path: Path,
    text_field: str,
    language_field: str | None,
    largest: Largest | None,
    span: Span = WHOLE,
    longest: int | None = None,
) -> Iterator[Row]:
    """Language tags, empty where there is none, and texts of a file's rows.

    Arrow gives a text as a whole. One that is to be cut comes as a view of where Arrow holds it.

    Args:
        path: the file.
        text_field: column of the text, or the path to a field of a structure with dots between its names.
        language_field: column of the language tag, likewise.
        largest: the longest text that is taken; any where left out.
        span: how much of the file is read.
        longest: bytes of a text above which it is cut by who reads it; none is where left out.

    Raises:
        TokbenchError: the file cannot be read, or a text is longer than ``largest``; the message names file and row.
    """
    if longest is not None and largest is not None:
        largest = largest.of_copies(COPIES)
    columns = [text_field] + ([language_field] if language_field else [])
    with parquet(path, "readable as Parquet", REMEDY, in_pieces=True) as file:
        names = file.schema_arrow.names
        steps = {column: steps_of(column, names) for column in columns}
        for column in columns:
            kind = type_of(file.schema_arrow, steps[column])
            if kind is None:
                raise TokbenchError(f"{path}: no column '{column}' (there are {listed(names)})")
            if not is_text(kind):
                raise TokbenchError(f"{path}: column '{column}' holds {kind}, not text; name another")
        groups = row_groups(file.metadata, span)
        if largest is not None:
            _check_groups(path, file, groups, text_field, largest)
        numbers = itertools.count(1 + sum(file.metadata.row_group(group).num_rows for group in range(groups.start)))

        def text(language: str | None, cell: bytes | memoryview | None) -> Row:
            number = next(numbers)
            if cell is None:
                raise TokbenchError(f"{path}: row {number} has no text in column '{text_field}'; fill or drop it")
            if largest is not None:
                largest.check(f"{path}: row {number}", len(cell))
            return language or "", cell

        def texts(batch: Any) -> Iterator[Row]:
            languages = strings(column_of(batch, steps[language_field])) if language_field else repeat("")
            return map(text, languages, _cells(column_of(batch, steps[text_field]), longest))

        yield from chain.from_iterable(map(texts, batches(file, columns, groups=groups)))


def _cells(column: Any, longest: int | None) -> Iterable[bytes | memoryview | None]:
    return raw(column) if longest is None or column.nbytes <= longest else views(column)


def _check_groups(path: Path, file: Any, groups: range, column: str, largest: Largest) -> None:
    """Reject a file whose mean text of a row group is too long already, before Arrow reads it as a whole."""
    for group in groups:
        about = file.metadata.row_group(group)
        chunks = map(about.column, range(about.num_columns))
        size = sum(chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema == column)
        largest.check(f"{path}: row group {group + 1}", (size - AROUND) // max(1, about.num_rows), more=True)
