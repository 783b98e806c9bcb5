"""Unigram construction: its kernels against brute force, its result against the trainer of ``tokenizers``."""

import json
import math
import pydoc_data.topics
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from tests.twins import unigram as twin
from tokbench.kernels import unigram as kernel
from tokbench.kernels.suffix import repeats
from tokbench.kernels.trie import Trie
from tokbench.pretokens import PretokenCounts
from tokbench.tokens import BYTES, Vocabulary
from tokbench.vocabulary import unigram
from tokbench.vocabulary.unigram import UNSEEN_PENALTY, UnigramOptions, build

GPT2 = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")

words = st.dictionaries(st.text("ab", min_size=1, max_size=9).map(str.encode), st.integers(1, 4), max_size=6)


@st.composite
def models(draw: st.DrawFn) -> dict[bytes, float]:
    """Probabilities of a, b and some longer strings of them."""
    longer = draw(st.sets(st.text("ab", min_size=2, max_size=4).map(str.encode), max_size=8))
    weights = {token: draw(st.floats(0.01, 1)) for token in sorted(longer | {b"a", b"b"})}
    return {token: weight / sum(weights.values()) for token, weight in weights.items()}


def flat(tokens: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    data = np.frombuffer(b"".join(tokens), np.uint8)
    return data, np.cumsum([0, *map(len, tokens)]).astype(np.int64)


def count(text: str) -> PretokenCounts:
    return PretokenCounts.from_pairs((token.encode(), count) for token, count in Counter(GPT2.findall(text)).items())


def best_counts(counts: PretokenCounts, tokens: list[bytes], scores: np.ndarray) -> np.ndarray:
    occurrences = np.zeros(len(tokens), np.int64)
    arguments = (counts.data, counts.offsets, counts.counts, 0, len(counts))
    kernel.count_best(Trie(*flat(tokens)), scores, *arguments, occurrences)
    return occurrences


@given(words, st.integers(1, 10), st.booleans())
def test_repeats(counted: dict[bytes, int], longest: int, by_occurrence: bool) -> None:
    counts = PretokenCounts.from_pairs(counted.items())
    found = repeats(counts.data, counts.offsets, counts.counts, longest, False, by_occurrence).tolist()
    text = counts.data.tobytes()
    labels = [text[start:end] for start, end, _, _ in found]
    assert labels == sorted(labels)
    expected = twin.repeats(list(counts.items()), longest, by_occurrence)
    assert {text[start:end]: count for start, end, _, count in found} == expected


@given(st.dictionaries(st.text("aéè€𝄞", min_size=1, max_size=7), st.integers(1, 3), max_size=5), st.booleans())
def test_repeats_of_whole_characters(counted: dict[str, int], by_occurrence: bool) -> None:
    """Characters are what bytes are otherwise: the text with each character made one byte gives the same."""
    letters = dict(zip("aéè€𝄞", b"abcde", strict=True))
    wide = PretokenCounts.from_pairs((word.encode(), count) for word, count in counted.items())
    found = repeats(wide.data, wide.offsets, wide.counts, 3, True, by_occurrence)
    short = [(bytes(letters[letter] for letter in word), count) for word, count in counted.items()]
    expected = twin.repeats(short, 3, by_occurrence)
    text = wide.data.tobytes()
    spelt = {text[start:end].decode(): (size, count) for start, end, size, count in found.tolist()}
    assert {bytes(letters[letter] for letter in part): count for part, (_, count) in spelt.items()} == expected
    assert all(len(part) == size for part, (size, _) in spelt.items())


@given(st.lists(st.binary(min_size=1, max_size=8), max_size=4))
def test_repeats_of_any_bytes(texts: list[bytes]) -> None:
    counts = PretokenCounts.from_pairs((text, 2) for text in texts)
    for start, end, characters, _ in repeats(counts.data, counts.offsets, counts.counts, 4, True, True).tolist():
        assert 1 <= characters <= 4
        assert end - start <= 4 * characters


@given(words, models())
def test_expectations(counted: dict[bytes, int], model: dict[bytes, float]) -> None:
    counts = PretokenCounts.from_pairs(counted.items())
    expected = np.zeros(len(model))
    likelihood = kernel.expect(
        Trie(*flat(list(model))), np.array(list(model.values())),
        counts.data, counts.offsets, counts.counts, 0, len(counts), expected,
    )  # fmt: skip
    brute, log_probability = twin.expect(list(counts.items()), model)
    assert likelihood == pytest.approx(log_probability)
    assert expected == pytest.approx([brute[token] for token in model])


@pytest.mark.parametrize("length", [10, 5_000, 200_000])
def test_expectations_of_long_pretokens(length: int) -> None:
    """One way to read it: the likelihood is n log p, far below the least double."""
    counts = PretokenCounts.from_pairs([(b"a" * length, 1)])
    expected = np.zeros(2)
    probability = np.array([1e-12, 1e-12])
    data, offsets, number = counts.data, counts.offsets, counts.counts
    likelihood = kernel.expect(Trie(*flat([b"a", b"b"])), probability, data, offsets, number, 0, 1, expected)
    assert likelihood == pytest.approx(length * math.log(1e-12))
    assert expected == pytest.approx([length, 0])


@given(words, models())
def test_best_and_losses(counted: dict[bytes, int], model: dict[bytes, float]) -> None:
    counts = PretokenCounts.from_pairs(counted.items())
    scores = {token: math.log(probability) for token, probability in model.items()}
    tokens = list(model)
    values = np.array(list(scores.values()))
    occurrences = best_counts(counts, tokens, values)
    brute = sum(count * sum(scores[token] for token in twin.best(word, scores)) for word, count in counts.items())
    assert occurrences @ values == pytest.approx(brute)
    loss = np.empty(len(tokens))
    kernel.losses(Trie(*flat(tokens)), values, occurrences, *flat(tokens), 0, len(tokens), loss)
    seen = Counter(dict(zip(tokens, occurrences.tolist(), strict=True)))
    unlike = [
        token
        for token, value in zip(tokens, loss.tolist(), strict=True)
        if value != pytest.approx(twin.loss(token, scores, seen))
    ]
    assert not [token for token in unlike if not tied(token, scores)]


def tied(token: bytes, scores: dict[bytes, float]) -> bool:
    """Whether rounding decides how the token is replaced."""
    ways = sorted(sum(scores[piece] for piece in way) for way in twin.segmentations(token, set(scores)))
    return any(math.isclose(low, high) for low, high in pairwise(ways))


@pytest.fixture(scope="module")
def documentation() -> PretokenCounts:
    return count("".join(pydoc_data.topics.topics.values())[:300_000])


def reference(counts: PretokenCounts, size: int) -> dict[bytes, float]:
    """Tokens and scores of ``tokenizers`` on the same counts, a byte spelt as the character of its value + 256."""
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.Unigram())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    alphabet = [chr(256 + byte) for byte in range(256)]
    trainer = tokenizers.trainers.UnigramTrainer(
        vocab_size=size + 1, initial_alphabet=alphabet, unk_token="<unk>", show_progress=False
    )
    spelt = ((word.decode("latin-1").translate({byte: 256 + byte for byte in range(256)}), count)
             for word, count in counts.items())  # fmt: skip
    tokenizer.train_from_iterator((" ".join([word] * count) for word, count in spelt), trainer)
    vocabulary = json.loads(tokenizer.to_str())["model"]["vocab"]
    return {bytes(ord(letter) - 256 for letter in token): score for token, score in vocabulary if token != "<unk>"}


