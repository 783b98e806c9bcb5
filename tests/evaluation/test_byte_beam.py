"""Sums over token sequences by a beam: against all sequences of short texts, and the bound on missed probability."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokbench.evaluation.byte_beam import ByteBeam, summed_bits, summed_nats
from tokbench.evaluation.coverings import Ids, Spellings
from tokbench.evaluation.segmentations import Next

TOKENS = [b"a", b"b", b" ", b"ab", b"ba", b"aba", b"", b" a", b"b b", b"ab"]
"""Two tokens have the same bytes, and one has none."""
SPELLINGS = Spellings(TOKENS)
ALL = 10**6
TEXTS = st.text("ab ", min_size=1, max_size=7).map(str.encode)


def model(seed: int, peaks: float = 1.0) -> Next:
    """Return a model with probabilities that depend on all tokens before, and on the end of the text."""

    def after(sequences: Sequence[Ids]) -> np.ndarray:
        rows = [np.random.default_rng([seed, *ids]).dirichlet(np.full(len(TOKENS) + 1, peaks)) for ids in sequences]
        return np.log(np.maximum(rows, 1e-300))

    return after


def probability(ids: Ids, after: Next) -> float:
    return math.exp(sum(float(after([ids[:place]])[0, id]) for place, id in enumerate(ids)))


def spelling(text: bytes) -> Iterator[Ids]:
    """Yield every token sequence that spells a text."""
    if not text:
        yield ()
    for id in SPELLINGS.opening(text):
        for rest in spelling(text[len(TOKENS[id]) :]):
            yield id, *rest


def beginning(text: bytes) -> Iterator[Ids]:
    """Yield every token sequence that begins with a text and whose last token reaches its end."""
    if not text:
        yield ()
        return
    for id, token in enumerate(TOKENS):
        if token and text.startswith(token) and len(token) < len(text):
            for rest in beginning(text[len(token) :]):
                yield id, *rest
        elif token.startswith(text):
            yield (id,)


def prefix_probability(text: bytes, after: Next) -> float:
    return sum(probability(ids, after) for ids in beginning(text))


def read(text: bytes, after: Next, width: int) -> ByteBeam:
    beam = ByteBeam(SPELLINGS, after, width)
    for byte in text:
        beam.read(byte)
    return beam


@given(TEXTS, st.integers(0, 99))
@settings(max_examples=40)
def test_a_wide_beam_is_the_sum_over_all_sequences(text: bytes, seed: int) -> None:
    after = model(seed)
    beam = read(text, after, ALL)
    assert beam.missed == 0
    assert math.exp(beam.log_text()) == pytest.approx(sum(probability(ids, after) for ids in spelling(text)))
    assert math.exp(beam.log_prefix()) == pytest.approx(prefix_probability(text, after))
    following = beam.next_byte()
    for byte in b"abc ":
        longer = prefix_probability(text + bytes([byte]), after) / prefix_probability(text, after)
        assert following[byte] == pytest.approx(longer)
    assert following.sum() <= 1


@given(TEXTS, st.integers(0, 99), st.integers(2, 6))
@settings(max_examples=40)
def test_a_narrow_beam_is_a_lower_bound(text: bytes, seed: int, width: int) -> None:
    after = model(seed)
    every, narrow = read(text, after, ALL), read(text, after, width)
    assert len(narrow.contexts) <= width
    assert narrow.log_prefix() <= every.log_prefix() + 1e-12
    assert narrow.log_text() <= every.log_text() + 1e-12
    if narrow.missed == 0:
        assert narrow.log_prefix() == pytest.approx(every.log_prefix())


def sampled(after: Next, length: int, rng: np.random.Generator) -> bytes | None:
    """Return the first bytes of a text that the model produces; None if it is shorter or has an empty token."""
    ids: Ids = ()
    text = b""
    while len(text) < length:
        id = int(rng.choice(len(TOKENS) + 1, p=np.exp(after([ids])[0])))
        if id == len(TOKENS) or not TOKENS[id]:
            return None
        ids, text = (*ids, id), text + TOKENS[id]
    return text[:length]


@pytest.mark.parametrize("width", [2, 3, 4])
def test_the_share_missed_is_bounded_on_the_models_own_texts(width: int) -> None:
    """The mean share of the sequences that a beam dropped is at most the mean of the sum of its shares."""
    excess = []
    for seed in range(300):
        after = model(seed, peaks=0.3)
        text = sampled(after, 6, np.random.default_rng(seed))
        if text is None:
            continue
        beam = read(text, after, width)
        dropped = 1 - math.exp(beam.log_prefix() - read(text, after, ALL).log_prefix())
        excess.append(dropped - beam.missed)
    assert len(excess) > 60
    assert np.mean(excess) < 3 * np.std(excess) / math.sqrt(len(excess))
    assert min(excess) < 0


def test_a_byte_that_no_token_begins_with() -> None:
    beam = read(b"ab", model(0), 4)
    with pytest.raises(ValueError, match="continues the text at byte 2"):
        beam.read(ord("x"))


def test_the_own_segmentation_is_always_counted() -> None:
    """A beam of two sequences may follow others, so the own segmentation is added."""
    for seed in range(20):
        after = model(seed)
        for own in list(spelling(b"abab"))[:3]:
            summed, alone, _ = summed_nats(SPELLINGS, b"abab", own, after, 2)
            assert summed <= alone
            assert alone == pytest.approx(-math.log(probability(own, after)))


def test_bits_of_documents() -> None:
    def encode(text: bytes) -> list[int]:
        return list(min(spelling(text), key=len))

    after = model(1)
    documents = [b"ab ba", b"", b" ", b"abab " * 9, b"ba ab b"]
    found = summed_bits(SPELLINGS, encode, documents, after, ALL, longest=12)
    assert found is not None
    assert (found["documents"], found["bytes"], found["width"], found["missed"]) == (4, 5 + 1 + 9 + 7, ALL, 0)
    texts = [b"ab ba", b" ", b"abab abab", b"ba ab b"]
    expected = -sum(math.log2(sum(probability(ids, after) for ids in spelling(text))) for text in texts) / 22
    own = -sum(math.log2(probability(tuple(encode(text)), after)) for text in texts) / 22
    assert found["bits_per_byte"] == pytest.approx(expected)
    assert found["own_bits_per_byte"] == pytest.approx(own)
    assert found["gap"] == pytest.approx(own - expected)
    assert 0 <= found["low"] <= found["gap"] < found["high"]
    assert summed_bits(SPELLINGS, encode, [b""], after, 2, longest=9) is None
