"""Tables of gold data: words with the boundaries between their parts, and words with reading times.

A segmentation that does not spell its word has no boundaries. It remains in the table to be counted.
"""

from collections.abc import Iterable

import polars as pl

from tokbench.metric.words import Decision, SegmentedWord, boundaries

SEGMENTATIONS: dict[str, pl.DataType | type[pl.DataType]] = {
    "language": pl.String,
    "word": pl.String,
    "boundaries": pl.List(pl.Int64),
}
"""``boundaries``: byte offsets in ascending order, without 0 and the length; empty for a word of one part, null if the
parts do not spell the word. Each (language, word, boundaries) is unique."""

DECISIONS: dict[str, type[pl.DataType]] = {
    "language": pl.String,
    "word": pl.String,
    "lexicality": pl.String,
    "reaction_time": pl.Float64,
    "accuracy": pl.Float64,
}
"""``lexicality``: W for a word, N for a nonword; ``reaction_time`` in milliseconds, may be null; ``accuracy``: share of
people whose decision was right."""


def segmentation_table(rows: Iterable[SegmentedWord]) -> pl.DataFrame:
    """Return the columns of :data:`SEGMENTATIONS` in the order of first appearance, without duplicates."""
    words: dict[tuple[str, str, tuple[int, ...] | None], None] = {}
    for language, word, segments in rows:
        cuts = boundaries(word, segments)
        words[language, word, None if cuts is None else tuple(cuts)] = None
    columns = list(zip(*words, strict=True)) or [(), (), ()]
    lists = [None if cuts is None else list(cuts) for cuts in columns[2]]
    return pl.DataFrame({"language": columns[0], "word": columns[1], "boundaries": lists}, schema=SEGMENTATIONS)


def decision_table(rows: Iterable[Decision]) -> pl.DataFrame:
    """Return the columns of :data:`DECISIONS` in the order of the file."""
    return pl.DataFrame([decision._asdict() for decision in rows], schema=DECISIONS)
