"""No construction and no segmentation is below the bound; ConvexTok, which is made of it."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.support.small_counts import WORDS, counts_of, substrings, text_counts
from tokbench.building import initial_vocabulary
from tokbench.candidates.running_text import Documents
from tokbench.candidates.scored_text import ScoredDocument, ScoredDocuments
from tokbench.candidates.signals import SignalName
from tokbench.construction import constructions
from tokbench.optimum.graph import graph_of
from tokbench.optimum.search import search
from tokbench.segmentation import segmentations
from tokbench.vocabulary import Vocabulary

LOW = {"min_pair_count": 1, "min_word_count": 1, "min_span_count": 1, "initial": "ngram", "dimensions": 4, "epochs": 1}
"""Options by which constructions find tokens in very little text, of those that have them."""
SIGNALS = st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=1, max_size=8)


def sources(words: dict[bytes, int], signals: list[float]) -> dict[str, Any]:
    """What constructions read: counts, and each word as often as it is counted as a document, for ByteSpan scored."""
    texts = [word for word, count in words.items() for _ in range(count)]

    class Running(Documents):
        def texts(self) -> Iterator[bytes]:
            return iter(texts)

    class Scored(ScoredDocuments):
        def documents(self, signal: SignalName) -> Iterator[ScoredDocument]:
            for number, text in enumerate(texts):
                yield ScoredDocument(number, "", text, np.resize(signals, len(text)).astype(np.float32))

        def signals(self, signal: SignalName) -> Iterator[NDArray[np.float32]]:
            return (item.signal for item in self.documents(signal))

        def parts(self) -> list[ScoredDocuments]:
            return [self]

    return {"counts": counts_of(words), "documents": Running((), "none"), "scores": Scored((), "none")}


def built(name: str, words: dict[bytes, int], more: int, signals: list[float]) -> Vocabulary:
    """The vocabulary of a construction that has room for some tokens beyond its alphabet."""
    method = constructions[name]
    size = method.alphabet + more
    given = {key: value for key, value in LOW.items() if key in method.options.model_fields}
    options = method.options.model_validate(given | ({"initial_size": size + 30} if method.initial else {}))
    read = sources(words, signals)
    extra = {"initial": initial_vocabulary(read["counts"], options, seed=0, threads=1)} if method.initial else {}
    return method.function(read[method.source], size, options, seed=0, threads=1, **extra)


def allowed(vocabulary: Vocabulary) -> Iterator[tuple[str, dict[str, float]]]:
    """Every segmentation for which a vocabulary has what it needs, with options."""
    for cut in segmentations.methods():
        fits = vocabulary.continuation is None or cut.continuation
        if fits and (cut.needs is None or getattr(vocabulary, cut.needs) is not None):
            yield cut.name, {"dropout": 0.5} if cut.name == "bpe_dropout" else {}


@pytest.mark.parametrize("name", list(constructions))
@example(text_counts(80, 3), 44, [2.0, 1.0, 0.5])
@given(WORDS, st.integers(0, 8), SIGNALS)
@settings(max_examples=20, deadline=None)
def test_no_tokenizer_is_below_the_bound(name: str, words: dict[bytes, int], more: int, signals: list[float]) -> None:
    """Whatever chose the tokens and whatever cuts the text. Counted are the tokens of several bytes that the text has,
    one for both of a token's forms."""
    counts = counts_of(words)
    vocabulary = built(name, words, more, signals)
    usable = set(vocabulary.tokens).intersection(substrings(words))
    least = search(graph_of(counts, 256 + len(usable)), gap=0, steps=100).proven.bound
    for cut, options in allowed(vocabulary):
        method = segmentations[cut]
        _, bounds = method.function(vocabulary, method.options.model_validate(options)).segment(
            counts.data, counts.offsets
        )
        assert int(np.diff(bounds) @ counts.counts) >= least, cut


def test_where_bpe_is_far_from_the_best() -> None:
    """Words without a letter in common: each is a token of the best vocabulary, and takes BPE three merges."""
    words = {bytes(range(4 * number, 4 * number + 4)): 10 for number in range(20)}
    counts = counts_of(words)
    found = search(graph_of(counts, 256 + 20), gap=0, steps=600)
    bpe = constructions["bpe"]
    merged = bpe.function(counts, 256 + 20, bpe.options(), seed=0, threads=1)
    segment = segmentations["merge"].function(merged, segmentations["merge"].options())
    tokens = int(np.diff(segment.segment(counts.data, counts.offsets)[1]) @ counts.counts)
    assert (found.proven.bound, found.tokens, tokens) == (200, 200, 600)


@pytest.mark.parametrize("rounding", ["best", "det", "bias", "int", "prob"])
def test_convextok_rounds_as_the_paper_does(rounding: str) -> None:
    counts = counts_of(text_counts(80, 5))
    method = constructions["convextok"]
    options = method.options.model_validate({"rounding": rounding, "gap": 0, "steps": 300})
    vocabulary = method.function(counts, 276, options, seed=4, threads=1)
    assert isinstance(vocabulary, Vocabulary)
    assert len(vocabulary) == 276 if rounding != "int" else 256 <= len(vocabulary) <= 276
    again = method.function(counts, 276, options, seed=4, threads=2)
    assert vocabulary.tokens == again.tokens


@pytest.mark.parametrize("rounding", ["best", "det"])
def test_texts_with_nothing_to_choose(rounding: str) -> None:
    """No pre-token, one of a byte, no room, and more room than substrings."""
    method = constructions["convextok"]
    options = method.options.model_validate({"rounding": rounding})
    for words, size, more in (({}, 300, 0), ({b"a": 3}, 300, 0), ({b"abc": 3}, 256, 0), ({b"abc": 3}, 300, 3)):
        assert len(method.function(counts_of(words), size, options, seed=0, threads=1)) == 256 + more
