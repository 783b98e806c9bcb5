"""Unigram construction: its kernels against brute force, its result against the trainer of ``tokenizers``."""

import json
import math
import pydoc_data.topics
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.unigram_agreement import (
    GPT2,
    SENTENCEPIECE,
    TOKENIZERS,
    WORD,
    compare,
    counted,
    paragraphs_of,
    train_sentencepiece,
    train_tokenizers,
    with_ours,
)
from tokbench.candidates import initial
from tokbench.candidates import seeds as finding
from tokbench.candidates.alphabet import ANY, script_class, token_boundaries
from tokbench.candidates.seeds import repeats
from tokbench.construction.unigram import UNSEEN_PENALTY, UnigramOptions, build
from tokbench.errors import TokbenchError
from tokbench.kernels import unigram as kernel
from tokbench.kernels.trie import Trie
from tokbench.pretokens import PretokenCounts
from tokbench.reference import unigram as twin
from tokbench.vocabulary import BYTES, Vocabulary

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


def best_counts(counts: PretokenCounts, tokens: list[bytes], scores: np.ndarray) -> np.ndarray:
    occurrences = np.zeros(len(tokens), np.int64)
    arguments = (counts.data, counts.offsets, counts.counts, 0, len(counts))
    kernel.count_best(Trie(*flat(tokens)), scores, *arguments, occurrences)
    return occurrences


@given(words, st.integers(1, 10), st.booleans(), st.booleans(), st.integers(1, 3))
def test_repeats(
    counted: dict[bytes, int], longest: int, by_occurrence: bool, distinct_ends: bool, threads: int
) -> None:
    counts = PretokenCounts.from_pairs(counted.items())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(finding, "PART_BYTES", 10)
        found = repeats(
            counts, longest, by_occurrence=by_occurrence, distinct_ends=distinct_ends, threads=threads
        ).tolist()
    text = counts.data.tobytes()
    labels = [text[start:end] for start, end, _, _ in found]
    assert labels == sorted(labels)
    expected = twin.repeats(list(counts.items()), longest, by_occurrence, distinct_ends)
    assert {text[start:end]: count for start, end, _, count in found} == expected


