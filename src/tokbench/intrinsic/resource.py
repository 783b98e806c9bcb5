"""Reading the gold data of a resource, whatever its type.

What every word adds to the agreement of tokens with morphemes, so that an interval can be drawn over words.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.intrinsic.gold_tables import decision_table, segmentation_table
from tokbench.io.text_files import size_of
from tokbench.metric.measurement import in_groups
from tokbench.metric.words import Words
from tokbench.resource import Gold, ResourceOptions, resource_files, resource_types

TABLES: dict[Gold, Callable[..., pl.DataFrame]] = {
    "segmentations": segmentation_table,
    "lexical_decisions": decision_table,
}


COPIES = 24
"""Bytes that are held for each of a resource's files, decompressed; 17 measured of segmentations, 14 of decisions."""


def room(kind: str, options: ResourceOptions) -> int:
    """Bytes in which a resource is read and measured, beside the process itself.

    Raises:
        TokbenchError: a file cannot be read.
    """
    return COPIES * sum(size_of(path, "name a file of the resource") for _, path in resource_files(kind, options))


def read_resource(kind: str, options: ResourceOptions, files: Sequence[tuple[str, Path]] | None = None) -> pl.DataFrame:
    """The gold data of a resource.

    Args:
        kind: type of the resource.
        options: its options.
        files: files with their language tags; those of the options when None.

    Returns:
        :data:`~tokbench.intrinsic.gold_tables.SEGMENTATIONS` or
        :data:`~tokbench.intrinsic.gold_tables.DECISIONS`, as the type's ``gold`` says.

    Raises:
        TokbenchError: no such type, a file that cannot be read, a record that is none of the type's, or no word.
    """
    method = resource_types[kind]
    chosen = resource_files(kind, options) if files is None else files
    rows = (row for language, path in chosen for row in method.function(path, language, options))
    table = TABLES[method.gold](rows)
    if options.languages is not None:
        table = table.filter(pl.col("language").is_in(options.languages))
    if table.is_empty():
        named = ", ".join(str(path) for _, path in chosen) or "no file"
        raise TokbenchError(f"{named}: no word of a resource of type '{kind}'; name its own files and languages")
    return table


COLUMNS = ("word", "words", "right", "wrong", "missed")
ByWord = dict[str, list[int]]


def alignment_by_word(words: Words, boundaries: NDArray[np.int64]) -> ByWord:
    """Boundaries of every word that a metric scores, added up by word and by neighbours.

    Two segmentations of one word are one word: the tokens are the same. Of more than 1,000 words neighbours are added
    up, all words of the resource being counted, so that groups are the same for every tokenizer.

    Args:
        words: as a tokenizer cuts them.
        boundaries: of each, int64 [words, 3], see :func:`tokbench.metric.morphology.scored_boundaries`.

    Returns:
        By word or group that has any boundary: ``word`` (place of the first in the resource, counted from 0),
        ``words``, and ``right``, ``wrong`` and ``missed``, boundaries of tokens that are such of morphemes, that are
        not, and boundaries of morphemes that are none of tokens.
    """
    import polars as pl  # the table is given: it is imported already

    by_row = words.gold.select("language", "word").with_columns(
        pl.Series(name, boundaries[:, place]) for place, name in enumerate(COLUMNS[2:])
    )
    by_word = by_row.group_by("language", "word", maintain_order=True).sum()
    counts = by_word.select(COLUMNS[2:]).to_numpy().reshape(-1, 3)
    places = np.arange(len(counts))
    found = in_groups(np.column_stack([places, np.ones_like(places), counts]))
    found = found[found[:, 2:].any(axis=1)]
    return {name: found[:, place].tolist() for place, name in enumerate(COLUMNS)}


def boundaries_by_word(words: Words) -> ByWord:
    """The agreement of every word's tokens with its morphemes, of gold data that are segmentations."""
    from tokbench.metric.morphology import scored_boundaries

    return alignment_by_word(words, scored_boundaries(words))


def nothing_by_word() -> ByWord:
    """The same where nothing is scored."""
    return {name: [] for name in COLUMNS}
