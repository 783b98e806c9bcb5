"""Texts, vocabularies and segmenters for tests of segmentation."""

from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from tokbench.segmentation import Segmenter, segmentations
from tokbench.vocabulary import BYTES, Vocabulary

TEXTS = st.one_of(
    st.text("ab", max_size=200).map(str.encode),
    st.lists(st.sampled_from([0, 97, 98, 255]), max_size=90).map(bytes),
    st.binary(max_size=40),
)
NEW_TOKENS = st.lists(st.text("ab", min_size=2, max_size=7).map(str.encode), max_size=20, unique=True)
PAIRS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=25)


def make(name: str, vocabulary: Vocabulary, **options: object) -> Segmenter:
    method = segmentations[name]
    return method.function(vocabulary, method.options(**options))


def cut(segmenter: Segmenter, *texts: bytes) -> list[list[int]]:
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    ids, bounds = segmenter.segment(np.frombuffer(b"".join(texts), np.uint8), offsets)
    assert (ids.dtype, bounds.dtype, int(bounds[0]), int(bounds[-1])) == (np.int32, np.int64, 0, len(ids))
    return [ids[start:end].tolist() for start, end in pairwise(bounds.tolist())]


def ids_of(vocabulary: Vocabulary) -> dict[bytes, int]:
    return {token: index for index, token in enumerate(vocabulary.tokens)}


def by_merges(pairs: list[tuple[int, int]]) -> Vocabulary:
    """A vocabulary grown from pairs of earlier tokens, counted from ``a``; equal pairs and equal results happen."""
    tokens, merges = list(BYTES), []
    for pair in pairs:
        parts = [97 + part if part < 2 else 256 + (part - 2) % max(len(tokens) - 256, 1) for part in pair]
        left, right = (part if part < len(tokens) else 97 for part in parts)
        token = tokens[left] + tokens[right]
        if len(token) > 40:
            continue
        if token not in tokens:
            tokens.append(token)
        merges.append((left, right, tokens.index(token)))
    return Vocabulary(tuple(tokens), merges=np.array(merges, np.int32).reshape(-1, 3))
