"""Changes of the alignment with morphemes, tested over the words of the gold data where both runs have kept them."""

from collections.abc import Mapping

import polars as pl

from tokbench.side_by_side.cells import Change, Key, TableComparison
from tokbench.statistics.board_alignment import ALL_RESOURCES, METRIC, contrast
from tokbench.statistics.contrast import Contrast

WORDS = "alignment_by_word"


def alignment_contrasts(
    one: TableComparison, a: Mapping[str, pl.DataFrame], b: Mapping[str, pl.DataFrame]
) -> dict[Key, Contrast]:
    """What the words tell of each changed agreement of whole resources, b against a.

    Args:
        one: the comparison of the tables of intrinsic metrics.
        a, b: the tables of both runs by name.
    """
    if WORDS not in a or WORDS not in b:
        return {}
    found = {}
    for change in one.changes:
        if change.where.get("metric") == METRIC and not change.where.get("language"):
            of_a, of_b = (_words(frames[WORDS], change) for frames in (a, b))
            if _same_places(of_a, of_b) and (told := contrast((of_b, change.b), (of_a, change.a))) is not None:
                found[change.key] = told
    return found


def _words(by_word: pl.DataFrame, change: Change) -> pl.DataFrame:
    where = change.where
    kept = by_word.filter(variant=where["variant"], size=where["size"])
    return kept if where["corpus"] == ALL_RESOURCES else kept.filter(corpus=where["corpus"])


def _same_places(a: pl.DataFrame, b: pl.DataFrame) -> bool:
    """Whether groups of words are of one size in both, as they are in the same gold data."""
    both = a.join(b, on=["corpus", "word"], suffix="_of_b")
    return both["words"].equals(both["words_of_b"].alias("words"))
