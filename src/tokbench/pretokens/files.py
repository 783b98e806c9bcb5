"""Files of counts read a batch at a time.

Counts of a text in several languages: one table with a column for the language, read whole or apart.

The pre-tokens of a text that are at least so frequent, and how much of the text the others are.

Word lists: pre-token counts published as two files, the words and how often each occurs.

This is the form of the data of Lim, Choo and Lauw, "A partition cover approach to tokenization" (2025): words as they
were cut there, a space spelt U+0120, which stays the two bytes C4 A0 that it is in their experiments.

Checksums of files of counts: written with the rows, verified by readers, so that rows edited by hand are noticed.

The checksum is over the rows alone. How they are divided into batches, row groups and pages does not matter.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tokbench.corpus.languages import by_tag
from tokbench.errors import TokbenchError
from tokbench.io.numbers import LARGEST_BYTES, whole_number
from tokbench.io.parquet import column_names, parquet, pieces
from tokbench.io.text_files import is_parquet, read_whole
from tokbench.kernels.count import Counter
from tokbench.pretokens import TOO_MUCH, PretokenCounts, columns, read_table, read_tsv, scheme_of, write_table
from tokbench.pretokens.count import merge_counts
from tokbench.runtime.memory_limit import RESERVE, resident
from tokbench.runtime.memory_limit import require as allowance_require
from tokbench.runtime.memory_model import CountProfile, of_languages, require

REMEDY = "correct the path"
WORD_BYTES, COPIES = 340, 4
"""Held for each word, and for each of its bytes: 380 in all were measured of words of 12 bytes."""


def read_word_list(words: Path | str, counts: Path | str, megabytes: int | None = None) -> PretokenCounts:
    """Read words and their counts from two files, either of them plain or compressed.

    Args:
        words: the words in UTF-8, a single space between one and the next; other white space belongs to words.
        counts: an integer a line, in the order of the words.
        megabytes: memory that the process may take, of 10**6 bytes; whatever it takes where None.

    Raises:
        TokbenchError: the words would take more than that, a file cannot be read, a line is not a count, a word is
            empty or stands twice, or there are more of one than of the other; the message names file and record.
    """
    text = read_whole(Path(words), REMEDY)
    taken = resident() + RESERVE + WORD_BYTES * (text.count(b" ") + 1) + COPIES * len(text)
    allowance_require("this list of words", taken, megabytes, "give a table of Parquet, which is taken in pieces")
    spelt = text.split(b" ")
    numbers = read_whole(Path(counts), REMEDY).splitlines()
    if len(spelt) != len(numbers):
        raise TokbenchError(
            f"{words}: {len(spelt)} words, but {counts} has {len(numbers)} lines; give one count for each word"
        )
    pairs: dict[bytes, int] = {}
    for record, (word, line) in enumerate(zip(spelt, numbers, strict=True), 1):
        if not word or word in pairs:
            fault = "is empty" if not word else f"{word[:60].decode(errors='replace')!r} stands there before"
            raise TokbenchError(f"{words}: word {record} {fault}; give each word once, with one space between words")
        try:
            pairs[word] = whole_number(line.strip().decode(), 0, LARGEST_BYTES)
        except ValueError:
            shown = line[:60].decode(errors="replace")
            raise TokbenchError(f"{counts}:{record}: {shown!r} is not a count; correct it") from None
    try:
        return PretokenCounts.from_pairs(pairs.items())
    except OverflowError as error:
        raise TokbenchError(f"{counts}: {error}; {TOO_MUCH}") from None


KEY = "tokbench.sha256"
"""Key of the checksum in the metadata of a file."""
COLUMNS = ("language", "pretoken", "count")
FORM: dict[str, Any] = {"compression": "zstd", "use_dictionary": ["language"], "write_page_checksum": True}
"""Options of Parquet by which files of counts are written."""
ROWS = 1 << 20
"""Rows of a row group."""
BATCH = 1 << 16
"""Rows that are read or hashed at a time."""


class Checksum:
    """SHA-256 of rows that are added a table at a time."""

    def __init__(self) -> None:
        self._parts = {name: (sha256(), sha256()) for name in COLUMNS}

    def add(self, rows: pa.Table) -> None:
        """Add rows; columns that are not in :data:`COLUMNS` are ignored."""
        present = [name for name in COLUMNS if name in rows.column_names]
        for batch in rows.select(present).to_batches(max_chunksize=BATCH):
            for name in present:
                content, lengths = self._parts[name]
                if name == "count":
                    content.update(_values(batch.column(name).cast(pa.int64())))
                else:
                    texts = batch.column(name).cast(pa.large_binary())
                    starts = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
                    lengths.update(np.diff(starts).data)
                    content.update(np.frombuffer(texts.buffers()[2] or b"", np.uint8)[starts[0] : starts[-1]].data)

    def digest(self) -> str:
        """Return the checksum in hexadecimal digits."""
        return sha256(b"".join(part.digest() for parts in self._parts.values() for part in parts)).hexdigest()


@contextmanager
def counts_writer(path: Path, schema: pa.Schema, rows: int = ROWS) -> Iterator[Callable[[pa.Table], None]]:
    """Give a function that writes tables to a file of counts; the checksum is written when the block ends well.

    Args:
        path: the file.
        schema: of the tables.
        rows: rows of a row group.
    """
    checksum = Checksum()
    with pq.ParquetWriter(path, schema, **FORM) as writer:

        def write(table: pa.Table) -> None:
            checksum.add(table)
            writer.write_table(table, row_group_size=rows)

        yield write
        writer.add_key_value_metadata({KEY: checksum.digest()})


class Verification:
    """Verifies the rows of a file of counts against its checksum.

    A file without a checksum is accepted, except where the workflow keeps its own counts:
    ``pretokens/CORPUS/SPLIT/SCHEME.parquet``.

    Raises:
        TokbenchError: the file lacks the checksum there, or its rows do not match the checksum.
    """

    def __init__(self, path: Path, file: pq.ParquetFile) -> None:
        own = path.absolute().parts[-4:-3] == ("pretokens",)
        self._remedy = "delete it and run the workflow again" if own else "make it again"
        self._path = path
        self._noted = (file.metadata.metadata or {}).get(KEY.encode())
        self._found = Checksum()
        if own and self._noted is None:
            reason = "has no checksum of its rows, so another program or an older version wrote it"
            raise TokbenchError(f"{path}: {reason}; {self._remedy}")

    def add(self, rows: pa.Table) -> None:
        """Add rows that were read, in their order."""
        if self._noted is not None:
            self._found.add(rows)

    def end(self) -> None:
        """Verify all rows that were added."""
        if self._noted is not None and self._noted.decode("ascii", "replace") != self._found.digest():
            raise TokbenchError(f"{self._path}: not as it was written; {self._remedy}")


def _values(numbers: pa.Array) -> Any:
    return np.frombuffer(numbers.buffers()[1], np.int64)[numbers.offset : numbers.offset + len(numbers)]


Arrays = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]


def read_parts(path: Path | str) -> tuple[str | None, Iterator[tuple[str, Arrays]]]:
    """The pre-tokenization of a file of counts, and its rows by language in the arrays of ``PretokenCounts.merged``.

    Raises:
        TokbenchError: the file is missing or holds no counts; the message names it.
    """
    path = Path(path)
    if not path.is_file():
        raise TokbenchError(f"{path}: no such file of pre-token counts; make one with 'tokbench count'")
    if not is_parquet(path):
        return None, _of_tsv(path)
    with _opened(path) as file:
        return scheme_of(file.schema_arrow), _of_parquet(path)


def _opened(path: Path) -> AbstractContextManager[pq.ParquetFile]:
    return parquet(path, "a readable file of pre-token counts", "make it again", in_pieces=True)


def _of_tsv(path: Path) -> Iterator[tuple[str, Arrays]]:
    pairs = read_tsv(path)
    while rows := list(islice(pairs, BATCH)):
        data = np.frombuffer(b"".join(token for token, _ in rows), np.uint8)
        offsets = np.cumsum([0, *(len(token) for token, _ in rows)], dtype=np.int64)
        yield "", (data, offsets, np.array([count for _, count in rows], np.int64))


def _of_parquet(path: Path) -> Iterator[tuple[str, Arrays]]:
    with _opened(path) as file:
        verification = Verification(path, file)
        present = [name for name in ("language", "pretoken", "count") if name in file.schema_arrow.names]
        for batch in pieces(file, present, BATCH):
            table = pa.Table.from_batches([batch])
            verification.add(table)
            if "language" not in present:
                yield "", columns(table)
                continue
            tags = table["language"].cast(pa.string())
            if tags.null_count:
                raise ValueError("a language is missing")
            for language in sorted(pc.unique(tags).to_pylist()):
                yield language, columns(table.filter(pc.equal(tags, language)))
        verification.end()


def write_languages(counts: Mapping[str, PretokenCounts], path: Path | str) -> PretokenCounts:
    """Write the counts of each language into one file, whole or not at all, and return those of the whole text.

    The table has the columns ``language``, ``pretoken`` and ``count``, languages in order of their tags; documents
    without a language are counted as ``und`` where others have one. Where no language is known it is that of
    :meth:`tokbench.pretokens.PretokenCounts.write`. Readers that know nothing of languages find the whole text in both.

    Raises:
        TokbenchError: there are no counts, or they were not all cut by the same scheme.
    """
    counts = by_tag(counts, _sum)
    whole = merge_counts(counts.values())
    if set(counts) == {""}:
        whole.write(path)
        return whole
    write_table(pa.concat_tables([language_table(language, counts[language]) for language in sorted(counts)]), path)
    return whole


def language_table(language: str, counts: PretokenCounts) -> pa.Table:
    """Return the counts of a language as rows of a file of counts; without a column for the empty language."""
    table = counts.to_arrow()
    return table.add_column(0, "language", pa.repeat(language, len(table))) if language else table


def has_languages(path: Path | str) -> bool:
    """Whether a file of counts keeps languages apart; whoever reads it says what is wrong with one that is none."""
    return Path(path).is_file() and is_parquet(path) and "language" in column_names(path)


def read_languages(path: Path | str) -> dict[str, PretokenCounts]:
    """The counts of each language of a file, in order of their tags; of one without a name where it tells none.

    Raises:
        TokbenchError: the file is missing or holds no counts; the message names it.
    """
    if not has_languages(path):
        return {"": PretokenCounts.read(path)}
    return read_table(Path(path), _apart)


def all_languages(counts: Mapping[str, PretokenCounts]) -> PretokenCounts:
    """Return the counts of the text in all languages together.

    Raises:
        TokbenchError: as :func:`tokbench.pretokens.count.merge_counts`.
    """
    parts = list(counts.values()) or [PretokenCounts.from_pairs([])]
    return parts[0] if len(parts) == 1 else merge_counts(parts)


def _apart(table: pa.Table) -> dict[str, PretokenCounts]:
    tags = pc.unique(table["language"].cast(pa.string()))
    if tags.null_count:
        raise ValueError("a language is missing")
    languages = sorted(tags.to_pylist())
    counts = {
        language: PretokenCounts.from_arrow(table.filter(pc.equal(table["language"].cast(pa.string()), language)))
        for language in languages
    }
    return dict(sorted(by_tag(counts, _sum).items()))


def _sum(one: PretokenCounts, other: PretokenCounts) -> PretokenCounts:
    return merge_counts([one, other])


def check_stage(
    stage: str, path: str, megabytes: int | None, *, longest: int | None = None, max_pretoken_bytes: int | None = None
) -> None:
    """End where a stage would take more memory than allowed, before anything of the counts is held.

    Args:
        stage: its name.
        path: the file of counts.
        megabytes: what is allowed; anything where it is None.
        longest: bytes of the longest substring that is looked at; no limit when None.
        max_pretoken_bytes: longest pre-token that the stage keeps; no limit when None.

    Raises:
        TokbenchError: it needs more, or the file holds no counts.
    """
    if megabytes is not None:
        _, parts = read_parts(path)
        batches = ((np.diff(offsets), counts) for _, (_, offsets, counts) in parts)
        profile = CountProfile.of(batches, 1, longest, max_pretoken_bytes)
        require([of_languages(stage, has_languages(path))], profile, 1, megabytes, whole=True)


@dataclass(frozen=True, slots=True)
class DroppedPretokens:
    """What is not built from.

    Attributes:
        least: the count that pre-tokens have at least.
        unique: pre-tokens that are rarer.
        pretokens: their share of the pre-tokens of the text.
        bytes: their share of its bytes.
    """

    least: int
    unique: int
    pretokens: float
    bytes: float

    def recipe(self) -> dict[str, Any]:
        """As a tokenizer's origin tells it."""
        shares = {"unique_pretokens": self.unique, "pretokens": self.pretokens, "bytes": self.bytes}
        return {"min_count": self.least, "left_out": shares}

    def line(self) -> str:
        return (
            f"left out {self.unique:,} unique pre-tokens seen less than {self.least:,} times: "
            f"{self.pretokens:.2%} of the pre-tokens and {self.bytes:.2%} of the bytes of the text"
        )


