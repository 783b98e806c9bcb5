"""Segmentation: every kernel equals its twin, loses nothing, and depends on nothing but the pre-token.

Merge and likelihood give the ids that Hugging Face ``tokenizers`` gives for the same vocabulary.
"""

import gzip
import json
import pydoc_data.topics
import re
from concurrent.futures import ThreadPoolExecutor
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.external_tokenizers import DATA, needs
from tests.support.texts import NEW_TOKENS, PAIRS, TEXTS, by_merges, cut, ids_of, make
from tokbench.errors import TokbenchError
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.reference import segmentation as greedy_twin
from tokbench.reference import segmentation as likelihood_twin
from tokbench.reference import segmentation as merge_twin
from tokbench.reference import segmentation as ranked_twin
from tokbench.reference import segmentation as shortest_path_twin
from tokbench.reference import segmentation as whole_twin
from tokbench.segmentation import Segmenter
from tokbench.segmentation.likelihood import likelihood
from tokbench.segmentation.merge import merge
from tokbench.vocabulary import BYTES, Vocabulary


@pytest.fixture(scope="module")
def prose() -> PretokenCounts:
    text = "".join(pydoc_data.topics.topics.values())
    return PretokenCounts.from_pairs((word.encode(), 1) for word in re.findall(r" ?\S+|\s+", text))


@pytest.fixture(scope="module")
def rich(prose: PretokenCounts) -> Vocabulary:
    """Pairs and triples of tokens of frequent words, with merges and scores."""
    pairs: dict[tuple[int, int], None] = {}
    tokens = list(BYTES)
    ids = {token: index for index, token in enumerate(tokens)}
    merges = []
    for word, _ in list(prose.items())[:400]:
        left = word[:1]
        for end in range(2, len(word) + 1):
            pair = ids[left], word[end - 1]
            left = word[:end]
            if pair not in pairs:
                pairs[pair] = None
                ids.setdefault(left, len(tokens))
                if ids[left] == len(tokens):
                    tokens.append(left)
                merges.append((*pair, ids[left]))
    scores = -np.log(np.arange(2, len(tokens) + 2))
    return Vocabulary(tuple(tokens), merges=np.array(merges, np.int32), scores=scores)


@given(PAIRS, st.lists(TEXTS, max_size=3))
def test_merge_equals_twin(pairs: list[tuple[int, int]], texts: list[bytes]) -> None:
    vocabulary = by_merges(pairs)
    merges = [tuple(row) for row in vocabulary.merges.tolist()]
    assert cut(make("merge", vocabulary), *texts) == [merge_twin.merge(text, merges) for text in texts]


def test_merge_takes_long_runs() -> None:
    vocabulary = by_merges([(0, 0), *((k, k) for k in range(2, 6))])
    assert vocabulary.tokens[-1] == b"a" * 32
    assert cut(make("merge", vocabulary), b"a" * 1_000_005) == [[260] * 31_250 + [257, 97]]


def test_merge_is_leftmost_first() -> None:
    vocabulary = Vocabulary((*BYTES, b"aa"), merges=np.array([[97, 97, 256]], np.int32))
    assert cut(make("merge", vocabulary), b"aaaaa") == [[256, 256, 97]]


@given(PAIRS, st.lists(TEXTS, max_size=3))
def test_whole_or_merge_equals_reference(pairs: list[tuple[int, int]], texts: list[bytes]) -> None:
    grown = by_merges(pairs)
    vocabulary = Vocabulary(tuple(dict.fromkeys([*grown.tokens, b"bababab"])), merges=grown.merges)
    merges = [tuple(row) for row in vocabulary.merges.tolist()]
    texts = [*texts, b"bababab", *grown.tokens[-3:]]
    ids = ids_of(vocabulary)
    expected = [whole_twin.whole_or_merge(text, ids, merges) for text in texts]
    assert cut(make("whole_or_merge", vocabulary), *texts) == expected


@given(NEW_TOKENS, st.lists(TEXTS, max_size=3))
def test_ranked_equals_twin(tokens: list[bytes], texts: list[bytes]) -> None:
    """Tokens in any order, also before those that they are joined from, and such that nothing joins to them."""
    vocabulary = Vocabulary((*BYTES, *tokens))
    texts = [*texts, *tokens]
    ids = ids_of(vocabulary)
    assert cut(make("ranked", vocabulary), *texts) == [ranked_twin.ranked(text, ids) for text in texts]


