"""Files of counts and published word lists.

- Files of counts: Parquet, read in batches. Several languages share one table with a column ``language``.
- Frequent pre-tokens: those with a minimum count, and the share of the text that the others make up.
- Word lists: pre-token counts published as two files, words and counts. Format of the data of Lim, Choo and Lauw, "A
  partition cover approach to tokenization" (2025). Their words spell a space as U+0120; its two bytes C4 A0 are not
  converted, as in their experiments.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tokbench.corpus.languages import by_tag
from tokbench.errors import TokbenchError
from tokbench.io.numbers import LARGEST_BYTES, whole_number
from tokbench.io.parquet import column_names, parquet, pieces
from tokbench.io.text_files import is_parquet, read_bytes
from tokbench.kernels.count import Counter
from tokbench.pretokens import TOO_MUCH, PretokenCounts
from tokbench.pretokens.count import merge_counts
from tokbench.pretokens.tables import BATCH, Verification, columns, read_table, read_tsv, scheme_of, write_table
from tokbench.runtime.memory_limit import RESERVE, resident_bytes
from tokbench.runtime.memory_limit import require as require_megabytes
from tokbench.runtime.memory_model import CountProfile, measurement_name, require

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

REMEDY = "correct the path"
WORD_BYTES, COPIES = 340, 4
"""Memory per word, and per byte of a word, in bytes. Measured: 380 bytes per word for words of 12 bytes."""


def read_word_list(words: Path | str, counts: Path | str, megabytes: int | None = None) -> PretokenCounts:
    """Read words and their counts from two files, each plain or compressed.

    Args:
        words: Words in UTF-8, separated by single spaces. Other white space is part of a word.
        counts: One integer per line, in the order of the words.
        megabytes: Memory limit of the process in MB (10**6 bytes; default: no limit).

    Raises:
        TokbenchError: the words need more memory, a file cannot be read, a line is not a count, a word is empty or
            repeated, or the numbers of words and counts differ. The message names file and record.
    """
    text = read_bytes(Path(words), REMEDY)
    memory = resident_bytes() + RESERVE + WORD_BYTES * (text.count(b" ") + 1) + COPIES * len(text)
    require_megabytes("this list of words", memory, megabytes, "pass a Parquet table, which is read in batches")
    spellings = text.split(b" ")
    numbers = read_bytes(Path(counts), REMEDY).splitlines()
    if len(spellings) != len(numbers):
        raise TokbenchError(
            f"{words}: {len(spellings)} words, but {counts} has {len(numbers)} lines; provide one count per word"
        )
    pairs: dict[bytes, int] = {}
    for record, (word, line) in enumerate(zip(spellings, numbers, strict=True), 1):
        if not word or word in pairs:
            fault = "is empty" if not word else f"{word[:60].decode(errors='replace')!r} is repeated"
            raise TokbenchError(f"{words}: word {record} {fault}; list each word once, separated by single spaces")
        try:
            pairs[word] = whole_number(line.strip().decode(), 0, LARGEST_BYTES)
        except ValueError:
            excerpt = line[:60].decode(errors="replace")
            raise TokbenchError(f"{counts}:{record}: {excerpt!r} is not a count; correct it") from None
    try:
        return PretokenCounts.from_pairs(pairs.items())
    except OverflowError as error:
        raise TokbenchError(f"{counts}: {error}; {TOO_MUCH}") from None


Arrays = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]


def read_parts(path: Path | str) -> tuple[str | None, Iterator[tuple[str, Arrays]]]:
    """Return the pre-tokenization of a file of counts, and an iterator over its rows by language.

    The arrays are those of :meth:`tokbench.pretokens.PretokenCounts.merged`.

    Raises:
        TokbenchError: the file is missing or is not a file of counts; the message names it.
    """
    path = Path(path)
    if not path.is_file():
        raise TokbenchError(f"{path}: no such file of pre-token counts; make one with 'tokbench count'")
    if not is_parquet(path):
        return None, _of_tsv(path)
    with _open(path) as file:
        return scheme_of(file.schema_arrow), _of_parquet(path)


def _open(path: Path) -> "AbstractContextManager[pq.ParquetFile]":
    return parquet(path, "a readable file of pre-token counts", "make it again", in_pieces=True)


def _of_tsv(path: Path) -> Iterator[tuple[str, Arrays]]:
    pairs = read_tsv(path)
    while rows := list(islice(pairs, BATCH)):
        data = np.frombuffer(b"".join(token for token, _ in rows), np.uint8)
        offsets = np.cumsum([0, *(len(token) for token, _ in rows)], dtype=np.int64)
        yield "", (data, offsets, np.array([count for _, count in rows], np.int64))


def _of_parquet(path: Path) -> Iterator[tuple[str, Arrays]]:
    import pyarrow as pa

    with _open(path) as file:
        verification = Verification(path, file)
        present = [name for name in ("language", "pretoken", "count") if name in file.schema_arrow.names]
        for batch in pieces(file, present, BATCH):
            table = pa.Table.from_batches([batch])
            verification.add(table)
            if "language" not in present:
                yield "", columns(table)
                continue
            for language, part in _by_language(table):
                yield language, columns(part)
        verification.end()


def write_languages(counts: Mapping[str, PretokenCounts], path: Path | str) -> PretokenCounts:
    """Write the counts of each language into one file, atomically, and return their sum.

    The table has the columns ``language``, ``pretoken`` and ``count``, sorted by language tag. If some documents have a
    language, those without one are counted as ``und``. If none has, the table is that of
    :meth:`tokbench.pretokens.PretokenCounts.write`. Readers that ignore languages read the sum from either table.

    Raises:
        TokbenchError: there are no counts, or their pre-tokenizations differ.
    """
    import pyarrow as pa

    counts = by_tag(counts, _sum)
    whole = merge_counts(counts.values())
    if set(counts) == {""}:
        whole.write(path)
        return whole
    write_table(pa.concat_tables([language_table(language, counts[language]) for language in sorted(counts)]), path)
    return whole


def language_table(language: str, counts: PretokenCounts) -> "pa.Table":
    """Return the counts of a language as rows of a file of counts; without the column if the language is empty."""
    import pyarrow as pa

    table = counts.to_arrow()
    return table.add_column(0, "language", pa.repeat(language, len(table))) if language else table


def has_languages(path: Path | str) -> bool:
    """Return whether a file has a column for the language; False if it is not a file of counts."""
    return Path(path).is_file() and is_parquet(path) and "language" in column_names(path)


def read_languages(path: Path | str) -> dict[str, PretokenCounts]:
    """Read the counts of each language of a file, sorted by tag. Without a column for the language the tag is empty.

    Raises:
        TokbenchError: the file is missing or is not a file of counts; the message names it.
    """
    if not has_languages(path):
        return {"": PretokenCounts.read(path)}
    return read_table(Path(path), _counts_by_language)


def all_languages(counts: Mapping[str, PretokenCounts]) -> PretokenCounts:
    """Return the sum of the counts of all languages.

    Raises:
        TokbenchError: as :func:`tokbench.pretokens.count.merge_counts`.
    """
    parts = list(counts.values()) or [PretokenCounts.from_pairs([])]
    return parts[0] if len(parts) == 1 else merge_counts(parts)


def _by_language(table: "pa.Table") -> "Iterator[tuple[str, pa.Table]]":
    """Yield each language with its rows, in order of the tags."""
    import pyarrow as pa
    import pyarrow.compute as pc

    tags = table["language"].cast(pa.string())
    if tags.null_count:
        raise ValueError("a language is missing")
    for language in sorted(pc.unique(tags).to_pylist()):
        yield language, table.filter(pc.equal(tags, language))


def _counts_by_language(table: "pa.Table") -> dict[str, PretokenCounts]:
    counts = {language: PretokenCounts.from_arrow(part) for language, part in _by_language(table)}
    return dict(sorted(by_tag(counts, _sum).items()))


def _sum(first: PretokenCounts, second: PretokenCounts) -> PretokenCounts:
    return merge_counts([first, second])


def check_stage(
    stage: str, path: str, megabytes: int | None, *, longest: int | None = None, max_pretoken_bytes: int | None = None
) -> None:
    """Check that a stage fits into the memory limit, before the counts are loaded.

    Args:
        stage: Name of the stage.
        path: File of counts.
        megabytes: Memory limit in MB; no check if None.
        longest: Length of the longest substring considered, in bytes (default: no limit).
        max_pretoken_bytes: Length of the longest pre-token that the stage loads, in bytes (default: no limit).

    Raises:
        TokbenchError: the stage needs more memory, or the file is not a file of counts.
    """
    if megabytes is not None:
        _, parts = read_parts(path)
        batches = ((np.diff(offsets), counts) for _, (_, offsets, counts) in parts)
        profile = CountProfile.of(batches, 1, longest, max_pretoken_bytes)
        require([measurement_name(stage, has_languages(path))], profile, 1, megabytes, whole=True)


@dataclass(frozen=True, slots=True)
class DroppedPretokens:
    """Pre-tokens below the minimum count, which construction ignores.

    Attributes:
        least: Minimum count.
        unique: Number of unique pre-tokens below it.
        pretokens: Their share of the pre-tokens of the text.
        bytes: Their share of the bytes of the text.
    """

    least: int
    unique: int
    pretokens: float
    bytes: float

    def recipe(self) -> dict[str, Any]:
        """Return the entries of a tokenizer's origin."""
        shares = {"unique_pretokens": self.unique, "pretokens": self.pretokens, "bytes": self.bytes}
        return {"min_count": self.least, "left_out": shares}

    def line(self) -> str:
        return (
            f"left out {self.unique:,} unique pre-tokens seen less than {self.least:,} times: "
            f"{self.pretokens:.2%} of the pre-tokens and {self.bytes:.2%} of the bytes of the text"
        )


