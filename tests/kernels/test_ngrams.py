"""The token n-gram models against their formulas, numbers computed by hand, and properties of distributions.

N-gram counting and the initial vocabulary made of n-grams.
"""

import pydoc_data.topics
import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tokbench.construction import ngram
from tokbench.kernels.token_ngrams import MAX_ORDER, MAX_SYMBOLS, TokenNgrams, ranges_of
from tokbench.pretokens import PretokenCounts
from tokbench.reference import ngram as twin
from tokbench.vocabulary import BYTES

Documents = Sequence[Sequence[int]]
documents = st.lists(st.lists(st.integers(0, 3), max_size=20), max_size=4)
TRAINING, TEST = [[0, 1, 0, 1, 0], [0, 1, 1]], [[0, 1, 0], [1, 2]]
"""ababa, abb; aba, bc."""
COUNTED = [[0, 1, 2, 2, 3, 3, *[4] * 3, *[5] * 4]]
"""a and b once, c and d twice, e three times, f four times."""


def models(training: Documents, scored: Documents, vocabulary: int, order: int) -> TokenNgrams:
    texts = [
        [symbol for document in text for symbol in [*[vocabulary] * (order - 1), *document, vocabulary + 1]]
        for text in (training, scored)
    ]
    stream = np.array([*texts[0], *texts[1]], np.int32)
    return TokenNgrams(stream, len(texts[0]), vocabulary + 2, vocabulary, order)


def bits(training: Documents, scored: Documents, vocabulary: int, order: int, held: int = 1 << 40) -> list[float]:
    """By the model of the highest order alone."""
    found: NDArray[np.float64] = models(training, scored, vocabulary, order).bits(held)
    return found[:, -1].tolist()


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (1, [6.6375193717, 8.0071409505]),
        (2, [4.5629090202, 9.1141130083]),
        (3, [3.1105163726, 9.1141130083]),
    ],
)
def test_by_hand(order: int, expected: list[float]) -> None:
    """Every number of counts is missing somewhere, so that all discounts are 3/4."""
    assert bits(TRAINING, TEST, 3, order) == pytest.approx(expected, abs=5e-11)
    assert twin.bits(TRAINING, TEST, 3, order) == pytest.approx(expected, abs=5e-11)


def test_probabilities_by_hand() -> None:
    found = np.zeros((len(TEST[0]) + len(TEST[1]) + 2 * 3, 3))
    models(TRAINING, TEST, 3, 3).bits(probabilities=found)
    (_, _, first, second, _, _), (_, _, b, c, end) = found[:6], found[6:]
    assert first == pytest.approx([0.38125, 0.73828125, 0.8037109375])
    assert second[2] == pytest.approx(0.8378906250)
    assert b[0] == pytest.approx(0.38125)
    assert c == pytest.approx([0.05625, 0.0527343750, 0.0703125])
    assert end == pytest.approx([0.18125, 0.3020833333, 0.3020833333])
    assert not found[[0, 1, 6, 7]].any(), "what begins a document is given, and predicted nowhere"


def test_discounts_by_hand() -> None:
    """Of seven tokens and the end three are seen once, two twice, one three times and one four times."""
    level = twin.train(COUNTED, 1)[0]
    assert level.discounts == pytest.approx((3 / 7, 19 / 14, 9 / 7))
    expected = {0: 0.0994897959, 5: 0.2525510204, 6: 0.0586734694}
    found = np.zeros((2 * len(expected), 1))
    models(COUNTED, [[token] for token in expected], 7, 1).bits(probabilities=found)
    assert found[::2, 0] == pytest.approx(list(expected.values()), abs=5e-11)


@settings(max_examples=150)
@given(documents, documents, st.integers(1, MAX_ORDER), st.sampled_from([1, 7, 1 << 40]))
def test_twin(training: Documents, scored: Documents, order: int, held: int) -> None:
    """At every order, whatever is held at a time."""
    found = models(training, scored, 4, order).bits(held)
    assert found.shape == (len(scored), order)
    for lower in range(1, order + 1):
        np.testing.assert_allclose(found[:, lower - 1], twin.bits(training, scored, 4, lower), rtol=1e-12, atol=1e-12)


