"""BPE construction against its twin and against the trainer of Hugging Face ``tokenizers``.

WordPiece construction against its twin and against the trainer and the model of Hugging Face ``tokenizers``.

RandTrain: weights, the draw, and its independence of order.
"""

import gzip
import json
import pydoc_data.topics
import re
from collections import Counter
from pydoc_data.topics import topics

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from tests.support.external_tokenizers import DATA, needs
from tokbench.adapters.export_hugging_face import to_hugging_face
from tokbench.candidates import initial
from tokbench.candidates.alphabet import covering_characters
from tokbench.construction import bpe, ngram, randtrain, unigram
from tokbench.construction.bpe import BpeOptions, build
from tokbench.construction.randtrain import RandTrainOptions, sampling_keys
from tokbench.construction.randtrain import build as randtrain_build
from tokbench.construction.wordpiece import WordPieceOptions
from tokbench.construction.wordpiece import build as wordpiece_build
from tokbench.errors import TokbenchError
from tokbench.kernels.matches import count_matches
from tokbench.kernels.trie import Trie
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.reference import segmentation as segmentation_twin
from tokbench.reference.bpe import train as twin
from tokbench.reference.bpe import train_wordpiece as wordpiece_twin
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.hugging_face import PRINTABLE, spelling_ranks
from tokbench.vocabulary import BYTES, Vocabulary

NOVELS = DATA / "english" / "novels.jsonl.gz"
GPT2 = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
OTHERS = [byte for byte in range(256) if byte not in PRINTABLE]
SPELLING = {byte: chr(byte) if byte in PRINTABLE else chr(256 + OTHERS.index(byte)) for byte in range(256)}

words = st.dictionaries(
    st.one_of(
        st.text("ab", min_size=1, max_size=24).map(str.encode),
        st.text("aé ", min_size=1, max_size=12).map(str.encode),
        st.binary(min_size=1, max_size=6),
    ),
    st.integers(1, 5),
    max_size=6,
)
LIMITS = st.one_of(st.none(), st.integers(2, 9))


def spell(token: bytes) -> str:
    return "".join(SPELLING[byte] for byte in token)


def count(text: str) -> PretokenCounts:
    return PretokenCounts.from_pairs((token.encode(), count) for token, count in Counter(GPT2.findall(text)).items())


