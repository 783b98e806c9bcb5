"""What every word adds to the agreement of tokens with morphemes, so that an interval can be drawn over words."""

import numpy as np
from numpy.typing import NDArray

from tokbench.intrinsic.neighbours import in_groups
from tokbench.intrinsic.words import Words

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