def read_min_count(path: Path | str, least: int) -> tuple[PretokenCounts, DroppedPretokens]:
    """Read the pre-tokens of a file of counts that occur ``least`` times or more.

    If the file is in canonical order, the other pre-tokens are never in memory.

    Raises:
        TokbenchError: the file is missing or is not a file of counts; the message names it.
    """
    counter, unique, total, total_bytes, last = Counter(), 0, 0, 0, None
    scheme, parts = read_parts(path)
    for language, (data, offsets, counts) in parts:
        if language or not _descend(last, counts):
            complete = PretokenCounts.read(path)
            return _without_rare(complete, least)
        frequent = int(np.searchsorted(-counts, -least, side="right"))
        try:
            counter.add_pretokens(data, offsets[: frequent + 1], counts[:frequent])
        except OverflowError as error:
            raise TokbenchError(f"{path}: {error}; {TOO_MUCH}") from None
        unique += int((counts > 0).sum())
        total += int(counts.sum())
        total_bytes += int(np.diff(offsets) @ counts)
        last = counts[-1] if len(counts) else last
    data, offsets, counts = counter.counts()
    result = PretokenCounts(data, offsets, counts, scheme)
    return result, _left_out(result, least, unique, total, total_bytes)


def _descend(last: Any, counts: Any) -> bool:
    return not len(counts) or ((last is None or counts[0] <= last) and bool((counts[1:] <= counts[:-1]).all()))


def _without_rare(counts: PretokenCounts, least: int) -> tuple[PretokenCounts, DroppedPretokens]:
    number = int(np.searchsorted(-counts.counts, -least, side="right"))
    end = counts.offsets[number]
    frequent = PretokenCounts(
        counts.data[:end].copy(), counts.offsets[: number + 1].copy(), counts.counts[:number].copy(), counts.scheme
    )
    return frequent, _left_out(frequent, least, len(counts), counts.total, counts.total_bytes)


def _left_out(frequent: PretokenCounts, least: int, unique: int, total: int, total_bytes: int) -> DroppedPretokens:
    return DroppedPretokens(
        least,
        unique - len(frequent),
        1 - frequent.total / total if total else 0.0,
        1 - frequent.total_bytes / total_bytes if total_bytes else 0.0,
    )
