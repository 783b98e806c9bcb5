"""Helpers that read result files key by key into rows of a table; errors name file and key."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.errors import TokbenchError
from tokbench.io.json import read_result
from tokbench.io.numbers import WHOLE
from tokbench.io.text_files import first_line
from tokbench.tokenizer.folder import OWN

AGAIN = "make the result again"
HEAD = ("variant", "size", "model", "suite")
"""Keys that identify a downstream result."""


def is_run(folder: Path) -> bool:
    """Return True if the folder's name is the size in a path MODEL/VARIANT/SIZE."""
    return len(folder.parts) > 2 and (folder.name == OWN or WHOLE.fullmatch(folder.name) is not None)


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


def require_key(content: Any, key: str, path: Path | str, within: str = "", kind: type = object) -> Any:
    """Return the value of a key.

    Raises:
        TokbenchError: the key is missing or its value has another type; the message names file and key.
    """
    if not isinstance(content, dict) or key not in content:
        raise TokbenchError(f"{path}: no key {within}{key}; {AGAIN}")
    if not isinstance(content[key], kind):
        raise TokbenchError(f"{path}: {within}{key} is {type(content[key]).__name__}, not {kind.__name__}; {AGAIN}")
    return content[key]


def to_frame(rows: list[tuple[Any, ...]], schema: dict[str, Any], path: Path | str) -> pl.DataFrame:
    """Return rows as a frame, with NaN replaced by null.

    Raises:
        TokbenchError: a value has another type; the message names the file.
    """
    try:
        frame = pl.DataFrame(rows, schema=schema, orient="row")
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise TokbenchError(f"{path}: a value of the wrong type ({first_line(error)}); {AGAIN}") from None
    return frame.with_columns(pl.col(pl.Float64).fill_nan(None))


def read_long_format(files: Iterable[Path | str], schema: dict[str, Any]) -> pl.DataFrame:
    """Read files with one value for each identifying column and one list for each other column.

    Rows are sorted by corpus, size, variant and the first list.

    Args:
        files: JSON files, in any order.
        schema: schema of the rows; ``variant``, ``size`` and ``corpus`` come first, then the column that identifies a
            row.

    Raises:
        TokbenchError: a file is not JSON, a key is missing, or a value has another type; the message names it.
    """
    head, lists = list(schema)[:3], list(schema)[3:]
    frames = [to_frame([], schema, "")]
    for path in files:
        content = read_result(path, AGAIN, lenient=True)
        of = tuple(require_key(content, key, path) for key in head)
        columns = [require_key(content, key, path, kind=list) for key in lists]
        frames.append(to_frame([(*of, *row) for row in zip(*columns, strict=False)], schema, path))
    return pl.concat(frames).sort("corpus", "size", "variant", lists[0])
