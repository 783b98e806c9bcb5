"""Ids of Hugging Face ``tokenizers`` and of SentencePiece for the same vocabulary, on text.

How single pre-tokens are cut, ties forced, is compared in ``test_segmentation_hugging_face.py``; here it is text: real,
of many scripts, and of any characters.
"""

# ruff: noqa: F811 - fixtures are named like the parameters that they fill
import gzip
import json
import pydoc_data.topics
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import models

from tests.support.external_tokenizers import DATA, level, needs  # noqa: F401
from tests.support.fake_results import drawn_examples_drawn, some
from tests.support.texts import EDGES, EVERY
from tokbench.adapters.export_hugging_face import to_hugging_face
from tokbench.construction import constructions
from tokbench.pretokens.count import count_pretokens
from tokbench.segmentation import segmentations
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.hugging_face import CHARACTERS, END_OF_TEXT, PADDING, spell, unspell
from tokbench.vocabulary import BYTES, Vocabulary

tokenizers = pytest.importorskip("tokenizers")
agreement_models = tokenizers.models

PAGES = [pydoc_data.topics.topics[name] for name in sorted(pydoc_data.topics.topics)]
MULTILINGUAL = DATA / "multilingual"
METHODS = {"bpe": "merge", "unigram": "likelihood", "wordpiece": "longest_prefix", "ngram": "greedy"}
SIZE = 3000
STEP = 2.0**-10
"""Scores in steps of this are summed without rounding in single precision, as SentencePiece sums them."""
# Characters that a newer Unicode adds are letters to one library and none to another.
TEXTS = (
    st.lists(
        st.one_of(
            st.text(st.characters(exclude_categories=["Cs", "Cn"]), max_size=20),
            st.sampled_from([edge.decode() for edge in EDGES]),
            st.builds(lambda page, start: PAGES[page % len(PAGES)][start : start + 60], *[st.integers(0, 999)] * 2),
            st.text("ab '1\n", max_size=30),
        ),
        max_size=8,
    )
    .map("".join)
    .filter(lambda text: END_OF_TEXT not in text and PADDING not in text)
)
"""Any characters; special tokens apart, which ``tokenizers`` looks for in the text."""


@cache
def vocabulary(method: str) -> Vocabulary:
    construction = constructions[method]
    counts = count_pretokens(["".join(PAGES).encode()], "gpt2")
    made: Vocabulary = construction.function(counts, SIZE, construction.options())
    return made


@cache
def both(method: str, scheme: str) -> tuple[Tokenizer, "tokenizers.Tokenizer"]:
    ours = Tokenizer(vocabulary(method), scheme, METHODS[method])
    theirs = to_hugging_face(ours)
    assert theirs is not None
    return ours, theirs


def ids_of(theirs: "tokenizers.Tokenizer", texts: list[str]) -> list[list[int]]:
    return [encoding.ids for encoding in theirs.encode_batch(texts, add_special_tokens=False)]


# Hugging Face, our vocabularies


@pytest.mark.parametrize("method", METHODS)
def test_real_text(method: str) -> None:
    ours, theirs = both(method, "gpt2")
    assert [ids.tolist() for ids in ours.encode_batch(PAGES)] == ids_of(theirs, PAGES)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return drawn_examples_drawn(TEXTS, 1000)


@pytest.mark.parametrize("scheme", EVERY)
@pytest.mark.parametrize("method", METHODS)
def test_any_text(method: str, scheme: str, texts: list[str]) -> None:
    ours, theirs = both(method, scheme)
    given = some(texts, 60, f"{method} {scheme}")
    for text, ids in zip(given, ids_of(theirs, given), strict=True):
        assert ours.encode(text).tolist() == ids, text


def sentences(name: str, each: int) -> list[str]:
    """The first sentences in every language of a file with one language a line."""
    with gzip.open(MULTILINGUAL / name, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [sentence for row in rows for sentence in row["text"].split("\n")[:each]]


@needs(MULTILINGUAL)
@pytest.mark.parametrize("name", ["flores101.jsonl.gz", "udhr.jsonl.gz"])
@pytest.mark.parametrize("method", METHODS)
def test_text_of_many_scripts(method: str, name: str) -> None:
    texts = sentences(name, 8)
    assert len(texts) > 400
    ours, theirs = both(method, "gpt2")
    assert [ids.tolist() for ids in ours.encode_batch(texts)] == ids_of(theirs, texts)


# Hugging Face, their WordPiece


def word_piece(spelt: list[str], prefix: str) -> "models.WordPiece":
    ids = {spelling: index for index, spelling in enumerate(spelt)}
    return agreement_models.WordPiece(
        ids, unk_token=spelt[0], max_input_chars_per_word=10**6, continuing_subword_prefix=prefix
    )


@given(
    st.lists(st.tuples(st.text("ab", min_size=2, max_size=6), st.booleans()), max_size=25, unique=True),
    st.lists(st.text("abc", min_size=1, max_size=60), min_size=1, max_size=4),
)
def test_word_pieces_with_ties_and_overlaps(new: list[tuple[str, bool]], words: list[str]) -> None:
    forms = [*((byte, inside) for inside in (False, True) for byte in BYTES), *((t.encode(), i) for t, i in new)]
    made = Vocabulary(tuple(token for token, _ in forms), continuation=np.array([inside for _, inside in forms]))
    model = word_piece([("~" if inside else "") + spell(token) for token, inside in forms], "~")
    ours = Tokenizer(made, "none", "longest_prefix")
    for word in words:
        assert ours.encode(word).tolist() == [token.id for token in model.tokenize(word)]


def test_word_pieces_that_their_trainer_learnt() -> None:
    """Pieces and ids by the trainer of ``tokenizers`` on byte-level text, taken over as a vocabulary of ours."""
    level = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    theirs = tokenizers.Tokenizer(agreement_models.WordPiece(unk_token="[UNK]", continuing_subword_prefix="‿"))
    theirs.pre_tokenizer = level
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=SIZE, initial_alphabet=level.alphabet(), continuing_subword_prefix="‿", show_progress=False
    )
    theirs.train_from_iterator(PAGES, trainer)
    learnt = list(json.loads(theirs.to_str())["model"]["vocab"])
    spelt = [*CHARACTERS, *(f"‿{character}" for character in CHARACTERS)]
    spelt += sorted(set(learnt) - set(spelt) - {"[UNK]"})
    assert len(spelt) > SIZE - 10
    theirs.model = word_piece(spelt, "‿")
    made = Vocabulary(
        tuple(unspell(spelling) for spelling in spelt),
        continuation=np.array([spelling.startswith("‿") and len(spelling) > 1 for spelling in spelt]),
    )
    ours = Tokenizer(made, "gpt2", "longest_prefix")
    assert [ids.tolist() for ids in ours.encode_batch(PAGES)] == ids_of(theirs, PAGES)