def test_ranked_joins_equal_ranks_from_the_left() -> None:
    """``abc`` is made of ``ab`` and ``c`` and of ``a`` and ``bc``, and neither way comes before the other."""
    vocabulary = Vocabulary((*BYTES, b"ab", b"abc", b"bc", b"cabc"))
    assert cut(make("ranked", vocabulary), b"abcabc", b"cabc", b"xcabc") == [[257, 257], [259], [120, 259]]


def test_ranked_takes_long_runs() -> None:
    vocabulary = Vocabulary((*BYTES, *(b"a" * 2**power for power in range(1, 6))))
    assert cut(make("ranked", vocabulary), b"a" * 1_000_005) == [[260] * 31_250 + [257, 97]]


def test_ranked_token_without_merges_matches_complete_pretokens_only() -> None:
    vocabulary = Vocabulary((*BYTES, b"abc"))
    assert cut(make("ranked", vocabulary), b"abc", b"abca") == [[256], [*b"abca"]]


@given(NEW_TOKENS, st.lists(TEXTS, max_size=3))
def test_greedy_equals_twin(tokens: list[bytes], texts: list[bytes]) -> None:
    vocabulary = Vocabulary((*BYTES, *tokens))
    ids = ids_of(vocabulary)
    expected = [greedy_twin.greedy(text, ids, ids) for text in texts]
    assert cut(make("greedy", vocabulary), *texts) == expected
    assert cut(make("longest_prefix", vocabulary), *texts) == expected


@given(NEW_TOKENS, NEW_TOKENS, st.lists(TEXTS, max_size=3), st.randoms(use_true_random=False))
def test_longest_prefix_equals_twin(
    starts: list[bytes], inner: list[bytes], texts: list[bytes], random: Random
) -> None:
    forms = [(token, False) for token in (*BYTES, *starts)] + [(token, True) for token in (*BYTES, *inner)]
    random.shuffle(forms)
    vocabulary = Vocabulary(tuple(token for token, _ in forms), continuation=np.array([inside for _, inside in forms]))
    first = {token: index for index, (token, inside) in enumerate(forms) if not inside}
    rest = {token: index for index, (token, inside) in enumerate(forms) if inside}
    expected = [greedy_twin.greedy(text, first, rest) for text in texts]
    assert cut(make("longest_prefix", vocabulary), *texts) == expected


def test_greedy_vector_of_sage() -> None:
    vocabulary = Vocabulary((*BYTES, b"ab", b"abc", b"bc", b"cd", b"de", b"bcd"))
    [found] = cut(make("greedy", vocabulary), b"abcde")
    assert [vocabulary.tokens[index] for index in found] == [b"abc", b"de"]


@given(NEW_TOKENS, st.lists(TEXTS, max_size=3), st.integers(1, 8) | st.none(), st.integers(0, 2**64 - 1))
def test_shortest_path_equals_twin(tokens: list[bytes], texts: list[bytes], limit: int | None, seed: int) -> None:
    vocabulary = Vocabulary((*BYTES, *tokens))
    ids = {token: index for token, index in ids_of(vocabulary).items() if limit is None or len(token) <= limit}
    longest = make("shortest_path", vocabulary, max_token_bytes=limit)
    random = make("shortest_path", vocabulary, max_token_bytes=limit, ties="random", seed=seed)
    assert cut(longest, *texts) == [shortest_path_twin.longest(text, ids) for text in texts]
    assert cut(random, *texts) == [shortest_path_twin.random(text, ids, seed) for text in texts]


@given(NEW_TOKENS, st.text("ab", max_size=10).map(str.encode))
def test_shortest_path_is_shortest(tokens: list[bytes], text: bytes) -> None:
    vocabulary = Vocabulary((*BYTES, *tokens))
    fewest = min(map(len, likelihood_twin.every_segmentation(text, set(vocabulary.tokens))))
    for ties in ("longest", "random"):
        [found] = cut(make("shortest_path", vocabulary, ties=ties), text)
        assert len(found) == fewest


def test_random_ties_are_even() -> None:
    vocabulary = Vocabulary((*BYTES, b"aa", b"aaa"))
    last = [cut(make("shortest_path", vocabulary, ties="random", seed=seed), b"aaaa")[0][-1] for seed in range(3000)]
    for token in (97, 256, 257):
        assert abs(last.count(token) - 1000) < 110  # four standard deviations


