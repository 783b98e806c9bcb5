"""Reading of sentence pairs from lines, TMX and formats of records, and the prepared files of a parallel corpus.

A prepared split is one Parquet file with a row per pair and a column per language.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, ParseError, iterparse

import numpy as np

from tokbench.corpus.formats import corpus_formats
from tokbench.corpus.parallel import AnyPairs, HubPairs, LinePairs, RecordPairs, TmxPairs
from tokbench.corpus.reading import Reading, RecordRule, RowFields
from tokbench.corpus.sources import type_of
from tokbench.errors import TokbenchError, listed_files
from tokbench.io.arrow import number_column, text_column
from tokbench.io.parquet import parquet, read_rows, require, steps_of, strings
from tokbench.io.text_files import first_line, opened, read_lines

REMEDY = "fetch or make the file again"
CODES = {"bpt", "ept", "it", "ph", "ut"}
"""Elements of a segment that contain markup codes (TMX 1.4b, section 3)."""
Pair = tuple[bytes, bytes]
PAIRS_ROWS = 20_000
"""Maximum pairs in a row group."""
GROUP_BYTES = 32_000_000
"""Bytes of text at which a row group ends, more than 20,000 ordinary sentences have."""
WRITING_BYTES = 100_000_000
"""Bytes of memory for writing: text in Python, in Arrow and compressed."""
CONTENT = "a split of a parallel corpus"
PAIRS_REMEDY = "prepare the parallel corpus again"


def read_pairs(source: AnyPairs, languages: tuple[str, str]) -> Iterator[Pair]:
    """Yield the two sides of each pair in file order, without surrounding whitespace; a missing side is empty.

    Args:
        source: options of the source.
        languages: language of the first side and of the second.

    Raises:
        TokbenchError: a file cannot be read, or files of lines differ in length; the message names them. Also if pairs
            of a hub were not downloaded.
    """
    match source:
        case HubPairs():
            raise TokbenchError(
                f"{source.dataset}: pairs of a hub are read from the file that 'tokbench fetch_pairs' made; name it"
            )
        case LinePairs():
            pairs = _lines(source, languages)
        case TmxPairs():
            pairs = chain.from_iterable(_tmx(file, languages) for file in source.files())
        case RecordPairs():
            name = type_of(source)
            fields = RowFields(tuple(source.fields.get(language, language) for language in languages))
            pairs = chain.from_iterable(_records(file, name, fields) for file in source.files())
    return ((first.strip(), second.strip()) for first, second in pairs)


def _lines(source: LinePairs, languages: tuple[str, str]) -> Iterator[Pair]:
    alone = [LinePairs(type="lines", path={language: source.path[language]}).files() for language in languages]
    sides = [chain.from_iterable(read_lines(file, REMEDY) for file in files) for files in alone]
    for number, (first, second) in enumerate(zip_longest(*sides)):
        if first is None or second is None:
            shorter, longer = (alone[0], alone[1]) if first is None else (alone[1], alone[0])
            raise TokbenchError(
                f"{listed_files(shorter)}: ends after {number:,} lines, and {listed_files(longer)} goes on; "
                "pairs are lines with the same number, so give files of the same length"
            )
        yield first, second


def _tmx(path: Path, languages: tuple[str, str]) -> Iterator[Pair]:
    with opened(path, REMEDY) as file:
        around: list[Element] = []
        try:
            for event, element in iterparse(file, ("start", "end")):
                if event == "start":
                    around.append(element)
                    continue
                around.pop()
                if _name(element) == "tu":
                    sides = {_side(variant, languages): variant for variant in element if _name(variant) == "tuv"}
                    yield _segment(sides.get(languages[0])), _segment(sides.get(languages[1]))
                    if around:  # Finished units are removed from the tree to free memory.
                        around[-1].remove(element)
        except ParseError as error:
            raise TokbenchError(f"{path}: not TMX ({first_line(error)}); {REMEDY}") from None


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _side(variant: Element, languages: tuple[str, str]) -> str:
    """Return the language of a TMX variant without regard to country codes; empty if it is neither."""
    tag = variant.get("{http://www.w3.org/XML/1998/namespace}lang") or variant.get("lang") or ""
    plain = tag.lower().replace("_", "-")
    for language in languages:
        prefix = language.lower().replace("_", "-")
        if plain == prefix or plain.startswith(prefix + "-"):
            return language
    return ""


def _segment(variant: Element | None) -> bytes:
    if variant is None:
        return b""
    segments = [element for element in variant if _name(element) == "seg"]
    return _text(segments[0]).encode() if segments else b""


def _text(element: Element) -> str:
    parts = [element.text or ""]
    for inner in element:
        if _name(inner) not in CODES:
            parts.append(_text(inner))
        parts.append(inner.tail or "")
    return "".join(parts)


def _records(path: Path, name: str, fields: RowFields) -> Iterator[Pair]:
    """Yield the pairs of a file of records; a null text is empty, and a bad record is an error."""
    method = corpus_formats[name]
    rule = RecordRule(skip="", other_field="name another under fields")
    read: Callable[..., Any] = method.function
    for row in read(path, fields, method.source(), Reading(rule=rule)):
        first, second = row.texts
        yield bytes(first or b""), bytes(second or b"")


def side_of(row: Any, field: str, place: str, remedy: str) -> bytes:
    """Return the text under a key of a mapping; empty if it is null. A dot in the key leads into a nested mapping.

    Raises:
        TokbenchError: the key is missing, or its value is not text; the message begins with the place and ends with the
            remedy.
    """
    value = row
    for step in steps_of(field, row if isinstance(row, dict) else ()):
        if not isinstance(value, dict) or step not in value:
            raise TokbenchError(f"{place}: nothing under '{field}'; {remedy}, or name another under fields")
        value = value[step]
    if not isinstance(value, str | None):
        raise TokbenchError(f"{place}: no text under '{field}'; {remedy}, or name another under fields")
    return (value or "").encode("utf-8", "surrogatepass")


class Sentences(NamedTuple):
    """A split: numbers of the pairs in their source, and the two sides in the same order."""

    pairs: list[int]
    source: list[str]
    target: list[str]


@contextmanager
def pair_writer(path: Path, languages: tuple[str, str]) -> Iterator[Any]:
    """Return a context with a function that writes the number of a pair and the pair to a file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([("pair", pa.int64()), *((language, pa.large_string()) for language in languages)])
    rows: list[tuple[int, str, str]] = []
    size = 0
    # Rows are collected up to the size of a row group.
    with pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True) as writer:

        def flush() -> None:
            nonlocal size
            size = 0
            if rows:
                numbers, *sides = zip(*rows, strict=True)
                columns = [
                    number_column(np.array(numbers, np.int64)),
                    *(text_column(side, large=True) for side in sides),
                ]
                writer.write_table(pa.table(columns, schema=schema))
                rows.clear()

        def write(number: int, pair: Pair) -> None:
            nonlocal size
            rows.append((number, pair[0].decode(), pair[1].decode()))
            size += len(pair[0]) + len(pair[1])
            if len(rows) == PAIRS_ROWS or size >= GROUP_BYTES:
                flush()

        yield write
        flush()


