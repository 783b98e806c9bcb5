"""Counting and merging of counts within a bound of resident memory; the files are those that are made without one."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tokbench.atomic import scratch_folder
from tokbench.counting.bound import LEAST, Bound
from tokbench.counting.count import NOTHING, check_scheme, count_languages, cut_by, merge_counts
from tokbench.counting.languages import read_languages
from tokbench.counting.merge_runs import MOST_RUNS, ROWS, Sizes, Totals, write_runs
from tokbench.counting.spilled import MOST, Spilled
from tokbench.errors import TokbenchError
from tokbench.pretoken_files import read_parts
from tokbench.pretokenization import Pretokenization, Setting, pretokenization_of
from tokbench.pretokens import TOO_MUCH, PretokenCounts

LONG = 1 << 20
"""Bytes of a document at which memory is looked at again."""


def count_within(
    documents: Iterable[tuple[str, bytes]],
    scheme: Setting | Pretokenization,
    path: Path | str,
    bound: Bound,
    *,
    most: int = MOST,
    runs: int = MOST_RUNS,
    rows: int = ROWS,
) -> Totals:
    """Write the counts of each language of a text.

    One document is held at a time, whole, beside the tables.

    Args:
        documents: language tags (empty where unknown) and texts.
        scheme: a pre-tokenization: its name, or a mapping with its ``method`` and options.
        path: the file.
        bound: of the memory of this process.
        most: unique pre-tokens that are held at a time, however much room there is.
        runs: runs that are merged at a time.
        rows: rows of a row group.

    Raises:
        TokbenchError: the bound is too small, or as :func:`tokbench.counting.count.count_languages`.
    """
    chosen = pretokenization_of(scheme)
    scanner = chosen.scanner
    bound.require(LEAST, "to count")
    with scratch_folder(path) as folder:
        tables = Spilled(folder, scanner, room=bound.room, most=most)
        for number, (language, text) in enumerate(documents):
            if len(text) >= LONG:
                bound.require(LEAST, f"to count document {number} of {len(text):,} bytes", tables.shrink())
            if scanner is None:
                tables.add_pretokens(language, *cut_by(chosen, text, number))
            else:
                tables.add(language, text)
        tables.end()
        found = tables.runs or {"": []}
        return write_runs(found, chosen.text, path, folder, Sizes(bound.room, most, runs, rows))


def take_within(
    table: Path | str,
    scheme: str,
    path: Path | str,
    bound: Bound,
    *,
    most: int = MOST,
    runs: int = MOST_RUNS,
    rows: int = ROWS,
) -> Totals:
    """Write the counts of a table that comes from elsewhere as those of a scheme, all languages together.

    Args:
        table: Parquet, or TSV ``hex<TAB>count``.
        scheme: what they are written as.
        path: the file.
        bound: of the memory of this process.
        most: unique pre-tokens that are held at a time, however much room there is.
        runs: runs that are merged at a time.
        rows: rows of a row group.

    Raises:
        TokbenchError: the bound is too small, or as :meth:`tokbench.pretokens.PretokenCounts.read`.
    """
    bound.require(LEAST, "to take counts")
    with scratch_folder(path) as folder:
        tables = Spilled(folder, room=bound.room, most=most)
        _, rows_of_table = read_parts(table)
        try:
            for _, arrays in rows_of_table:
                tables.add_pretokens("", *arrays)
            tables.check()
        except OverflowError as error:
            raise TokbenchError(f"{table}: {error}; {TOO_MUCH}") from None
        tables.end()
        return write_runs(tables.runs or {"": []}, scheme, path, folder, Sizes(bound.room, most, runs, rows))


def merge_within(
    parts: Sequence[Path | str],
    path: Path | str,
    bound: Bound,
    *,
    most: int = MOST,
    runs: int = MOST_RUNS,
    rows: int = ROWS,
) -> Totals:
    """Write the sum of the counts of several files, each language by itself.

    Args:
        parts: the files, in any order.
        path: the file.
        bound: of the memory of this process.
        most: unique pre-tokens that are held at a time, however much room there is.
        runs: runs that are merged at a time.
        rows: rows of a row group.

    Raises:
        TokbenchError: the bound is too small, or as :func:`tokbench.counting.count.merge_counts`.
    """
    bound.require(LEAST, "to merge counts")
    if not parts:
        raise TokbenchError(NOTHING)
    first: tuple[str, str | None] | None = None
    with scratch_folder(path) as folder:
        tables = Spilled(folder, room=bound.room, most=most)
        for part in parts:
            scheme, rows_of_part = read_parts(part)
            first = first or (str(part), scheme)
            check_scheme(str(part), scheme, first)
            try:
                for language, arrays in rows_of_part:
                    tables.add_pretokens(language, *arrays)
                tables.check()
            except OverflowError as error:
                raise TokbenchError(f"{part}: with the parts before it, {error}; {TOO_MUCH}") from None
        tables.end()
        scheme = first[1] if first else None
        return write_runs(tables.runs or {"": []}, scheme, path, folder, Sizes(bound.room, most, runs, rows))


def count_texts(
    texts: Iterable[tuple[str, bytes]],
    scheme: Pretokenization,
    megabytes: int | None,
    beside: Path | str,
    check: Callable[[str], None] = lambda _: None,
) -> tuple[dict[str, PretokenCounts], PretokenCounts]:
    """The pre-token counts of documents, by language and in all.

    Args:
        texts: the documents, each with its language.
        scheme: how they are cut.
        megabytes: memory that counting may take; any where None.
        beside: counts that take more are sorted on disk in the folder of this path.
        check: called with the file of such counts before they are read.
    """
    if megabytes is None:
        by_language = dict(sorted(count_languages(texts, scheme).items()))
        return by_language, merge_counts(by_language.values() or [PretokenCounts.from_pairs([], scheme.text)])
    with scratch_folder(beside) as folder:
        path = str(folder / "counts.parquet")
        count_within(texts, scheme, path, Bound(megabytes))
        check(path)
        return read_languages(path), PretokenCounts.read(path)