def test_estimates_of_tokenizers(documentation: PretokenCounts) -> None:
    """Without pruning, seeds, expectations and estimates are those of ``tokenizers`` to rounding."""
    vocabulary = build(documentation, 50_000, UnigramOptions(whole_characters=False))
    theirs = reference(documentation, 50_000)
    assert set(vocabulary.tokens) == set(theirs)
    pairs = [(score, theirs[token]) for token, score in zip(vocabulary.tokens, vocabulary.scores, strict=True)
             if len(token) > 1]  # fmt: skip
    assert [ours for ours, _ in pairs] == pytest.approx([others for _, others in pairs], abs=1e-6)


def test_agreement_with_tokenizers(documentation: PretokenCounts) -> None:
    """After pruning, 95% of the tokens and the number of tokens in the text agree."""
    vocabulary = build(documentation, 1500, UnigramOptions())
    theirs = reference(documentation, 1500)
    shared = set(vocabulary.tokens[256:]) & set(theirs)
    assert len(shared) > 0.95 * (1500 - 256)
    ours = best_counts(documentation, list(vocabulary.tokens), vocabulary.scores).sum()
    other = best_counts(documentation, list(theirs), np.array(list(theirs.values()))).sum()
    assert ours == pytest.approx(other, rel=0.005)


def test_seeds_by_occurrence_save_tokens(documentation: PretokenCounts) -> None:
    tokens = {}
    for seed_counts in ("types", "occurrences"):
        vocabulary = build(documentation, 1500, UnigramOptions(seed_counts=seed_counts))
        tokens[seed_counts] = best_counts(documentation, list(vocabulary.tokens), vocabulary.scores).sum()
    assert tokens["occurrences"] < tokens["types"]


def test_threads_change_nothing(documentation: PretokenCounts) -> None:
    one, three = (build(documentation, 1000, UnigramOptions(), threads=threads) for threads in (1, 3))
    assert one.tokens == three.tokens
    assert one.scores.tobytes() == three.scores.tobytes()


@given(st.dictionaries(st.binary(min_size=1, max_size=8), st.integers(1, 3), max_size=5), st.integers(200, 300))
def test_any_bytes(counted: dict[bytes, int], size: int) -> None:
    vocabulary = build(PretokenCounts.from_pairs(counted.items()), size, UnigramOptions())
    check(vocabulary)
    assert len(vocabulary) <= max(size, 256)


def test_any_script() -> None:
    text = "Der Fluß fließt. 日本語の文字、日本語の言葉。 Українська мова й українські слова. 𝄞𝄞 " * 3
    vocabulary = build(count(text), 330, UnigramOptions())
    check(vocabulary)
    assert "日本語の".encode() in vocabulary.tokens
    assert all(token.decode() for token in vocabulary.tokens[256:])


def check(vocabulary: Vocabulary) -> None:
    """Bytes first, other tokens by score, all scores finite, unseen bytes well below."""
    scores = vocabulary.scores
    assert scores is not None
    assert vocabulary.tokens[:256] == BYTES
    assert np.isfinite(scores).all()
    order = [(-score, token) for token, score in zip(vocabulary.tokens[256:], scores[256:].tolist(), strict=True)]
    assert order == sorted(order)
    assert scores[0xFF] == pytest.approx(scores[scores > scores[0xFF]].min(initial=0.0) - UNSEEN_PENALTY) or (
        scores[0xFF] > scores.min() or (scores == scores[0xFF]).all()
    )


def test_too_much_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unigram, "MAX_BYTES", 3)
    with pytest.raises(unigram.TokbenchError, match="unique pre-tokens come to 4 bytes"):
        build(PretokenCounts.from_pairs([(b"abcd", 1)]), 300, UnigramOptions())
