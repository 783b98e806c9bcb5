"""WordPiece construction against its twin and against the trainer and the model of Hugging Face ``tokenizers``."""

import json
import pydoc_data.topics
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokbench.adapters.tokenizer_json import to_hugging_face
from tokbench.byte_level import spelling_ranks
from tokbench.construction.wordpiece import WordPieceOptions, build
from tokbench.counting.count import count_pretokens
from tokbench.errors import TokbenchError
from tokbench.pretokens import PretokenCounts
from tokbench.reference.wordpiece import train as twin
from tokbench.tokenizer import Tokenizer

TEXT = "".join(pydoc_data.topics.topics.values())
WORDS = Counter(re.findall("[a-z]+", TEXT))
"""Words without white space and without ``#``, which the marks of the other trainer could be mistaken for."""

words = st.dictionaries(
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
    made = build(counts, size, options)
    return list(zip(made.tokens, made.continuation.tolist(), strict=True))


@settings(max_examples=200)
@given(words, st.integers(512, 600), st.one_of(st.none(), st.integers(2, 9)), st.integers(0, 3), objectives)
def test_twin(counted: dict[bytes, int], size: int, longest: int | None, least: int, objective: str) -> None:
    counts = PretokenCounts.from_pairs(counted.items())
    options = WordPieceOptions(objective=objective, min_pair_count=least, max_token_bytes=longest)
    expected = twin(list(counts.items()), spelling_ranks().tolist(), size, least, longest or 10**6, objective)
    assert pieces(counts, size, options) == expected


@pytest.mark.parametrize("objective", ["frequency", "likelihood"])
def test_twin_on_words(objective: str) -> None:
    counts = PretokenCounts.from_pairs((f" {word}".encode(), count) for word, count in WORDS.most_common(300))
    options = WordPieceOptions(objective=objective, min_pair_count=20)
    expected = twin(list(counts.items()), spelling_ranks().tolist(), 700, 20, 10**6, objective)
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


def reference(counted: Counter[str], min_count: int) -> set[str]:
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
    theirs = reference(WORDS, min_count)
    assert len(merged) > 200
    assert len(starts) == 26
    assert len((theirs - alphabet) ^ merged) <= apart


def test_ids_of_tokenizers() -> None:
    """The same vocabulary cuts every pre-token in the same way."""
    counts = count_pretokens([TEXT.encode()], "gpt2")
    tokenizer = Tokenizer(build(counts, 4000, WordPieceOptions()), "gpt2", "longest_prefix")
    converted = to_hugging_face(tokenizer)
    texts = [TEXT[start : start + 5000] for start in range(0, 200_000, 5000)]
    encodings = converted.encode_batch(texts, add_special_tokens=False)
    assert [encoding.ids for encoding in encodings] == [tokenizer.encode(text).tolist() for text in texts]


def test_words_of_any_length_are_known() -> None:
    counts = PretokenCounts.from_pairs([(b"a" * 500, 3)])
    tokenizer = Tokenizer(build(counts, 520, WordPieceOptions()), "none", "longest_prefix")
    for text in (b"a" * 1001, b"##a", b" the", b"\xff" * 200, b""):
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_alphabet_and_size() -> None:
    nothing = PretokenCounts.from_pairs([(b"a", 1)])
    made = build(nothing, 600, WordPieceOptions())
    assert len(made) == 512
    assert np.array_equal(made.continuation, np.arange(512) >= 256)
    with pytest.raises(TokbenchError, match="below WordPiece's alphabet of 512"):
        build(nothing, 511, WordPieceOptions())
