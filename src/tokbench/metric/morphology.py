"""Morphological alignment: token boundaries compared with human segmentations of words, and coverage.

Source: the intrinsic benchmark of Uzan et al. 2024 ("Greed is all you need"), which ByteSpan reports. A word is scored
if it is not a token and all its gold segments are tokens, the first in its word-initial form. Boundaries of all words
of a resource are pooled: F1 = tp / (tp + (fp + fn) / 2). A vocabulary with few of the segments is scored on few words;
that share is ByteSpan's morphological coverage (section 4). Everything is compared in bytes, for all scripts. Marks of
continuation forms do not count as bytes of a word.

Reference: :mod:`tokbench.reference.morphology`.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tokbench.metric import Shown, metric
from tokbench.metric.measurement import Form, Measurement, ratio, token_set
from tokbench.metric.words import Words

SCORED = "words that are no token and whose gold segments all are"
NO_TOKEN = "words that are no token"
ALIGNED = "words with gold boundaries inside"
ALL_TOKENS = "words whose gold segments are all tokens"
ONE_SEGMENT = "words of one gold segment"
WIDEST = 1 << 32
"""An upper limit on the bytes of a word, to combine word and offset in one number."""
OF_BOUNDARIES = {
    "morphological_alignment": "F1",
    "morphological_precision": "precision",
    "morphological_recall": "recall",
}
"""Measures of boundary agreement, with short names for columns."""


def gold_segments(words: Words, known: frozenset[Form]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Find for each word if it is a token, and if all its gold segments are tokens; two arrays, bool [n].

    A segment that begins the word includes the word's leading space. A segment that begins a pre-token inside the word
    must be a token that may begin one. A word without boundaries is its own segment.
    """
    parted = words.vocabulary.continuation is not None
    whole = np.zeros(len(words), np.bool_)
    covered = np.zeros(len(words), np.bool_)
    columns = (words.gold["word"], words.gold["boundaries"], words.spaces.tolist(), words.cuts)
    for index, (word, boundaries, space, cuts) in enumerate(zip(*columns, strict=True)):
        text = b" " * space + word.encode("utf-8", "surrogatepass")
        whole[index] = (text, False) in known
        edges = [0, *((boundary + space) for boundary in boundaries), len(text)]
        starts = {cut + space for cut in cuts} | {0}
        covered[index] = all(
            (text[start:end], parted and start not in starts) in known for start, end in pairwise(edges)
        )
    return whole, covered


def agreement(words: Words, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return true positives, false positives and false negatives of each word, int64 [n, 3]; 0 if not chosen."""
    import polars as pl  # already imported where the table was built

    index, offset = words.token_ends()
    in_chosen = chosen[index]
    index = index[in_chosen]
    positions = index * WIDEST + offset[in_chosen]
    gold = words.gold.select(pl.int_range(pl.len()).alias("index"), "boundaries").filter(pl.Series(chosen))
    pairs = gold.explode("boundaries").drop_nulls("boundaries")
    of_gold = pairs["index"].to_numpy()
    right = of_gold * WIDEST + pairs["boundaries"].to_numpy()
    common, cut, marked = (
        np.bincount(indices, minlength=len(words)) for indices in (index[np.isin(positions, right)], index, of_gold)
    )
    return np.column_stack([common, cut - common, marked - common])


def scored_boundaries(words: Words) -> NDArray[np.int64]:
    """Return the boundary counts of :func:`agreement` for words that are not tokens but whose gold segments all are.

    All are 0 if the tokens of the vocabulary are not known.
    """
    if words.unlisted:
        return np.zeros((len(words), 3), np.int64)
    parted = (words.gold["boundaries"].list.len() > 0).fill_null(False).to_numpy()
    inside = words.filter_words(parted)
    whole, covered = gold_segments(inside, token_set(words.vocabulary))
    agreements = np.zeros((len(words), 3), np.int64)
    agreements[parted] = agreement(inside, ~whole & covered)
    return agreements


@metric(
    "morphology",
    of="segmentations",
    cites=("uzan2024", "goriely2025"),
    better=dict.fromkeys(OF_BOUNDARIES, "highest"),
    shown=(
        *(
            Shown(name, "morphology", column, over)
            for name, short in OF_BOUNDARIES.items()
            for column, over in ((f"{short}, spellable words", SCORED), (short, ""))
        ),
        Shown("morphological_coverage", "morphology", "words with all morphemes as tokens", ALL_TOKENS),
        Shown("morphological_coverage", "morphology", "the same, words that are no token"),
        Shown("gold_words_left_out", "morphology", "left out: one segment", ONE_SEGMENT),
        Shown("gold_words_left_out", "morphology", "left out: spelt otherwise"),
    ),
)
def morphology(words: Words, options: object) -> list[Measurement]:
    """Return alignment over words that can be scored and over all words that are not tokens, coverage, and
    exclusions."""
    cuts = words.gold["boundaries"].list.len()
    unspelt, single = int(cuts.is_null().sum()), int((cuts == 0).sum())
    total = len(words)
    words = words.filter_words((cuts > 0).fill_null(False).to_numpy())
    whole, covered = gold_segments(words, token_set(words.vocabulary))
    name, n, none = "morphological_coverage", len(words), "no word has a gold boundary inside"
    of_segments = [
        *_alignment(words, ~whole & covered, SCORED),
        ratio(name, f"{ALL_TOKENS} / {ALIGNED}", int(covered.sum()), n, none),
        ratio(name, f"{SCORED} / {ALIGNED}", int((~whole & covered).sum()), n, none),
    ]
    if words.unlisted:
        of_segments = [replace(row, value=None, n=0, reason=words.unlisted) for row in of_segments]
    return [
        *of_segments[:3],
        *_alignment(words, ~whole, NO_TOKEN),
        *of_segments[3:],
        Measurement("gold_words_left_out", "words that their gold segments do not spell", float(unspelt), total),
        Measurement("gold_words_left_out", ONE_SEGMENT, float(single), total),
    ]


def _alignment(words: Words, scored: NDArray[np.bool_], which: str) -> list[Measurement]:
    n = int(scored.sum())
    right, wrong, missed = agreement(words, scored).sum(axis=0).tolist()
    quotients = (
        ("morphological_alignment", "F1 of token boundaries, pooled", right, right + (wrong + missed) / 2),
        ("morphological_precision", "gold boundaries at token boundaries / token boundaries", right, right + wrong),
        ("morphological_recall", "gold boundaries at token boundaries / gold boundaries", right, right + missed),
    )
    rows = []
    for name, meaning, numerator, denominator in quotients:
        value = numerator / denominator if denominator else None
        reason = None if value is not None else (f"there are no {which}" if not n else "there are no such boundaries")
        rows.append(Measurement(name, f"{meaning}, over {which}", value, n, reason))
    return rows