@settings(max_examples=50)
@given(documents, documents, st.integers(2, MAX_ORDER))
def test_bits_rest_on_nothing_but_the_texts(training: Documents, scored: Documents, order: int) -> None:
    """Neither on what is held, to the last bit, nor on the order of documents, nor on that of the highest model."""
    whole = models(training, scored, 4, order).bits()
    for held in (1, 3, 50):
        assert (models(training, scored, 4, order).bits(held) == whole).all()
    assert (models(training[::-1], scored[::-1], 4, order).bits()[::-1] == whole).all()
    assert (models(training, scored, 4, order - 1).bits() == whole[:, :-1]).all()
    again = models(training, scored, 4, order)
    assert (again.bits() == whole).all()
    assert (again.bits() == whole).all()


@settings(max_examples=50)
@given(documents, st.lists(st.integers(0, 3), max_size=5), st.integers(1, MAX_ORDER), st.integers(4, 6))
def test_probabilities_add_up_to_one(training: Documents, context: list[int], order: int, vocabulary: int) -> None:
    """Over all tokens, seen or not, and the end, whatever stands before them."""
    scored = [[*context, token] for token in range(vocabulary)]
    length = order - 1 + len(context) + 2
    found = np.zeros((vocabulary * length, order))
    models(training, scored, vocabulary, order).bits(probabilities=found)
    each = found.reshape(vocabulary, length, order)[:, -2]
    ends = np.zeros((order + len(context), order))
    models(training, [context], vocabulary, order).bits(probabilities=ends)
    assert each.sum(0) + ends[-1] == pytest.approx(np.ones(order))
    assert (found[found.any(1)] > 0).all()


def test_without_training_every_token_is_as_likely() -> None:
    assert models([], [[0, 1], []], 7, 3).bits() == pytest.approx(np.array([[9.0] * 3, [3.0] * 3]))


def test_tokens_never_seen_are_counted() -> None:
    one = models([[0, 1]], [[0, 2, 2], [3]], 5, 2)
    assert one.unseen() == 3
    assert one.unused() == 3, "2, 3 and 4"


def test_shuffling_removes_the_gain_of_contexts() -> None:
    rng = np.random.default_rng(0)
    chain = [0]
    for step in rng.choice([1, 1, 1, 2], 6000):
        chain.append((chain[-1] + int(step)) % 7)
    half, rest = chain[:4000], chain[4000:]
    single, pair = models([half], [rest], 7, 2).bits()[0]
    shuffled_single, shuffled_pair = models([half], [rng.permutation(rest).tolist()], 7, 2).bits()[0]
    assert pair < 0.6 * single
    assert shuffled_single == pytest.approx(single, rel=1e-9)
    assert shuffled_pair > single


def test_ids_of_the_largest_vocabulary_do_not_run_into_each_other() -> None:
    """The keys of five tokens are full."""
    top = MAX_SYMBOLS - 2
    low = [[1, 2, 3, 1, 2, 4], [3, 1, 2, 3]]
    high = [[token + top - 6 for token in document] for document in low]
    assert models(high, high, top, 5).bits() == pytest.approx(models(low, low, top, 5).bits(), rel=0, abs=0)


@pytest.mark.parametrize(
    ("stream", "trained", "symbols", "order"),
    [
        pytest.param([9, 3, 10], 0, 11, 6, id="order"),
        pytest.param([3, 10], 0, MAX_SYMBOLS + 1, 1, id="symbols"),
        pytest.param([9, 3, 10], 4, 11, 2, id="more trained than there is"),
        pytest.param([9, 3, 10], 2, 11, 2, id="trained on half a document"),
        pytest.param([3, 10], 0, 11, 2, id="no beginning"),
        pytest.param([9, 3, 10, 3, 10], 0, 11, 2, id="no second beginning"),
        pytest.param([9, 3], 0, 11, 2, id="no end"),
        pytest.param([9, 11, 10], 0, 11, 2, id="id too large"),
        pytest.param([9, -1, 10], 0, 11, 2, id="id below zero"),
    ],
)
def test_rejections(stream: list[int], trained: int, symbols: int, order: int) -> None:
    with pytest.raises(ValueError, match=r"^no "):
        TokenNgrams(np.array(stream, np.int32), trained, symbols, 9, order)