@given(NEW_TOKENS, st.lists(TEXTS, max_size=3), st.data())
def test_likelihood_equals_twin(tokens: list[bytes], texts: list[bytes], data: st.DataObject) -> None:
    vocabulary = Vocabulary((*BYTES, *tokens))
    score = st.sampled_from([-1.0, -2.0, -3.0, -0.1, -0.2, -0.30000000000000004, -np.inf])
    scores = np.full(len(vocabulary), -4.0)
    for index in (97, 98, *range(256, len(vocabulary))):
        scores[index] = data.draw(score)
    penalty = scores[np.isfinite(scores)].min() - 10
    known = {
        token: penalty if value == -np.inf else value
        for token, value in zip(vocabulary.tokens, scores.tolist(), strict=True)
        if len(token) == 1 or value > -np.inf
    }
    found = cut(make("likelihood", Vocabulary(vocabulary.tokens, scores=scores)), *texts)
    expected = [likelihood_twin.likelihood(text, known) for text in texts]
    assert [[vocabulary.tokens[index] for index in ids] for ids in found] == expected


@given(
    st.lists(st.text("ab", min_size=2, max_size=4).map(str.encode), max_size=6),
    st.lists(st.tuples(st.integers(1, 400), st.text("ab", max_size=9)), min_size=1, max_size=3),
    st.randoms(use_true_random=False),
)
@settings(max_examples=20, deadline=None)
def test_long_tokens_are_used_as_short_ones(tokens: list[bytes], runs: list[tuple[int, str]], draw: Random) -> None:
    """Tokens of more than 256 bytes are found by other means than short ones."""
    tokens = list(dict.fromkeys([*BYTES, *tokens, b"a" * 257, b"a" * 300 + b"b"]))
    texts = [b"".join(b"a" * length + other.encode() for length, other in runs), b"a" * 257, b"a" * 600]
    scores = np.array([draw.choice([-4.0, -3.0, -2.5, -1.0]) for _ in tokens])
    vocabulary = Vocabulary(tuple(tokens), scores=scores)
    known = dict(zip(tokens, scores.tolist(), strict=True))
    for name, twin in (
        ("likelihood", lambda text: likelihood_twin.likelihood(text, known)),
        ("cover", lambda text: likelihood_twin.cover(text, tokens[256:])),
    ):
        found = cut(make(name, vocabulary), *texts)
        assert [[tokens[number] for number in ids] for ids in found] == [twin(text) for text in texts]
    ids = ids_of(vocabulary)
    assert cut(make("shortest_path", vocabulary), *texts) == [shortest_path_twin.longest(text, ids) for text in texts]
    drawn = [shortest_path_twin.random(text, ids, 7) for text in texts]
    assert cut(make("shortest_path", vocabulary, ties="random", seed=7), *texts) == drawn


@pytest.mark.parametrize("name", ["greedy", "longest_suffix", "shortest_path", "likelihood", "cover"])
def test_long_runs_take_no_square_of_their_length(name: str) -> None:
    """A vocabulary that is built from a run of one letter has tokens of half the run, a quarter, and so on."""
    tokens = (*BYTES, *(b"a" * 2**power for power in range(1, 20)))
    vocabulary = Vocabulary(tokens, scores=np.full(len(tokens), -1.0))
    [ids] = cut(make(name, vocabulary), b"a" * 1_000_000)
    assert sum(len(tokens[number]) for number in ids) == 1_000_000
    assert len(ids) == (1_000_000).bit_count()


@given(NEW_TOKENS, st.text("ab", min_size=1, max_size=10).map(str.encode), st.data())
def test_likelihood_is_greatest(tokens: list[bytes], text: bytes, data: st.DataObject) -> None:
    vocabulary = Vocabulary((*BYTES, *tokens))
    scores = data.draw(st.lists(st.integers(-9, -1), min_size=len(vocabulary), max_size=len(vocabulary)))
    known = dict(zip(vocabulary.tokens, scores, strict=True))
    every = likelihood_twin.every_segmentation(text, set(vocabulary.tokens))
    greatest = max(sum(known[token] for token in tokens) for tokens in every)
    [found] = cut(make("likelihood", Vocabulary(vocabulary.tokens, scores=np.array(scores, np.float64))), text)
    assert sum(scores[index] for index in found) == greatest


METHODS = [
    ("merge", {}),
    ("greedy", {}),
    ("longest_prefix", {}),
    ("shortest_path", {}),
    ("shortest_path", {"ties": "random", "seed": 7}),
    ("likelihood", {}),
]


