"""Counts of a text in several languages: one table with a column for the language, read whole or apart."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokbench.counting.count import merge_counts
from tokbench.inputs.files import is_parquet
from tokbench.inputs.parquet import column_names
from tokbench.languages import by_tag
from tokbench.needs import Profile, of_languages, require
from tokbench.pretoken_files import read_parts
from tokbench.pretokens import PretokenCounts, read_table, write_table


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
    tables = [
        part.add_column(0, "language", pa.repeat(language, len(part)))
        for language in sorted(counts)
        for part in [counts[language].to_arrow()]
    ]
    write_table(pa.concat_tables(tables), path)
    return whole


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
        TokbenchError: as :func:`tokbench.counting.count.merge_counts`.
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
        profile = Profile.of(batches, 1, longest, max_pretoken_bytes)
        require([of_languages(stage, has_languages(path))], profile, 1, megabytes, whole=True)
