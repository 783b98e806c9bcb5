"""Counts of a text in several languages: one table with a column for the language, read whole or apart."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from tokbench.pretokenization.count import merge_counts
from tokbench.pretokens import SCHEME_KEY, PretokenCounts
from tokbench.whole import whole_file


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
    frames = [
        counts[language].to_frame().select(pl.lit(language).alias("language"), "pretoken", "count")
        for language in sorted(counts)
    ]
    metadata = {SCHEME_KEY: whole.scheme} if whole.scheme else None
    with whole_file(path) as partial:
        pl.concat(frames).write_parquet(partial, compression="zstd", metadata=metadata)
    return whole


def tells_languages(path: Path | str) -> bool:
    """Whether a file of counts keeps languages apart."""
    return Path(path).suffix == ".parquet" and Path(path).is_file() and "language" in pl.read_parquet_schema(path)


def read_languages(path: Path | str) -> dict[str, PretokenCounts]:
    """The counts of each language of a file, in order of their tags; of one without a name where it tells none.

    Raises:
        TokbenchError: the file is missing or holds no counts; the message names it.
    """
    whole = PretokenCounts.read(path)
    if not tells_languages(path):
        return {"": whole}
    frame = pl.read_parquet(path, columns=["language", "pretoken", "count"])
    return {
        str(language): PretokenCounts.from_frame(part, whole.scheme)
        for (language,), part in sorted(frame.partition_by("language", as_dict=True).items())
    }
