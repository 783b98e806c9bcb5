"""Columns of text in batches of Arrow, as formats of columns read them into rows."""

from collections.abc import Iterable, Iterator
from itertools import islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.corpus.reading import Reading, Row, RowFields
from tokbench.errors import TokbenchError, check_once, listed
from tokbench.io.parquet import column_of, is_text, raw, steps_of, type_of, views

if TYPE_CHECKING:
    import pyarrow as pa


class FieldColumns:
    """The columns of the fields that are read.

    Args:
        path: the file, for messages.
        schema: its columns.
        fields: names of the fields.

    Attributes:
        fields: names of the fields, those of texts first.
        names: names of the columns that have the fields.

    Raises:
        TokbenchError: a column is missing, is not text, or has the name of another.
    """

    def __init__(self, path: Path, schema: "pa.Schema", fields: RowFields) -> None:
        self.fields = [*fields.texts, *([fields.language] if fields.language else [])]
        self._steps = {field: steps_of(field, schema.names) for field in self.fields}
        self._language, self._texts = fields.language, fields.texts
        self._path = path
        self.names = list(dict.fromkeys(steps[0] for steps in self._steps.values()))
        check_once(path, schema.names, self.names)
        for field in self.fields:
            kind = type_of(schema, self._steps[field])
            if kind is None:
                raise TokbenchError(f"{path}: no column '{field}' (there are {listed(schema.names)})")
            if not is_text(kind):
                raise TokbenchError(f"{path}: column '{field}' has type {kind}, not text; name another")

    def column(self, batch: "pa.RecordBatch", field: str) -> Any:
        """Return the column of a field, which may be within a structure."""
        return column_of(batch, self._steps[field])

    def rows(self, columns: dict[str, Any], place: str, numbers: Iterator[int], reading: Reading) -> Iterator[Row]:
        """Yield the rows of a batch. A text that is longer than ``reading.longest`` is a view of Arrow's memory.

        Args:
            columns: the column of each field, plain or dictionary-encoded text.
            place: text before the number of a row in messages: ``row``, or a part of the file.
            numbers: numbers of the rows, from 1.
            reading: limits of a text.
        """
        texts = zip(*(_cells(columns[field], reading.longest) for field in self._texts), strict=True)
        tags = map(_tag, raw(columns[self._language])) if self._language else repeat("")
        row_numbers = map(str, islice(numbers, len(columns[self._texts[0]])))
        return map(Row, map(f"{self._path}: {place} ".__add__, row_numbers), tags, texts)


def _cells(column: Any, longest: int | None) -> Iterable[bytes | memoryview | None]:
    return raw(column) if longest is None or column.nbytes <= longest else views(column)


def _tag(language: bytes | None) -> str:
    """Return a language tag. One that is not UTF-8 gets characters that cannot be printed, so that it is no tag."""
    return language.decode("utf-8", "surrogateescape") if language else ""
