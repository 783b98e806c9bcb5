"""The two tables to which every resource comes down: words with the boundaries between their parts, words with reading.

Boundaries are byte offsets into the word, so that they can be compared with tokens in any script. A segmentation that
does not spell its word (``mak|ing`` does, ``make|ing`` does not) has no boundaries; it stays in the table, to be
counted.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

import polars as pl

SEGMENTATIONS: dict[str, pl.DataType | type[pl.DataType]] = {
    "language": pl.String,
    "word": pl.String,
    "boundaries": pl.List(pl.Int64),
}
"""``boundaries``: byte offsets in ascending order, without 0 and the length; empty for a word of one part, null where
the parts do not spell the word. Each (language, word, boundaries) stands once."""

DECISIONS: dict[str, type[pl.DataType]] = {
    "language": pl.String,
    "word": pl.String,
    "lexicality": pl.String,
    "reaction_time": pl.Float64,
    "accuracy": pl.Float64,
}
"""``lexicality``: W for a word, N for a nonword; ``reaction_time`` in milliseconds, null where there is none;
``accuracy``: share of people who judged it rightly."""


class Segmentation(NamedTuple):
    """A word and its parts, as a file gives them; no parts where the file tells of the word but not how to cut it."""

    language: str
    word: str
    segments: Sequence[str]


class Decision(NamedTuple):
    """A word or nonword with what a lexical decision experiment found of it."""

    language: str
    word: str
    lexicality: str
    reaction_time: float | None
    accuracy: float | None


def boundaries(word: str, segments: Sequence[str]) -> list[int] | None:
    """Byte offsets in the word at which its parts meet; None where the parts do not spell the word.

    Case is no difference, so that the parts of a German compound may keep their capitals.
    """
    joined = "".join(segments)
    if not segments or not all(segments) or len(joined) != len(word) or joined.lower() != word.lower():
        return None
    ends = list(accumulate(map(len, segments)))[:-1]
    return [len(word[:end].encode("utf-8", "surrogatepass")) for end in ends]


def segmentation_table(rows: Iterable[Segmentation]) -> pl.DataFrame:
    """The columns of :data:`SEGMENTATIONS`, in the order of first appearance; what stands twice is taken once."""
    seen: dict[tuple[str, str, tuple[int, ...] | None], None] = {}
    for language, word, segments in rows:
        cuts = boundaries(word, segments)
        seen[language, word, None if cuts is None else tuple(cuts)] = None
    columns = list(zip(*seen, strict=True)) or [(), (), ()]
    lists = [None if cuts is None else list(cuts) for cuts in columns[2]]
    return pl.DataFrame({"language": columns[0], "word": columns[1], "boundaries": lists}, schema=SEGMENTATIONS)


def decision_table(rows: Iterable[Decision]) -> pl.DataFrame:
    """The columns of :data:`DECISIONS`, in the order of the file."""
    return pl.DataFrame(list(rows), schema=DECISIONS, orient="row")