def read_sentences(path: Path | str, source: str, target: str) -> Sentences:
    """Read a split into memory.

    Raises:
        TokbenchError: it is missing or damaged, or lacks one of the languages.
    """
    with parquet(path, CONTENT, PAIRS_REMEDY) as file:
        require(file.schema_arrow, pair="whole numbers", **{source: "text", target: "text"})
        table = read_rows(file, ["pair", source, target])
        sides = [[_require_text(cell) for cell in strings(table.column(name))] for name in (source, target)]
        return Sentences(table.column("pair").to_pylist(), *sides)


def languages_in(path: Path | str) -> list[str]:
    """Return the languages of a split in the order of its columns."""
    with parquet(path, CONTENT, PAIRS_REMEDY) as file:
        return [name for name in file.schema_arrow.names if name != "pair"]


def _require_text(cell: str | None) -> str:
    if cell is None:
        raise ValueError("a pair has no text on one side")
    return cell


def check_pairs(pairs: Iterable[Pair], split: str) -> Iterator[Pair]:
    """Yield the pairs of a split that is not cleaned, and validate them.

    Raises:
        TokbenchError: a side is empty or not UTF-8, or there are no pairs; the message names split and pair.
    """
    number = 0
    for number, pair in enumerate(pairs, 1):
        for side in pair:
            try:
                side.decode()
            except UnicodeDecodeError:
                raise TokbenchError(f"{split}: pair {number} is not UTF-8; correct it") from None
            if not side:
                raise TokbenchError(f"{split}: pair {number} has an empty side; fill or drop it in both files")
        yield pair
    if not number:
        raise TokbenchError(f"{split}: no pairs; name files that contain some")