@pytest.mark.parametrize(("name", "options"), METHODS)
def test_prose_round_trips_for_any_batch_and_threads(
    prose: PretokenCounts, rich: Vocabulary, name: str, options: dict[str, object]
) -> None:
    segmenter = make(name, rich, **options)
    ids, _ = segmenter.segment(prose.data, prose.offsets)
    assert b"".join(rich.tokens[index] for index in ids) == prose.data.tobytes()
    assert len(ids) < prose.data.size

    def part(start: int) -> list[int]:
        offsets = prose.offsets[start : start + 500]
        return segmenter.segment(prose.data, offsets)[0].tolist()

    starts = range(0, len(prose), 499)
    with ThreadPoolExecutor(4) as pool:
        assert [index for found in pool.map(part, starts) for index in found] == ids.tolist()


@given(st.binary(max_size=300), st.sampled_from(METHODS))
def test_any_bytes_come_back(rich: Vocabulary, text: bytes, method: tuple[str, dict[str, object]]) -> None:
    name, options = method
    found = cut(make(name, rich, **options), b"", text, b"", text)
    assert found[0] == found[2] == []
    assert found[1] == found[3]
    assert b"".join(rich.tokens[index] for index in found[1]) == text


@pytest.mark.parametrize("offsets", [[], [0, 9], [2, 1], [-1, 2], [0, 2, 1, 3]])
def test_bad_offsets_are_rejected(rich: Vocabulary, offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="offsets"):
        make("greedy", rich).segment(np.zeros(3, np.uint8), np.array(offsets, np.int64))


FORMS = Vocabulary(BYTES * 2, continuation=np.arange(512) >= 256)


@pytest.mark.parametrize(
    ("name", "vocabulary", "said"),
    [
        ("merge", Vocabulary(BYTES), "no merges"),
        ("merge", Vocabulary(BYTES, merges=np.array([[97, 98, 256]], np.int32)), "merge 0 names an id outside"),
        ("merge", Vocabulary((*BYTES, b"ba"), merges=np.array([[97, 98, 256]], np.int32)), "61 and 62 into 6261"),
        ("likelihood", Vocabulary(BYTES), "no scores"),
        ("likelihood", Vocabulary(BYTES, scores=np.zeros(9)), "scores have shape"),
        ("likelihood", Vocabulary(BYTES, scores=np.full(256, np.nan)), "token 00 is nan"),
        ("likelihood", Vocabulary(BYTES, scores=np.full(256, -np.inf)), "no score is finite"),
        ("greedy", FORMS, "use 'longest_prefix'"),
        ("shortest_path", FORMS, "use 'longest_prefix'"),
        ("longest_prefix", Vocabulary(BYTES, continuation=np.zeros(256, np.bool_)), "lack their continuation form"),
    ],
)
def test_mistakes_in_segmentations_are_one_line_errors(name: str, vocabulary: Vocabulary, said: str) -> None:
    with pytest.raises(TokbenchError, match=said) as caught:
        make(name, vocabulary)
    assert "\n" not in str(caught.value)


tokenizers = pytest.importorskip("tokenizers")
models = tokenizers.models

TIMTC = DATA / "timtc"
PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
PRINTED = {byte: chr(byte) for byte in PRINTABLE} | {
    byte: chr(256 + place) for place, byte in enumerate(byte for byte in range(256) if byte not in PRINTABLE)
}
UNPRINTED = {character: byte for byte, character in PRINTED.items()}
PROSE = sorted(set(re.findall(r" ?\S+|\s+", "".join(pydoc_data.topics.topics.values()))))
WORDS = [word.encode() for word in PROSE] + ["".join(PROSE[:800]).encode(), "naïve Straße 東京".encode()]


def printed(text: bytes) -> str:
    return "".join(PRINTED[byte] for byte in text)


def unprinted(text: str) -> bytes:
    return bytes(UNPRINTED[character] for character in text)


def segmentation_hugging_face_cut(segmenter: Segmenter, text: bytes) -> list[int]:
    return segmenter.segment(np.frombuffer(text, np.uint8), np.array([0, len(text)]))[0].tolist()


def bpe_of(vocabulary: Vocabulary) -> "models.BPE":
    tokens = [printed(token) for token in vocabulary.tokens]
    pairs = [(tokens[left], tokens[right]) for left, right, _ in vocabulary.merges.tolist()]
    return models.BPE({token: index for index, token in enumerate(tokens)}, pairs)


def theirs(model: "models.Model", text: bytes) -> list[int]:
    return [token.id for token in model.tokenize(printed(text))]


