"""How work grows with one pre-token that is long or repeats itself: no construction and no segmentation is quadratic.

Measured by this process's own time, the least of some turns, at one length and at four times that: a quadratic method
takes sixteen times as long and a cubic one sixty-four times, n log n steps five times.
"""

import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tokbench.candidates.scored_text import ScoredDocument
from tokbench.construction import constructions
from tokbench.pretokens import PretokenCounts
from tokbench.segmentation import segmentations
from tokbench.vocabulary import Vocabulary

SHORT = 6_000
TOO_MUCH = 10
NOTHING = 0.004
"""Seconds that are as good as none."""

OPTIONS: dict[str, dict[str, object]] = {
    "convextok": {"max_token_bytes": 6, "steps": 4},
    "sage": {"dimensions": 8, "epochs": 1, "negatives": 1},
}
"""Where not the default. ConvexTok looks at every place of every substring, which without a longest one are many."""
LONGER_TOKENS = {"scaffold_bpe"}
"""Its time grows with the longest token as well, and where bytes repeat themselves that grows with the pre-token."""


class Text:
    """One document, as documents and as scores."""

    scheme = "none"

    def __init__(self, text: bytes) -> None:
        self.text = text

    def texts(self) -> Iterator[bytes]:
        yield self.text

    def documents(self, _: str) -> Iterator[ScoredDocument]:
        yield ScoredDocument(0, "", self.text, next(self.signals("")))

    def signals(self, _: str) -> Iterator[np.ndarray]:
        yield np.random.default_rng(5).random(len(self.text), np.float32)

    def parts(self) -> list["Text"]:
        return [self]


def fibonacci(size: int) -> bytes:
    word, longer = b"a", b"ab"
    while len(word) < size:
        word, longer = longer, longer + word
    return word[:size]


def letters(size: int) -> bytes:
    return np.random.default_rng(5).integers(97, 123, size, np.uint8).tobytes()


SHAPES: dict[str, Callable[[int], bytes]] = {
    "run": lambda size: b"=" * size,
    "period of two": lambda size: (b"ab" * size)[:size],
    "period of five": lambda size: (b"abcab" * size)[:size],
    "fibonacci": fibonacci,
    "letters": letters,
}


def built(name: str, text: bytes) -> Callable[[], Vocabulary]:
    method = constructions[name]
    counts = PretokenCounts.from_pairs([(text, 1)])
    source = counts if method.source == "counts" else Text(text)
    more, size = {}, method.alphabet + 100
    if method.initial:
        ngram = constructions["ngram"]
        more, size = {"initial": ngram.function(counts, 1000, ngram.options())}, 260
    return lambda: method.function(source, size, method.options(**OPTIONS.get(name, {})), **more)


def seconds(work: Callable[[], object], enough: float = 0.0) -> float:
    """The least of three turns, or of those up to the first that takes less than ``enough``."""
    least = 1.0
    for _ in range(3):
        start = time.process_time()
        work()
        least = max(min(least, time.process_time() - start), NOTHING)
        if least < enough:
            break
    return least


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", list(constructions))
def test_constructions(name: str, shape: str) -> None:
    short, long = (built(name, SHAPES[shape](size)) for size in (SHORT, 4 * SHORT))
    bound = TOO_MUCH * (4 if name in LONGER_TOKENS else 1) * seconds(short)
    assert seconds(long, enough=bound) < bound


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", list(constructions))
def test_segmentations(name: str, shape: str) -> None:
    """Of each construction's own, with tokens of up to 200 bytes."""
    vocabulary = built(name, SHAPES[shape](200))()
    method = segmentations[constructions[name].segmentation]
    segmenter = method.function(vocabulary, method.options())

    def cut(size: int) -> Callable[[], object]:
        data = np.frombuffer(SHAPES[shape](size), np.uint8)
        return lambda: segmenter.segment(data, np.array([0, size]))

    bound = TOO_MUCH * seconds(cut(SHORT))
    assert seconds(cut(4 * SHORT), enough=bound) < bound
