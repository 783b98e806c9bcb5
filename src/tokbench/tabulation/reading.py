"""Readers of result files as rows of declared tables; errors name file and column."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.errors import TokbenchError
from tokbench.io.json import read_result
from tokbench.io.numbers import INTEGER
from tokbench.io.text_files import first_line
from tokbench.tabulation.table import TidyTable
from tokbench.tokenizer.folder import OWN

AGAIN = "make the result again"
HEAD = ("variant", "size", "model", "suite", "corpus")
"""Keys of a result that are columns of its tables."""
Row = Mapping[str, Any]
"""Values by column name."""


def is_run(folder: Path) -> bool:
    """Return True if the folder's name is the size in a path MODEL/VARIANT/SIZE."""
    return len(folder.parts) > 2 and (folder.name == OWN or INTEGER.fullmatch(folder.name) is not None)


def run_of(folder: Path, own_sizes: Mapping[str, int]) -> tuple[str, str, int]:
    """Return model, variant and vocabulary size of a folder MODEL/VARIANT/SIZE.

    Args:
        folder: path of the folder.
        own_sizes: sizes of external tokenizers, by variant; their folders are named ``own``.

    Raises:
        TokbenchError: the folder is named ``own`` and its variant is not in ``own_sizes``.
    """
    model, variant, size = folder.parts[-3:]
    return model, variant, size_of(folder, size, variant, own_sizes)


def size_of(path: Path | str, size: int | str, variant: str, own_sizes: Mapping[str, int]) -> int:
    """Return the vocabulary size used in tables; ``own`` is replaced by the external tokenizer's size.

    Raises:
        TokbenchError: the size is ``own`` and the variant is not in ``own_sizes``.
    """
    if size != OWN:
        return int(size)
    if variant not in own_sizes:
        raise TokbenchError(f"{path}: the size of '{variant}' is not known; name its tokenizer with --tokenizer")
    return own_sizes[variant]


def require_key(content: Any, key: str, path: Path | str, kind: type = object) -> Any:
    """Return the value of a key.

    Raises:
        TokbenchError: the key is missing or its value has another type; the message names file and key.
    """
    if not isinstance(content, dict) or key not in content:
        raise TokbenchError(f"{path}: no key {key}; {AGAIN}")
    if not isinstance(content[key], kind):
        raise TokbenchError(f"{path}: {key} is {type(content[key]).__name__}, not {kind.__name__}; {AGAIN}")
    return content[key]


def table_of_results(
    paths: Iterable[Path | str], table: TidyTable, rows: Callable[[Any], Iterable[Row]], *order: str
) -> pl.DataFrame:
    """Return the rows of results as one declared table. Results are read one at a time to save memory.

    Args:
        paths: JSON files, in any order.
        table: the declared table.
        rows: see :func:`frame_of_result`.
        order: columns to sort by; rows that are equal in them keep their order (default: none, the order of files).

    Raises:
        TokbenchError: see :func:`frame_of_result`.
    """
    frame = pl.concat(
        [pl.DataFrame(schema=table.schema), *(frame_of_result(path, table, rows) for path in map(Path, paths))]
    )
    return frame.sort(*order, maintain_order=True) if order else frame


def frame_of_result(path: Path, table: TidyTable, rows: Callable[[Any], Iterable[Row]]) -> pl.DataFrame:
    """Return the rows of one result with the columns of a declared table.

    Args:
        path: JSON file.
        table: the declared table.
        rows: function from the result to its rows by column name. Names that are not columns are ignored. A row may
            leave out the columns of :data:`HEAD`, which are keys of the result.

    Raises:
        TokbenchError: the file is not a result, or a column is missing or has values of another type; the message
            names the file and the column.
    """
    return frame_of_rows(path, table, _rows_with_head(read_result(path, AGAIN, lenient=True), rows))


def _rows_with_head(result: Any, rows: Callable[[Any], Iterable[Row]]) -> Iterator[Row]:
    """Yield the rows of a result with the columns of :data:`HEAD`. A fault of the result is met by the first row."""
    head = {key: result[key] for key in HEAD if key in result}
    for row in rows(result):
        yield {**head, **row}


def frame_of_rows(path: Path, table: TidyTable, rows: Iterable[Row]) -> pl.DataFrame:
    """Return rows that were read from a file with the columns of a declared table.

    Raises:
        TokbenchError: see :func:`frame_of_result`.
    """
    column = ""
    try:
        listed = list(rows)
        columns = []
        for column, dtype in table.schema.items():
            columns.append(pl.Series(column, [row[column] for row in listed], dtype))
    except KeyError as error:
        raise TokbenchError(f"{path}: no key {error.args[0]} for table {table.name}; {AGAIN}") from None
    except (TypeError, ValueError, AttributeError, IndexError, OverflowError, pl.exceptions.PolarsError) as error:
        place = f"{table.name}.{column}" if column else table.name
        raise TokbenchError(f"{path}: a value of the wrong type for {place} ({first_line(error)}); {AGAIN}") from None
    return pl.DataFrame(columns)


def rows_of_lists(content: Any, names: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of lists of equal length, which are keys of a mapping.

    Raises:
        KeyError: a list is missing.
        ValueError: the lists differ in length.
    """
    for values in zip(*(content[name] for name in names), strict=True):
        yield dict(zip(names, values, strict=True))