@pytest.mark.parametrize("whole_characters", [False, True])
def test_threads_do_not_show_in_repeats(documentation: PretokenCounts, whole_characters: bool) -> None:
    """In enough text for several parts and trees of several sizes."""
    assert len(documentation.data) > finding.PART_BYTES // 2
    found = []
    for threads, part_bytes in ((1, 1 << 30), (1, 5000), (2, 5000), (3, 5000), (7, 50_000)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(finding, "PART_BYTES", part_bytes)
            found.append(repeats(documentation, 16, whole_characters=whole_characters, threads=threads))
    assert all(np.array_equal(found[0], other) for other in found[1:])


@pytest.mark.parametrize("settings", [{}, {"pruning_loss": "tokenizers", "seed_boundaries": "distinct"}])
def test_threads_do_not_show(documentation: PretokenCounts, settings: dict[str, str]) -> None:
    built = [build(documentation, 2000, UnigramOptions(**settings), threads=threads) for threads in (1, 2, 3, 7)]
    assert all(other.tokens == built[0].tokens for other in built[1:])
    assert all(np.array_equal(other.scores, built[0].scores) for other in built[1:])


@given(
    st.dictionaries(st.text("aéè€𝄞", min_size=1, max_size=7), st.integers(1, 3), max_size=5),
    st.booleans(),
    st.booleans(),
)
def test_repeated_substrings_of_characters_equal_those_of_recoded_bytes(
    counted: dict[str, int], by_occurrence: bool, distinct_ends: bool
) -> None:
    """Characters are what bytes are otherwise: the text with each character made one byte gives the same."""
    letters = dict(zip("aéè€𝄞", b"abcde", strict=True))
    wide = PretokenCounts.from_pairs((word.encode(), count) for word, count in counted.items())
    found = repeats(wide, 3, whole_characters=True, by_occurrence=by_occurrence, distinct_ends=distinct_ends)
    short = [(bytes(letters[letter] for letter in word), count) for word, count in counted.items()]
    expected = twin.repeats(short, 3, by_occurrence, distinct_ends)
    text = wide.data.tobytes()
    spelt = {text[start:end].decode(): (size, count) for start, end, size, count in found.tolist()}
    assert {bytes(letters[letter] for letter in part): count for part, (_, count) in spelt.items()} == expected
    assert all(len(part) == size for part, (size, _) in spelt.items())


@given(st.lists(st.binary(min_size=1, max_size=8), max_size=4))
def test_repeats_of_any_bytes(texts: list[bytes]) -> None:
    counts = PretokenCounts.from_pairs((text, 2) for text in texts)
    found = repeats(counts, 4, whole_characters=True, by_occurrence=True, distinct_ends=True)
    for start, end, characters, _ in found.tolist():
        assert 1 <= characters <= 4
        assert end - start <= 4 * characters


@given(
    st.lists(st.text("aяо日ア0! é", min_size=1, max_size=6), min_size=1, max_size=4, unique=True),
    st.tuples(st.booleans(), st.booleans(), st.booleans(), st.booleans()),
    st.sampled_from(["aяо日アé0! ", "aяア "]),
)
def test_barriers(texts: list[str], rules: tuple[bool, bool, bool, bool], alphabet: str) -> None:
    """Substrings that cross no barrier are those that sentencepiece's rules allow."""
    counts = PretokenCounts.from_pairs((text.encode(), 1) for text in texts)
    names = ("split_by_unicode_script", "split_by_number", "split_by_whitespace", "split_digits")
    marks = token_boundaries(
        counts, alphabet={letter.encode() for letter in alphabet}, **dict(zip(names, rules, strict=True))
    )
    for (pretoken, _), start in zip(counts.items(), counts.offsets.tolist(), strict=False):
        text = pretoken.decode()
        for low in range(len(text)):
            for high in range(low + 2, len(text) + 1):
                first, last = (start + len(text[:end].encode()) for end in (low, high))
                assert (not marks[first + 1 : last].any()) == twin.allowed(text[low:high], *rules, alphabet)


@given(st.lists(st.binary(min_size=1, max_size=8), min_size=1, max_size=4), st.integers(512, 600))
def test_characters_of_any_bytes(texts: list[bytes], size: int) -> None:
    """With sentencepiece's rules too, any bytes can be built from, and bytes outside UTF-8 are left alone."""
    vocabulary = build(PretokenCounts.from_pairs((text, 2) for text in texts), size, SENTENCEPIECE)
    check(vocabulary)
    assert all(token.decode() for token in vocabulary.tokens[256:])


def test_combining_marks_have_the_script_of_their_base_character() -> None:
    counts = PretokenCounts.from_pairs([("e\u0301я".encode(), 1), ("\u0301я".encode(), 1)])
    marks = token_boundaries(counts, split_by_unicode_script=True)
    crossed = {pretoken.decode(): marks[start : start + len(pretoken)].any()
               for (pretoken, _), start in zip(counts.items(), counts.offsets.tolist(), strict=False)}  # fmt: skip
    assert crossed == {"e\u0301я": True, "\u0301я": False}


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


@given(words, models(), st.integers(-1, 20))
def test_best_and_losses(counted: dict[bytes, int], model: dict[bytes, float], growth: int) -> None:
    counts = PretokenCounts.from_pairs(counted.items())
    scores = {token: math.log(probability) for token, probability in model.items()}
    tokens = list(model)
    values = np.array(list(scores.values()))
    occurrences = best_counts(counts, tokens, values)
    brute = sum(count * sum(scores[token] for token in twin.best(word, scores)) for word, count in counts.items())
    assert occurrences @ values == pytest.approx(brute)
    loss = np.empty(len(tokens))
    kernel.losses(
        Trie(*flat(tokens)), values, occurrences, *flat(tokens), 0, len(tokens), occurrences.sum(), growth, loss
    )
    seen = Counter(dict(zip(tokens, occurrences.tolist(), strict=True)))
    unlike = [
        token
        for token, value in zip(tokens, loss.tolist(), strict=True)
        if value != pytest.approx(twin.loss(token, scores, seen, growth))
    ]
    assert not [token for token in unlike if not tied(token, scores)]


def tied(token: bytes, scores: dict[bytes, float]) -> bool:
    """Return whether rounding decides the replacement of the token."""
    ways = sorted(sum(scores[piece] for piece in way) for way in twin.segmentations(token, set(scores)))
    return any(math.isclose(low, high) for low, high in pairwise(ways))


def topics() -> list[str]:
    return ["".join(pydoc_data.topics.topics.values())[:300_000]]


@pytest.fixture(scope="module")
def documentation() -> PretokenCounts:
    return counted(topics(), GPT2)


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
    vocabulary = build(documentation, 50_000, TOKENIZERS)
    theirs = reference(documentation, 50_000)
    assert set(vocabulary.tokens) == set(theirs)
    pairs = [(score, theirs[token]) for token, score in zip(vocabulary.tokens, vocabulary.scores, strict=True)
             if len(token) > 1]  # fmt: skip
    assert [ours for ours, _ in pairs] == pytest.approx([others for _, others in pairs], abs=1e-6)


@pytest.mark.parametrize("size", [1500, 2000])
def test_pruning_of_tokenizers(documentation: PretokenCounts, size: int) -> None:
    """After pruning too, where characters are in the order of bytes, so that ties fall alike: the same tokens."""
    assert set(build(documentation, size, TOKENIZERS).tokens) == set(reference(documentation, size))


def test_agreement_with_tokenizers() -> None:
    """With the alphabet of its byte-level pre-tokenizer, but for ties; with the other losses, not as closely."""
    pytest.importorskip("tokenizers")
    counts = counted(topics(), GPT2)
    theirs = train_tokenizers(topics(), 1500)
    agreement = compare(counts, with_ours(counts, 1500, TOKENIZERS), theirs)
    assert agreement.shared >= 0.99
    assert abs(agreement.likelihood) <= 0.001
    assert abs(agreement.tokens) <= 0.001
    other = TOKENIZERS.model_copy(update={"pruning_loss": "likelihood"})
    assert compare(counts, with_ours(counts, 1500, other), theirs).shared < agreement.shared


def test_agreement_with_sentencepiece() -> None:
    """With its rules, closely, whichever of its two trainers is installed; with those of ``tokenizers``, not."""
    pytest.importorskip("sentencepiece")
    paragraphs = paragraphs_of(topics())
    counts = counted(paragraphs, WORD)
    theirs = train_sentencepiece(paragraphs, 1500)
    agreement = compare(counts, with_ours(counts, 1500, SENTENCEPIECE), theirs)
    assert agreement.shared >= 0.95
    assert abs(agreement.likelihood) <= 0.015
    assert abs(agreement.tokens) <= 0.005
    assert compare(counts, with_ours(counts, 1500, TOKENIZERS), theirs).shared < 0.9


def test_distinct_ends_save_tokens(documentation: PretokenCounts) -> None:
    tokens = {}
    for ends in ("shared", "distinct"):
        options = UnigramOptions(seed_counts="occurrences", seed_boundaries=ends)
        vocabulary = build(documentation, 1500, options)
        tokens[ends] = best_counts(documentation, list(vocabulary.tokens), vocabulary.scores).sum()
    assert tokens["distinct"] < tokens["shared"]


def test_rules_bind_the_tokens() -> None:
    text = counted(["a1b2 a1b2 xя xяa 12 12 1b 1b\u0416 rare€ rare€"] * 3 + ["é"], WORD)
    free, bound = (
        build(text, 300, UnigramOptions(alphabet="character", character_coverage=1, **rules)).tokens[256:]
        for rules in ({}, {"split_by_unicode_script": True, "split_digits": True, "split_by_whitespace": True})
    )
    assert any(b"1" in token for token in free)
    assert any("xя".encode() in token for token in free)
    assert not any(set(token) & set(b"12") or "xя".encode() in token or b" " in token[1:] for token in bound)
    assert {character.encode() for character in "€éяЖ"} <= set(bound)


def test_alphabet_of_characters() -> None:
    """The characters that cover the text are tokens, even where they are never needed; no token holds a rarer one."""
    counts = counted(["日本 日本 日本 日本語 日本語 語る ё"], WORD)
    options = UnigramOptions(alphabet="character", character_coverage=0.9)
    tokens = build(counts, 300, options).tokens[256:]
    assert {"日".encode(), "本".encode(), "語".encode()} <= set(tokens)
    assert not any(rare.encode() in token for token in tokens for rare in "ё")


def test_rejections() -> None:
    with pytest.raises(ValueError, match="needs whole_characters"):
        UnigramOptions(alphabet="character", whole_characters=False)
    with pytest.raises(TokbenchError, match="alphabet of 258 bytes and characters exceeds the vocabulary size 257"):
        build(counted(["日本"], WORD), 257, UnigramOptions(alphabet="character", character_coverage=1))


def test_scores_survive_json(documentation: PretokenCounts) -> None:
    """``tokenizers`` reads them as they are, so that its sums, and ties, are ours."""
    tokenizers = pytest.importorskip("tokenizers")
    scores = build(documentation, 3000, UnigramOptions()).scores.tolist()
    model = tokenizers.models.Unigram([(f"token {index}", score) for index, score in enumerate(scores)])
    read = tokenizers.Tokenizer.from_str(tokenizers.Tokenizer(model).to_str())
    assert [score for _, score in json.loads(read.to_str())["model"]["vocab"]] == scores


def test_threads_change_nothing(documentation: PretokenCounts) -> None:
    one, three = (build(documentation, 1000, SENTENCEPIECE, threads=threads) for threads in (1, 3))
    assert one.tokens == three.tokens
    assert one.scores.tobytes() == three.scores.tobytes()


@given(st.dictionaries(st.binary(min_size=1, max_size=8), st.integers(1, 3), max_size=5), st.integers(200, 300))
def test_any_bytes(counted: dict[bytes, int], size: int) -> None:
    vocabulary = build(PretokenCounts.from_pairs(counted.items()), size, UnigramOptions())
    check(vocabulary)
    assert len(vocabulary) <= max(size, 256)


def test_any_script() -> None:
    text = "Der Fluß fließt. 日本語の文字、日本語の言葉。 Українська мова й українські слова. 𝄞𝄞 " * 3
    vocabulary = build(counted([text], GPT2), 330, UnigramOptions())
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
    monkeypatch.setattr(initial, "MAX_BYTES", 3)
    with pytest.raises(TokbenchError, match="unique pre-tokens come to 4 bytes"):
        build(PretokenCounts.from_pairs([(b"abcd", 1)]), 300, UnigramOptions())


def test_only_the_space_belongs_to_every_script() -> None:
    assert script_class(" ", True) == ANY
    assert script_class("\n", True) == script_class("\t", True) == script_class("!", True) != ANY


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("alphabet", ["byte", "character"])
def test_no_text_gives_the_bytes_alone(alphabet: str) -> None:
    """And divides nothing by nothing."""
    vocabulary = build(PretokenCounts.from_pairs([]), 300, UnigramOptions(alphabet=alphabet))
    assert vocabulary.tokens == BYTES
    assert len(set(vocabulary.scores.tolist())) == 1
