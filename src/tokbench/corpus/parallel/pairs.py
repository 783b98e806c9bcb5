"""Pairs of sentences on disk: one Parquet file a split, a row a pair, a column a language."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from tokbench.corpus.parallel.read import Pair
from tokbench.errors import TokbenchError
from tokbench.inputs.parquet import parquet, require, strings, whole

ROWS = 20_000
"""Pairs in a row group, at most."""
GROUP_BYTES = 32_000_000
"""Bytes of text from which on a row group ends: beyond any that twenty thousand sentences have."""
WRITING = 100_000_000
"""Bytes that writing takes, text as Python, as Arrow and compressed."""
WHAT = "a split of a parallel corpus"
REMEDY = "prepare the parallel corpus again"


class Sentences(NamedTuple):
    """A split: numbers of the pairs in their source, and the two sides in the same order."""

    pairs: list[int]
    source: list[str]
    target: list[str]


@contextmanager
def pair_writer(path: Path, languages: tuple[str, str]) -> Iterator[Any]:
    """A function that takes the number of a pair and the pair, and writes them to a file."""
    schema = pa.schema([("pair", pa.int64()), *((language, pa.large_string()) for language in languages)])
    rows: list[tuple[int, str, str]] = []
    held = 0
    with pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True) as writer:

        def flush() -> None:
            nonlocal held
            held = 0
            if rows:
                writer.write_table(pa.table([pa.array(column) for column in zip(*rows, strict=True)], schema=schema))
                rows.clear()

        def write(number: int, pair: Pair) -> None:
            nonlocal held
            rows.append((number, pair[0].decode(), pair[1].decode()))
            held += len(pair[0]) + len(pair[1])
            if len(rows) == ROWS or held >= GROUP_BYTES:
                flush()

        yield write
        flush()


def read_sentences(path: Path | str, source: str, target: str) -> Sentences:
    """A split, whole.

    Raises:
        TokbenchError: it is not there or damaged, or has not both languages.
    """
    with parquet(path, WHAT, REMEDY) as file:
        require(file.schema_arrow, pair="whole numbers", **{source: "text", target: "text"})
        table = whole(file, ["pair", source, target])
        sides = [[_there(cell) for cell in strings(table.column(name))] for name in (source, target)]
        return Sentences(table.column("pair").to_pylist(), *sides)


def languages_in(path: Path | str) -> list[str]:
    """The languages of a split, in the order of its columns."""
    with parquet(path, WHAT, REMEDY) as file:
        return [name for name in file.schema_arrow.names if name != "pair"]


def _there(cell: str | None) -> str:
    if cell is None:
        raise ValueError("a pair has no text on one side")
    return cell


def checked(pairs: Iterable[Pair], split: str) -> Iterator[Pair]:
    """The pairs of a split that is not cleaned, as they come.

    Raises:
        TokbenchError: a side is empty or not UTF-8, or there is no pair; the message names split and pair.
    """
    number = 0
    for number, pair in enumerate(pairs, 1):
        for side in pair:
            try:
                side.decode()
            except UnicodeDecodeError:
                raise TokbenchError(f"{split}: pair {number} is not UTF-8; mend it") from None
            if not side:
                raise TokbenchError(f"{split}: pair {number} has an empty side; fill or drop it in both files")
        yield pair
    if not number:
        raise TokbenchError(f"{split}: no pairs; name files that hold some")
