"""A greedy segmenter and small vocabularies for tests of metrics."""

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from tokbench.intrinsic.measurement import Measurement
from tokbench.pretokens import PretokenCounts
from tokbench.vocabulary import BYTES, Vocabulary


class Greedy:
    """Longest match from the left; with continuation forms, other tokens at the start than inside."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def tokens(self, pretoken: bytes) -> list[int]:
        marks = self.vocabulary.continuation
        ids = []
        start = 0
        while start < len(pretoken):
            fitting = [
                (len(token), index)
                for index, token in enumerate(self.vocabulary.tokens)
                if pretoken.startswith(token, start) and (marks is None or bool(marks[index]) == (start > 0))
            ]
            width, index = max(fitting)
            ids.append(index)
            start += width
        return ids

    def segment(self, counts: PretokenCounts) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        pieces = [self.tokens(pretoken) for pretoken, _ in counts.items()]
        bounds = np.cumsum([0, *map(len, pieces)])
        return np.array([index for piece in pieces for index in piece], np.int32), bounds.astype(np.int64)


def vocabulary(*tokens: bytes) -> Vocabulary:
    return Vocabulary(BYTES + tuple(dict.fromkeys(tokens)))


def value(rows: list[Measurement], metric: str, *words: str) -> float | None:
    """The value of the one row of the metric whose definition holds all the words; ``$`` is its end."""
    (row,) = [row for row in rows if row.metric == metric and all(word in f"{row.definition}$" for word in words)]
    assert (row.value is None) == (row.reason is not None)
    return row.value


TOKENS = st.lists(st.text("ab é", min_size=2, max_size=4).map(str.encode), max_size=6)
TEXT = st.lists(st.text("ab é\n", min_size=1, max_size=6).map(str.encode), min_size=1, max_size=12)