# SentencePiece

Pieces = Callable[[list[bytes]], list[list[int]]]


def sentence_piece(kind: str, made: Vocabulary, scores: list[float]) -> Pieces:
    """SentencePiece's encoder with our pieces in byte-level spelling, on pre-tokens; its unknown piece comes first."""
    sentencepiece = pytest.importorskip("sentencepiece")
    proto: Any = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    model = proto.ModelProto()
    model.trainer_spec.model_type = proto.TrainerSpec.ModelType.Value(kind)
    for name in ("bos_id", "eos_id", "pad_id"):
        setattr(model.trainer_spec, name, -1)
    rules = model.normalizer_spec
    rules.name = "identity"
    rules.add_dummy_prefix = rules.remove_extra_whitespaces = rules.escape_whitespaces = False
    model.pieces.add(piece="<unk>", score=0, type=proto.ModelProto.SentencePiece.Type.Value("UNKNOWN"))
    for token, score in zip(made.tokens, scores, strict=True):
        model.pieces.add(piece=spell(token), score=score)
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(model.SerializeToString())
    return lambda texts: [[index - 1 for index in ids] for ids in processor.encode([spell(text) for text in texts])]


def cut(made: Vocabulary, segmentation: str, pretokens: list[bytes]) -> list[list[int]]:
    method = segmentations[segmentation]
    offsets = np.cumsum([0, *map(len, pretokens)])
    segmenter = method.function(made, method.options())
    ids, bounds = segmenter.segment(np.frombuffer(b"".join(pretokens), np.uint8), offsets)
    return [ids[start:end].tolist() for start, end in pairwise(bounds.tolist())]


def pretokens_of(texts: list[str]) -> list[bytes]:
    counts = count_pretokens([text.encode() for text in texts], "gpt2")
    return [pretoken for pretoken, _ in counts.items()]


def in_steps(made: Vocabulary) -> Vocabulary:
    assert made.scores is not None
    return Vocabulary(made.tokens, scores=np.round(made.scores / STEP) * STEP)


def test_unigram_in_sentencepiece_on_real_text() -> None:
    made = in_steps(vocabulary("unigram"))
    pretokens = [*pretokens_of(PAGES), "".join(PAGES[:3]).replace(" ", "").encode()[:3000]]
    theirs = sentence_piece("UNIGRAM", made, made.scores.tolist())
    assert cut(made, "likelihood", pretokens) == theirs(pretokens)


@settings(max_examples=60)
@given(
    st.lists(st.text("ab", min_size=2, max_size=6).map(str.encode), max_size=20, unique=True),
    st.lists(st.text("abc", max_size=60).map(str.encode) | st.text(max_size=9).map(str.encode), max_size=6),
    st.data(),
)
def test_unigram_in_sentencepiece_on_ties_and_overlaps(new: list[bytes], texts: list[bytes], data: Any) -> None:
    scores = [-8.0] * 256 + [data.draw(st.sampled_from([-1.0, -2.0, -3.5, -0.25, -4.0])) for _ in new]
    made = Vocabulary((*BYTES, *new), scores=np.array(scores))
    assert cut(made, "likelihood", texts) == sentence_piece("UNIGRAM", made, scores)(texts)


def test_merges_in_sentencepiece_on_real_text() -> None:
    """Its pairs rank by what they spell and ours by themselves, which on words comes to the same."""
    made = vocabulary("bpe")
    pretokens = pretokens_of(PAGES)
    theirs = sentence_piece("BPE", made, [-float(index) for index in range(len(made))])
    assert cut(made, "merge", pretokens) == theirs(pretokens)


@needs(MULTILINGUAL)
def test_unigram_in_sentencepiece_on_many_scripts() -> None:
    made = in_steps(vocabulary("unigram"))
    pretokens = pretokens_of(sentences("flores101.jsonl.gz", 8))
    assert cut(made, "likelihood", pretokens) == sentence_piece("UNIGRAM", made, made.scores.tolist())(pretokens)