def read_min_count(path: Path | str, least: int) -> tuple[PretokenCounts, DroppedPretokens]:
    """The pre-tokens of a file of counts that occur ``least`` times or more.

    Of a file in canonical order the others are never held in memory.

    Raises:
        TokbenchError: the file is missing or holds no counts; the message names it.
    """
    counter, unique, total, total_bytes, last = Counter(), 0, 0, 0, None
    scheme, parts = read_parts(path)
    for language, (data, offsets, counts) in parts:
        if language or not _descend(last, counts):
            whole = PretokenCounts.read(path)
            return _of_whole(whole, least)
        kept = int(np.searchsorted(-counts, -least, side="right"))
        try:
            counter.add_pretokens(data, offsets[: kept + 1], counts[:kept])
        except OverflowError as error:
            raise TokbenchError(f"{path}: {error}; {TOO_MUCH}") from None
        unique += int((counts > 0).sum())
        total += int(counts.sum())
        total_bytes += int(np.diff(offsets) @ counts)
        last = counts[-1] if len(counts) else last
    data, offsets, counts = counter.counts()
    found = PretokenCounts(data, offsets, counts, scheme)
    return found, _left_out(found, least, unique, total, total_bytes)


def _descend(last: Any, counts: Any) -> bool:
    return not len(counts) or ((last is None or counts[0] <= last) and bool((counts[1:] <= counts[:-1]).all()))


def _of_whole(whole: PretokenCounts, least: int) -> tuple[PretokenCounts, DroppedPretokens]:
    kept = int(np.searchsorted(-whole.counts, -least, side="right"))
    end = whole.offsets[kept]
    found = PretokenCounts(
        whole.data[:end].copy(), whole.offsets[: kept + 1].copy(), whole.counts[:kept].copy(), whole.scheme
    )
    return found, _left_out(found, least, len(whole), whole.total, whole.total_bytes)


def _left_out(found: PretokenCounts, least: int, unique: int, total: int, total_bytes: int) -> DroppedPretokens:
    return DroppedPretokens(
        least,
        unique - len(found),
        1 - found.total / total if total else 0.0,
        1 - found.total_bytes / total_bytes if total_bytes else 0.0,
    )
