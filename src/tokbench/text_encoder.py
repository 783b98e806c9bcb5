"""Ids of texts, which threads take in parts: a text is cut into pre-tokens, and each of these into tokens."""

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.inputs.numbers import MOST_THREADS, whole_argument
from tokbench.kernels.encode import Encoder, document_number
from tokbench.kernels.scan import settled_after, settled_before
from tokbench.kernels.segmenter import PretokenSegmenter
from tokbench.parallel import mapped
from tokbench.pretokenization import Pretokenization
from tokbench.segmentation import Segmenter
from tokbench.vocabulary import Vocabulary

PART_BYTES = 1 << 20
"""About as much of a text is a thread's part; the ids do not depend on it."""


class TextEncoder:
    """What gives the ids of texts; it remembers how it cut pre-tokens, and the ids do not depend on that either.

    Args:
        scheme: what cuts a text into pre-tokens.
        segmenter: what cuts these into tokens.
        vocabulary: the tokens with their ids.
    """

    def __init__(self, scheme: Pretokenization, segmenter: Segmenter, vocabulary: Vocabulary) -> None:
        self._scanner = scheme.scanner
        self._boundaries = scheme.boundaries
        self._segmenter = segmenter
        self._numbers = _renumbered(vocabulary)
        self._encoders: list[Encoder] = []

    def encode(self, text: bytes, threads: int) -> NDArray[np.int32]:
        """Ids of a text, int32 [tokens].

        Raises:
            TokbenchError: a pre-token has 2 GiB or more.
        """
        parts = self._by_parts(Encoder.encode, text, threads)
        return parts[0] if len(parts) == 1 else _concatenated(parts, threads)

    def encode_batch(self, texts: Iterable[bytes], threads: int) -> list[NDArray[np.int32]]:
        """Ids of each text, in order; threads share the texts out in groups."""
        if whole_argument("threads", threads, 1, MOST_THREADS) == 1:
            return [self.encode(text, 1) for text in texts]
        groups = mapped(lambda group: [self.encode(text, 1) for text in group], _groups(texts), threads)
        return [ids for group in groups for ids in group]

    def count(self, text: bytes, threads: int) -> int:
        """How many ids a text has.

        Raises:
            TokbenchError: a pre-token has 2 GiB or more.
        """
        return sum(self._by_parts(Encoder.count, text, threads))

    def last_cut(self, text: bytes) -> int:
        """The last place where the ids of a text are those of its two parts; 0 where none is known."""
        if self._scanner is None or (isinstance(self._segmenter, PretokenSegmenter) and self._segmenter.placed):
            return 0
        return int(settled_before(self._scanner, text, len(text)))

    def _by_parts(self, action: Callable[..., Any], text: bytes, threads: int) -> list[Any]:
        """Results of a method of :class:`Encoder`, or of what stands in for it, over the parts of a text."""
        threads = whole_argument("threads", threads, 1, MOST_THREADS)
        if self._scanner is None or not isinstance(self._segmenter, PretokenSegmenter):
            ids = self._cut_and_segment(text)
            return [ids if action is Encoder.encode else len(ids)]
        edges = [0]
        while threads > 1 and edges[-1] + PART_BYTES < len(text):
            edges.append(int(settled_after(self._scanner, text, edges[-1] + PART_BYTES)))
        if edges[-1] < len(text) or len(edges) == 1:
            edges.append(len(text))
        document = document_number(text) if self._segmenter.placed else None

        def part(edge: tuple[int, int]) -> Any:
            encoder = self._encoder()
            done = action(encoder, text, *edge, document)
            self._encoders.append(encoder)
            return done

        try:
            return [part((0, len(text)))] if len(edges) == 2 else list(mapped(part, pairwise(edges), threads))
        except ValueError as error:
            raise TokbenchError(f"{error}; cut the text, or choose a pre-tokenization that does") from None

    def _cut_and_segment(self, text: bytes) -> NDArray[np.int32]:
        """Ids by way of all boundaries, where the pre-tokenization or the segmentation is none of our kernels."""
        bounds = self._boundaries(text)
        data = np.frombuffer(text, np.uint8)
        if isinstance(self._segmenter, PretokenSegmenter) and self._segmenter.placed:
            ids, _ = self._segmenter.segment(data, bounds, document_number(text))
        else:
            ids, _ = self._segmenter.segment(data, bounds)
        return ids if self._numbers is None else self._numbers[ids]

    def _encoder(self) -> Encoder:
        """An encoder that no other thread uses until it is given back; it has kept what it learnt of other texts."""
        try:
            return self._encoders.pop()
        except IndexError:
            assert self._scanner is not None
            assert isinstance(self._segmenter, PretokenSegmenter)
            return Encoder(self._scanner, self._segmenter, numbers=self._numbers)


def _renumbered(vocabulary: Vocabulary) -> NDArray[np.int32] | None:
    """The ids of a vocabulary's tokens where they are not their places."""
    ids = vocabulary.ids
    return None if ids is None or np.array_equal(ids, np.arange(len(ids))) else np.ascontiguousarray(ids, np.int32)


def _concatenated(parts: list[NDArray[np.int32]], threads: int) -> NDArray[np.int32]:
    """One array of several, copied by several threads: first touching its memory takes most of the time."""
    ends = np.cumsum([len(part) for part in parts]).tolist()
    whole = np.empty(ends[-1], np.int32)

    def put(part: NDArray[np.int32], end: int) -> None:
        np.copyto(whole[end - len(part) : end], part)

    list(mapped(lambda one: put(*one), zip(parts, ends, strict=True), threads))
    return whole


def _groups(texts: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Texts in groups that are worth a thread's while."""
    group: list[bytes] = []
    size = 0
    for text in texts:
        group.append(text)
        size += len(text)
        if size >= PART_BYTES:
            yield group
            group, size = [], 0
    yield group
