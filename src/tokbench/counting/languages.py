"""Counts of a text in several languages: one table with a column for the language, read whole or apart."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from tokbench.counting.count import merge_counts
from tokbench.inputs.files import is_parquet
from tokbench.inputs.parquet import column_names
from tokbench.pretokens import PretokenCounts, read_table, write_table


def write_languages(counts: Mapping[str, PretokenCounts], path: Path | str) -> PretokenCounts:
    """Write the counts of each language into one file, whole or not at all, and return those of the whole text.

    The table has the columns ``language``, ``pretoken`` and ``count``, languages in order of their tags; where no
    language is known it is that of :meth:`tokbench.pretokens.PretokenCounts.write`. Readers that know nothing of
    languages find the whole text in both.

    Raises:
        TokbenchError: there are no counts, or they were not all cut by the same scheme.
    """
    whole = merge_counts(counts.values())
    if set(counts) == {""}:
        whole.write(path)
        return whole
    tables = [
        part.add_column(0, "language", pa.repeat(language, len(part)))
        for language in sorted(counts)
        for part in [counts[language].to_arrow()]
    ]
    write_table(pa.concat_tables(tables), path)
    return whole


def merge_files(parts: Sequence[Path | str], path: Path | str) -> PretokenCounts:
    """Write the sum of the counts of several files, each language by itself; return that of the whole text.

    Raises:
        TokbenchError: as :func:`tokbench.counting.count.merge_counts`.
    """
    if not any(map(has_languages, parts)):
        whole = merge_counts(parts)
        whole.write(path)
        return whole
    found: dict[str, list[PretokenCounts]] = {}
    for part in parts:
        for language, counts in read_languages(part).items():
            found.setdefault(language, []).append(counts)
    return write_languages({language: merge_counts(counts) for language, counts in found.items()}, path)


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


def _apart(table: pa.Table) -> dict[str, PretokenCounts]:
    tags = pc.unique(table["language"].cast(pa.string()))
    if tags.null_count:
        raise ValueError("a language is missing")
    languages = sorted(tags.to_pylist())
    return {
        language: PretokenCounts.from_arrow(table.filter(pc.equal(table["language"].cast(pa.string()), language)))
        for language in languages
    }