def test_probabilities_of_other_places_are_rejected() -> None:
    with pytest.raises(ValueError, match="of other places"):
        models(TRAINING, TEST, 3, 2).bits(probabilities=np.zeros((3, 2)))


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.integers(1, 30))
def test_ranges_are_within_the_limit_or_one_token(after: list[int], held: int) -> None:
    starts = np.cumsum([0, *after])
    ranges = ranges_of(starts, held)
    assert ranges[0][0] == 0
    assert ranges[-1][1] == len(after)
    assert all(one[1] == other[0] for one, other in pairwise(ranges))
    assert all(starts[last] - starts[first] <= held or last == first + 1 for first, last in ranges)


WORDS = st.one_of(
    st.text("ab", min_size=1, max_size=24).map(str.encode),
    st.lists(st.sampled_from([0, 1, 97, 255]), min_size=1, max_size=24).map(bytes),
    st.binary(min_size=1, max_size=20),
)
PAIRS = st.lists(st.tuples(WORDS, st.integers(1, 4)), max_size=12)


@settings(deadline=None)
@given(PAIRS, st.integers(1, 60), st.integers(2, 16))
def test_kernel_equals_twin(pairs: list[tuple[bytes, int]], limit: int, max_bytes: int) -> None:
    tokens, totals = ngram.top_ngrams(PretokenCounts.from_pairs(pairs), limit, max_bytes)
    assert list(zip(tokens, totals.tolist(), strict=True)) == twin.top_ngrams(pairs, limit, max_bytes)


@pytest.fixture(scope="module")
def prose() -> PretokenCounts:
    text = "".join(pydoc_data.topics.topics.values())
    return PretokenCounts.from_pairs((word.encode(), 1) for word in re.findall(r" ?\S+|\s+", text))


@pytest.mark.parametrize("threads", [1, 3])
def test_parts_and_pruning_do_not_show(prose: PretokenCounts, monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    monkeypatch.setattr(ngram, "PART_POSITIONS", 5_000)
    tokens, totals = ngram.top_ngrams(prose, 300, 16, threads=threads)
    assert list(zip(tokens, totals.tolist(), strict=True)) == twin.top_ngrams(prose.items(), 300, 16)


def test_document_without_pretokenization_is_one_pretoken() -> None:
    text = ("to be or not to be, that is the question\n" * 40).encode()
    counts = PretokenCounts.from_pairs([(text, 3)])
    tokens, totals = ngram.top_ngrams(counts, 500, 16)
    assert list(zip(tokens, totals.tolist(), strict=True)) == twin.top_ngrams([(text, 3)], 500, 16)


def test_counts_beyond_32_bits() -> None:
    tokens, totals = ngram.top_ngrams(PretokenCounts.from_pairs([(b"abab", 3 << 40)]), 2)
    assert (tokens, totals.tolist()) == ([b"ab", b"aba"], [6 << 40, 3 << 40])


def test_vocabulary_begins_with_all_bytes(prose: PretokenCounts) -> None:
    vocabulary = ngram.build(prose, 1000, ngram.NgramOptions())
    assert vocabulary.tokens[:256] == BYTES
    assert vocabulary.tokens[256:] == tuple(token for token, _ in twin.top_ngrams(prose.items(), 744, 16))


@pytest.mark.parametrize("pairs", [[], [(b"a", 5)], [(b"ab", 1)]])
def test_too_little_text_gives_a_smaller_vocabulary(pairs: list[tuple[bytes, int]]) -> None:
    vocabulary = ngram.build(PretokenCounts.from_pairs(pairs), 300, ngram.NgramOptions())
    assert len(vocabulary) == 256 + sum(len(word) > 1 for word, _ in pairs)
    assert np.array_equal(vocabulary.tokens[:256], BYTES)