def grown(pairs: list[tuple[str, str]], tokens: list[bytes]) -> Vocabulary:
    """A vocabulary of ``tokens`` with printed merges."""
    ids = {token: index for index, token in enumerate(tokens)}
    rows = []
    for pair in pairs:
        left, right = map(unprinted, pair)
        rows.append((ids[left], ids[right], ids[left + right]))
    return Vocabulary(tuple(tokens), merges=np.array(rows, np.int32).reshape(-1, 3))


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=25, unique=True),
    st.lists(st.text("ab", max_size=200).map(str.encode), max_size=3),
)
def test_merge_on_ties_and_overlaps(places: list[tuple[int, int]], texts: list[bytes]) -> None:
    tokens, pairs = list(BYTES), {}
    known = [b"a", b"b"]
    for left, right in ((known[a % len(known)], known[b % len(known)]) for a, b in places):
        if len(left + right) <= 30:
            pairs[printed(left), printed(right)] = None
            if left + right not in known:
                known.append(left + right)
                tokens.append(left + right)
    vocabulary = grown(list(pairs), tokens)
    segmenter, model = merge(vocabulary, Options()), bpe_of(vocabulary)
    for text in texts:
        assert segmentation_hugging_face_cut(segmenter, text) == theirs(model, text)


def trained(model: "models.Model") -> dict[str, object]:
    """Tokenizer trained by ``tokenizers`` on the words of the Python manual."""
    level = tokenizers.pre_tokenizers.ByteLevel
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = level(add_prefix_space=False)
    trainer = model.get_trainer()
    trainer.vocab_size, trainer.initial_alphabet, trainer.show_progress = 2000, level.alphabet(), False
    tokenizer.train_from_iterator(pydoc_data.topics.topics.values(), trainer)
    learnt = json.loads(tokenizer.to_str())["model"]
    assert len(learnt["vocab"]) == 2000
    return learnt


def bpe_vocabulary(model: dict[str, object]) -> Vocabulary:
    learnt = [unprinted(token) for token in model["vocab"]]
    tokens = [*BYTES, *(token for token in learnt if len(token) > 1)]
    pairs = [tuple(pair.split(" ")) if isinstance(pair, str) else tuple(pair) for pair in model["merges"]]
    return grown(pairs, tokens)


def test_merge_on_words() -> None:
    vocabulary = bpe_vocabulary(trained(models.BPE()))
    segmenter, model = merge(vocabulary, Options()), bpe_of(vocabulary)
    for word in WORDS:
        assert segmentation_hugging_face_cut(segmenter, word) == theirs(model, word)


@needs(TIMTC)
def test_merge_with_a_published_vocabulary() -> None:
    [path] = TIMTC.glob("*.json.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        model = json.load(file)["model"]
    model["vocab"] = {
        token: index for token, index in model["vocab"].items() if all(character in UNPRINTED for character in token)
    }
    vocabulary = bpe_vocabulary(model)
    segmenter, reference = merge(vocabulary, Options()), bpe_of(vocabulary)
    for word in WORDS:
        assert segmentation_hugging_face_cut(segmenter, word) == theirs(reference, word)


@pytest.mark.parametrize("digits", [None, 1, 0])
def test_likelihood_on_words(digits: int | None) -> None:
    """Rounded scores make equal sums common, so that the choice among them is compared too."""
    learnt = {unprinted(token): score for token, score in trained(models.Unigram())["vocab"]}
    tokens = [*BYTES, *(token for token in learnt if len(token) > 1)]
    scores = np.array([learnt[token] for token in tokens])
    if digits is not None:
        scores = scores.round(digits)
    segmenter = likelihood(Vocabulary(tuple(tokens), scores=scores), Options())
    model = models.Unigram([(printed(token), score) for token, score in zip(tokens, scores.tolist(), strict=True)])
    for word in WORDS:
        assert segmentation_hugging_face_cut(segmenter, word) == theirs(model, word)


@given(
    st.lists(st.text("ab", min_size=2, max_size=6).map(str.encode), max_size=20, unique=True),
    st.text("ab", min_size=1, max_size=60).map(str.encode),
    st.data(),
)
def test_likelihood_on_ties_and_overlaps(new: list[bytes], text: bytes, data: st.DataObject) -> None:
    tokens = (*BYTES, *new)
    scores = [-5.0] * 256 + [data.draw(st.sampled_from([-1.0, -2.0, -3.0, -0.1, -0.2, -0.3])) for _ in new]
    segmenter = likelihood(Vocabulary(tokens, scores=np.array(scores)), Options())
    model = models.Unigram([(printed(token), score) for token, score in zip(tokens, scores, strict=True)])
    assert segmentation_hugging_face_cut(segmenter, text) == theirs(model, text)