def reference(counts: PretokenCounts, size: int, options: BpeOptions) -> tuple[list[list[str]], dict[str, int]]:
    """Merges and ids of ``tokenizers`` on the same counts; its length limit is exclusive."""
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=options.min_pair_count,
        initial_alphabet=list(SPELLING.values()),
        max_token_length=options.max_token_bytes and options.max_token_bytes + 1,
        show_progress=False,
    )
    tokenizer.train_from_iterator((" ".join([spell(word)] * count) for word, count in counts.items()), trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return model["merges"], model["vocab"]


def assert_equals_reference(counts: PretokenCounts, size: int, options: BpeOptions) -> None:
    vocabulary = build(counts, size, options)
    merges, ids = reference(counts, size, options)
    spelt = [spell(token) for token in vocabulary.tokens]
    assert [[spelt[left], spelt[right]] for left, right, _ in vocabulary.merges.tolist()] == merges
    assert {token: id for token, id in ids.items() if id >= 256} == {
        token: id for id, token in enumerate(spelt) if id >= 256
    }


@given(words, st.integers(256, 400), LIMITS, st.integers(0, 3))
def test_twin(counted: dict[bytes, int], size: int, longest: int | None, least: int) -> None:
    counts = PretokenCounts.from_pairs(counted.items())
    vocabulary = build(counts, size, BpeOptions(min_pair_count=least, max_token_bytes=longest))
    merges, tokens = twin(list(counts.items()), spelling_ranks().tolist(), size, least, longest or 10**6)
    assert list(vocabulary.tokens) == tokens
    assert vocabulary.merges.tolist() == [[*pair, 256 + index] for index, pair in enumerate(merges)]


@given(st.dictionaries(st.text("abc", min_size=2, max_size=6), st.integers(1, 40)), st.integers(0, 60))
def test_counts_that_fall_below_the_least(counted: dict[str, int], least: int) -> None:
    counts = PretokenCounts.from_pairs((word.encode(), count) for word, count in counted.items())
    vocabulary = build(counts, 400, BpeOptions(min_pair_count=least))
    assert list(vocabulary.tokens) == twin(list(counts.items()), spelling_ranks().tolist(), 400, least, 10**6)[1]


def test_a_pair_that_has_fallen_below_the_least_is_not_merged() -> None:
    """Both pairs are seen three times; the merge of the first takes one of the second away."""
    counts = PretokenCounts.from_pairs([(b"ab", 2), (b"abc", 1), (b"bc", 2)])
    assert build(counts, 300, BpeOptions(min_pair_count=3)).tokens[256:] == (b"ab",)


@settings(max_examples=60)
@given(words.filter(bool), st.integers(257, 400), LIMITS, st.integers(0, 3))
def test_tokenizers(counted: dict[bytes, int], size: int, longest: int | None, least: int) -> None:
    counts = PretokenCounts.from_pairs(counted.items())
    assert_equals_reference(counts, size, BpeOptions(min_pair_count=least, max_token_bytes=longest))


@pytest.mark.parametrize(("size", "longest", "least"), [(6000, None, 0), (3000, 5, 0), (6000, None, 21)])
def test_tokenizers_on_documentation(size: int, longest: int | None, least: int) -> None:
    text = "".join(pydoc_data.topics.topics.values())
    assert_equals_reference(count(text), size, BpeOptions(max_token_bytes=longest, min_pair_count=least))


def test_tokenizers_without_pretokenization() -> None:
    text = "".join(pydoc_data.topics.topics.values()).encode()[:20_000]
    counts = PretokenCounts.from_pairs([(text, 2), (text[::-1], 1), (b"a" * 1001, 3)])
    assert_equals_reference(counts, 700, BpeOptions())


@needs(NOVELS)
def test_tokenizers_on_novels() -> None:
    with gzip.open(NOVELS, "rt", encoding="utf-8") as lines:
        text = "".join(json.loads(line)["text"] for line, _ in zip(lines, range(2), strict=False))
    assert_equals_reference(count(text[:1_000_000]), 8192, BpeOptions())


def test_spelt_ranks() -> None:
    """Bytes are ordered by the code point of their character: ``!`` first, the space after all that print."""
    by_rank = np.argsort(spelling_ranks())
    assert [SPELLING[byte] for byte in by_rank.tolist()] == sorted(SPELLING.values())
    assert spelling_ranks()[ord("!")] == 0
    assert spelling_ranks()[ord(" ")] == 220


def test_counts_beyond_32_bits() -> None:
    huge = PretokenCounts.from_pairs([(b"ab", 2**40), (b"bc", 2**40 + 1), (b"cab", 2**33)])
    assert build(huge, 259, BpeOptions()).tokens[256:] == (b"ab", b"bc", b"cab")


def test_run_halves_from_the_left() -> None:
    vocabulary = build(PretokenCounts.from_pairs([(b"a" * 7, 1)]), 300, BpeOptions())
    assert [len(token) for token in vocabulary.tokens[256:]] == [2, 4, 3, 7]


@pytest.mark.parametrize("counted", [[], [(b"a", 5)], [(b"\xff", 1), (b"b", 2)]])
def test_nothing_to_merge(counted: list[tuple[bytes, int]]) -> None:
    vocabulary = build(PretokenCounts.from_pairs(counted), 1000, BpeOptions())
    assert vocabulary.tokens == BYTES
    assert vocabulary.merges.shape == (0, 3)


def test_too_much_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(initial, "MAX_BYTES", 3)
    with pytest.raises(TokbenchError, match="unique pre-tokens come to 4 bytes"):
        build(PretokenCounts.from_pairs([(b"abcd", 1)]), 300, BpeOptions())


# The character alphabet

MIXED = PretokenCounts.from_pairs(
    [("東京".encode(), 3), ("東".encode() + b"\xff", 2), ("né".encode(), 4), ("ß".encode(), 1)]
)


def test_bpe_adds_characters_before_merges() -> None:
    """A character of three bytes brings its first two; the rarest character is left in bytes."""
    vocabulary = build(MIXED, 300, BpeOptions(alphabet="character", character_coverage=0.9))
    east, capital = "東".encode(), "京".encode()
    assert vocabulary.tokens[256:262] == (east[:2], east, "é".encode(), capital[:2], capital, "né".encode())
    assert "ß".encode() not in vocabulary.tokens[:261]


def test_characters_are_merges_like_any_other() -> None:
    """Merging in order of creation breaks no character of the alphabet, and bytes come back whatever they are."""
    vocabulary = build(MIXED, 262, BpeOptions(alphabet="character", character_coverage=1.0))
    tokenizer = Tokenizer(vocabulary, "none", "merge")
    for text in ("東京né".encode(), "京ß".encode(), b"\xe6\x9d", "東".encode()[1:], b"\xe6\xe6\x9d\xb1"):
        assert tokenizer.decode(tokenizer.encode(text)) == text
    assert [vocabulary.tokens[id] for id in tokenizer.encode("京東é")] == [part.encode() for part in "京東é"]


@settings(max_examples=60)
@given(st.dictionaries(st.text("aé東京🦀", min_size=1, max_size=8).map(str.encode), st.integers(1, 5), max_size=6))
def test_characters_against_twin(counted: dict[bytes, int]) -> None:
    """Byte-pair merging of words spelt in characters, each written as one private byte."""
    counts = PretokenCounts.from_pairs(counted.items())
    options = BpeOptions(alphabet="character", character_coverage=1.0)
    alphabet = build(counts, 256 + 9, options).tokens
    characters = "aé東京🦀"
    by_byte = {character: bytes([place]) for place, character in enumerate(characters)}
    spelt = [(b"".join(by_byte[c] for c in word.decode()), count) for word, count in counts.items()]
    order = [alphabet.index(c.encode()) if c.encode() in alphabet else 999 for c in characters]
    ranks = [sorted(order).index(place) for place in order] + list(range(5, 256))
    _, tokens = twin(spelt, ranks, 280, 0, 10**6)
    expected = ["".join(characters[byte] for byte in token) for token in tokens[256:]]
    vocabulary = build(counts, 256 + 9 + len(expected), options)
    learnt = [token.decode() for token in vocabulary.tokens[256:] if len(token.decode(errors="ignore")) > 1]
    assert learnt[: len(expected)] == expected[: len(learnt)]


def test_alphabet_larger_than_the_vocabulary() -> None:
    with pytest.raises(TokbenchError, match="alphabet of 262 bytes and characters exceeds the vocabulary size 260"):
        build(MIXED, 260, BpeOptions(alphabet="character", character_coverage=1.0))


def test_characters_that_are_covered_begin_where_ascii_ends() -> None:
    """By hand: DEL is a byte; U+0080 and ü are two, and with the first of them 9 of 10 are covered."""
    counts = PretokenCounts.from_pairs([("\x7f\x80".encode(), 4), ("\x80".encode(), 1), ("ü".encode(), 1)])
    assert covering_characters(counts, 0.9) == ["\x80".encode()]
    assert covering_characters(counts, 1.0) == ["\x80".encode(), "ü".encode()]


TEXT = "".join(pydoc_data.topics.topics.values())
WORDS = Counter(re.findall("[a-z]+", TEXT))
"""Words without white space and without ``#``, which the marks of the other trainer could be mistaken for."""

wordpiece_words = st.dictionaries(
    st.one_of(
        st.text("ab", min_size=1, max_size=20).map(str.encode),
        st.text("aé ", min_size=1, max_size=12).map(str.encode),
        st.binary(min_size=1, max_size=6),
    ),
    st.integers(1, 5),
    max_size=6,
)
objectives = st.sampled_from(["frequency", "likelihood"])


def pieces(counts: PretokenCounts, size: int, options: WordPieceOptions) -> list[tuple[bytes, bool]]:
    made = wordpiece_build(counts, size, options)
    return list(zip(made.tokens, made.continuation.tolist(), strict=True))


@settings(max_examples=200)
@given(wordpiece_words, st.integers(512, 600), st.one_of(st.none(), st.integers(2, 9)), st.integers(0, 3), objectives)
def test_wordpiece_twin(counted: dict[bytes, int], size: int, longest: int | None, least: int, objective: str) -> None:
    counts = PretokenCounts.from_pairs(counted.items())
    options = WordPieceOptions(objective=objective, min_pair_count=least, max_token_bytes=longest)
    expected = wordpiece_twin(list(counts.items()), spelling_ranks().tolist(), size, least, longest or 10**6, objective)
    assert pieces(counts, size, options) == expected


@pytest.mark.parametrize("objective", ["frequency", "likelihood"])
def test_twin_on_words(objective: str) -> None:
    counts = PretokenCounts.from_pairs((f" {word}".encode(), count) for word, count in WORDS.most_common(300))
    options = WordPieceOptions(objective=objective, min_pair_count=20)
    expected = wordpiece_twin(list(counts.items()), spelling_ranks().tolist(), 700, 20, 10**6, objective)
    assert pieces(counts, 700, options) == expected


def test_likelihood_by_hand() -> None:
    """q is always before u, so qu comes first although xt is more frequent."""
    counts = PretokenCounts.from_pairs([(b"xthe", 10), (b"xtoe", 9), (b"xhoe", 9), (b"xquo", 2)])
    assert pieces(counts, 513, WordPieceOptions(objective="frequency"))[512:] == [(b"xt", False)]
    assert pieces(counts, 513, WordPieceOptions(objective="likelihood"))[512:] == [(b"qu", True)]


def test_scores_beyond_64_bits() -> None:
    """1/2**40 against one part in 2**80 more: a difference that no double can tell."""
    big = 2**40
    counts = PretokenCounts.from_pairs([(b"xab", big + 1), (b"ycd", big), (b"z", 1)])
    assert pieces(counts, 513, WordPieceOptions(objective="likelihood"))[512:] == [(b"yc", False)]
    assert pieces(counts, 513, WordPieceOptions(objective="frequency"))[512:] == [(b"xa", False)]


def wordpiece_reference(counted: Counter[str], min_count: int) -> set[str]:
    """Pieces of the trainer of ``tokenizers``: all pairs that are seen often enough, so that no tie decides the end."""
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    trainer = tokenizers.trainers.WordPieceTrainer(vocab_size=10**6, min_frequency=min_count, show_progress=False)
    tokenizer.train_from_iterator((" ".join([word] * count) for word, count in counted.items()), trainer)
    return set(json.loads(tokenizer.to_str())["model"]["vocab"])


@pytest.mark.parametrize(("min_count", "apart"), [(200, 0), (20, 16)])
def test_pieces_of_tokenizers(min_count: int, apart: int) -> None:
    """The same but for a few that hang on ties, which fall differently from run to run over there."""
    counts = PretokenCounts.from_pairs((word.encode(), count) for word, count in WORDS.items())
    mine = pieces(counts, 10**5, WordPieceOptions(min_pair_count=min_count))
    letters = {byte for word in WORDS for byte in word.encode()}
    starts = {word.encode()[0] for word in WORDS}
    merged = {("##" if inside else "") + token.decode() for token, inside in mine[512:]}
    alphabet = {chr(byte) for byte in letters} | {f"##{chr(byte)}" for byte in letters}
    theirs = wordpiece_reference(WORDS, min_count)
    assert len(merged) > 200
    assert len(starts) == 26
    assert len((theirs - alphabet) ^ merged) <= apart


def test_ids_of_tokenizers() -> None:
    """The same vocabulary cuts every pre-token in the same way."""
    counts = count_pretokens([TEXT.encode()], "gpt2")
    tokenizer = Tokenizer(wordpiece_build(counts, 4000, WordPieceOptions()), "gpt2", "longest_prefix")
    converted = to_hugging_face(tokenizer)
    texts = [TEXT[start : start + 5000] for start in range(0, 200_000, 5000)]
    encodings = converted.encode_batch(texts, add_special_tokens=False)
    assert [encoding.ids for encoding in encodings] == [tokenizer.encode(text).tolist() for text in texts]


def test_words_of_any_length_are_known() -> None:
    counts = PretokenCounts.from_pairs([(b"a" * 500, 3)])
    tokenizer = Tokenizer(wordpiece_build(counts, 520, WordPieceOptions()), "none", "longest_prefix")
    for text in (b"a" * 1001, b"##a", b" the", b"\xff" * 200, b""):
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_alphabet_and_size() -> None:
    nothing = PretokenCounts.from_pairs([(b"a", 1)])
    made = wordpiece_build(nothing, 600, WordPieceOptions())
    assert len(made) == 512
    assert np.array_equal(made.continuation, np.arange(512) >= 256)
    with pytest.raises(TokbenchError, match="below WordPiece's alphabet of 512"):
        wordpiece_build(nothing, 511, WordPieceOptions())


RANDTRAIN_WORDS = st.text("ab", min_size=1, max_size=12).map(str.encode)
PAIRS = st.lists(st.tuples(RANDTRAIN_WORDS, st.integers(1, 3)), min_size=1, max_size=6)
TOKENS = st.lists(st.text("abc", min_size=1, max_size=5).map(str.encode), max_size=12, unique=True)


@given(PAIRS, TOKENS)
def test_matches_equal_twin(pairs: list[tuple[bytes, int]], tokens: list[bytes]) -> None:
    counts = PretokenCounts.from_pairs(pairs)
    data = np.frombuffer(b"".join(tokens), np.uint8)
    offsets = np.cumsum([0, *map(len, tokens)])
    found = count_matches(Trie(data, offsets), counts.data, counts.offsets, counts.counts, 0, len(counts), len(tokens))
    assert found.tolist() == segmentation_twin.matches(pairs, tokens)


@pytest.fixture(scope="module")
def prose() -> PretokenCounts:
    return count_pretokens([text.encode() for text in list(topics.values())[:30]], "gpt2")


@pytest.fixture(scope="module")
def start(prose: PretokenCounts) -> Vocabulary:
    return ngram.build(prose, 3000, ngram.NgramOptions())


def test_ngrams_weigh_their_counts(prose: PretokenCounts, start: Vocabulary) -> None:
    tokens, counted = ngram.top_ngrams(prose, 3000 - 256, 16)
    assert start.tokens[256:] == tuple(tokens)
    assert randtrain.weights(prose, start, "ngram", 2)[256:].tolist() == counted.tolist()


def test_randtrain_weights_are_token_counts_of_the_segmentation(prose: PretokenCounts) -> None:
    for method, vocabulary in (
        ("bpe", bpe.build(prose, 800, bpe.BpeOptions())),
        ("unigram", unigram.build(prose, 800, unigram.UnigramOptions(seed_size=4000))),
    ):
        found = randtrain.weights(prose, vocabulary, method, 1)
        assert found @ [len(token) for token in vocabulary.tokens] == prose.total_bytes


def test_the_bytes_stay_and_the_order_is_the_initial_one(prose: PretokenCounts, start: Vocabulary) -> None:
    built = randtrain_build(prose, 1000, RandTrainOptions(), seed=3, threads=2, initial=start)
    assert len(built) == 1000
    assert built.tokens[:256] == BYTES
    drawn = set(built.tokens)
    assert built.tokens == tuple(token for token in start.tokens if token in drawn)
    assert built.tokens != start.tokens[:1000]


def test_draws_belong_to_seed_and_token(prose: PretokenCounts, start: Vocabulary) -> None:
    one = randtrain_build(prose, 1000, RandTrainOptions(), seed=3, initial=start)
    shuffled = Vocabulary(BYTES + start.tokens[:255:-1])
    assert set(randtrain_build(prose, 1000, RandTrainOptions(), seed=3, initial=shuffled).tokens) == set(one.tokens)
    assert set(randtrain_build(prose, 700, RandTrainOptions(), seed=3, initial=start).tokens) < set(one.tokens)
    assert set(randtrain_build(prose, 1000, RandTrainOptions(), seed=4, initial=start).tokens) != set(one.tokens)


def test_first_draw_is_proportional_to_weight() -> None:
    tokens, heavy = (b"ab", b"cd", b"ef", b"gh"), np.array([1.0, 2.0, 5.0, 0.0])
    won = Counter(int(np.argmax(sampling_keys(tokens, heavy, seed))) for seed in range(4000))
    assert won[3] == 0
    assert chisquare([won[0], won[1], won[2]], [500, 1000, 2500]).pvalue > 0.01


def test_two_of_three_follow_successive_draws() -> None:
    """A-ES equals drawing one after another: P(left out) of each token in closed form."""
    tokens, heavy = (b"ab", b"cd", b"ef"), np.array([1.0, 2.0, 5.0])
    left = Counter(int(np.argmin(sampling_keys(tokens, heavy, seed))) for seed in range(4000))
    p = heavy / heavy.sum()
    last = [sum(p[i] * p[j] / (1 - p[i]) for i in range(3) for j in range(3) if len({i, j, k}) == 3) for k in range(3)]
    assert chisquare([left[k] for k in range(3)], [4000 * value for value in last]).pvalue > 0.01


def test_small_sizes_and_long_tokens(prose: PretokenCounts, start: Vocabulary) -> None:
    assert randtrain_build(prose, 256, RandTrainOptions(), initial=start).tokens == BYTES
    assert randtrain_build(prose, 5000, RandTrainOptions(), initial=start).tokens == start.tokens
    assert max(map(len, randtrain_build(prose, 900, RandTrainOptions(max_token_bytes=3), initial=start).tokens)) == 3
    with pytest.raises(TokbenchError, match="below 256"):
        randtrain_build(prose, 255, RandTrainOptions(), initial=start)
