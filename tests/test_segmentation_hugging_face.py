"""Merge and likelihood give the ids that Hugging Face ``tokenizers`` gives for the same vocabulary."""

import gzip
import json
import pydoc_data.topics
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.external_data import DATA, needs
from tokbench.options import Options
from tokbench.segmentation import Segmenter
from tokbench.segmentation.likelihood import likelihood
from tokbench.segmentation.merge import merge
from tokbench.vocabulary import BYTES, Vocabulary

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


def cut(segmenter: Segmenter, text: bytes) -> list[int]:
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
        assert cut(segmenter, text) == theirs(model, text)


def trained(model: "models.Model") -> dict[str, object]:
    """What ``tokenizers`` makes of an empty model on the words of the Python manual."""
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
        assert cut(segmenter, word) == theirs(model, word)


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
        assert cut(segmenter, word) == theirs(reference, word)


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
        assert cut(segmenter, word) == theirs(model, word)


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
    assert cut(segmenter, text) == theirs(model, text)
