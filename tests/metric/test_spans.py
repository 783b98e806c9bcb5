"""Measures by the byte spans of tokens: counted by hand, against plain Python, and against measures by pre-tokens."""

import json
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Tokbench
from tests.support import library_tokenizers as made
from tests.support.library_tokenizers import TEXTS
from tests.support.processes import vocabulary
from tokbench.adapters.load import wrap
from tokbench.adapters.read import read_tokenizer
from tokbench.api import measure
from tokbench.errors import TokbenchError
from tokbench.intrinsic.gold_tables import decision_table, segmentation_table
from tokbench.intrinsic.tokenizer import (
    ByLanguage,
    measure_document_words,
    measure_documents,
    measure_text,
    measure_words,
)
from tokbench.metric.document_words import document_words
from tokbench.metric.measurement import Measurement
from tokbench.metric.pretoken_words import words_of_pretokens
from tokbench.metric.spans import SpanCounts, count_spans
from tokbench.metric.words import Decision, SegmentedWord, words_of
from tokbench.pretokenization import Pretokenization, pretokenization_of
from tokbench.pretokens.count import count_languages, count_pretokens, merge_counts
from tokbench.reference import morphology as twin
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.adapted import AdaptedTokenizer
from tokbench.tokenizer.encoder import TokenSpans
from tokbench.vocabulary import BYTES, Event, Vocabulary

GPT2 = pretokenization_of("gpt2")
LETTERS = "abé \n1."
TEXT = st.text(LETTERS, max_size=25).map(str.encode)
TOKENS = st.lists(st.text(LETTERS, min_size=2, max_size=4).map(str.encode), max_size=12)


def placed(text: bytes, *spans: tuple[int, int]) -> SpanCounts:
    """Count tokens with these spans; an empty one is not placed."""
    found = np.array(spans, np.int64).reshape(-1, 2)
    encoded = TokenSpans(np.zeros(len(found), np.int32), found, found[:, 1] > found[:, 0])
    return count_spans(text, encoded, GPT2)


def measured(rows: Sequence[Measurement], metric: str, *words: str) -> float | None:
    """Return the value of the single row of a metric whose definition contains all words; ``$`` is its end."""
    (row,) = [row for row in rows if row.metric == metric and all(word in f"{row.definition}$" for word in words)]
    return row.value


# Counts


def test_tokens_and_words_by_hand() -> None:
    """The cat is one token, sat is two, and the word between them is lost."""
    text = "the cat sat né 12!".encode()
    found = placed(text, (0, 3), (3, 7), (7, 9), (9, 11), (0, 0), (15, 18), (18, 19))
    assert found == SpanCounts(
        tokens=7, placed=6, bytes=15, characters=15, spaced=3, single=1,
        words=4, word_tokens=5, single_words=3, words_left_out=1, letters=11,
    )  # fmt: skip


def test_parts_of_characters_are_counted() -> None:
    found = placed("éé".encode(), (0, 1), (1, 3), (3, 4))
    assert (found.broken, found.partial, found.single, found.characters) == (3, 2, 2, 2)
    assert (found.words, found.word_tokens, found.single_words) == (1, 3, 0)
    assert placed(b"a\xffb", (0, 1), (1, 3)).broken == 1


def test_white_space_in_no_token_is_no_loss_of_a_word() -> None:
    found = placed(b"the  cat", (0, 3), (5, 8))
    assert (found.words, found.word_tokens, found.single_words, found.words_left_out) == (2, 2, 2, 0)


def test_a_token_that_covers_words_counts_for_each() -> None:
    found = placed(b"of the sea", (0, 6), (6, 8), (8, 10))
    assert (found.words, found.word_tokens, found.single_words) == (3, 4, 2)


def test_an_empty_text() -> None:
    assert placed(b"") == SpanCounts()


@given(TEXT, st.data())
@settings(max_examples=60, deadline=None)
def test_counts_agree_with_each_byte(text: bytes, data: st.DataObject) -> None:
    places = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=12)))
    spans = [span for span in pairwise(places) if data.draw(st.booleans())]
    found = placed(text, *spans)
    pieces = [text[start:end] for start, end in spans]
    bounds = GPT2.boundaries(text)
    chosen = words_of_pretokens(np.frombuffer(text, np.uint8), bounds).chosen
    words = [span for span, word in zip(pairwise(bounds.tolist()), chosen, strict=True) if word]
    tokens = twin.tokens_of_words(text, spans, words)
    measured = [number for number in tokens if number is not None]
    assert found.word_tokens == sum(measured)
    assert found.single_words == measured.count(1)
    assert (found.words, found.words_left_out) == (len(measured), tokens.count(None))
    assert found.bytes == sum(map(len, pieces))
    assert found.spaced == sum(piece[0] == 0x20 for piece in pieces)
    assert found.single == sum(len(piece) == 1 for piece in pieces)
    assert found.broken == sum(piece.decode("utf-8", "replace") != piece.decode("utf-8", "ignore") for piece in pieces)


# Equal to measures by pre-tokens


class Documents(Tokenizer):
    """A tokenizer that is measured on documents."""

    @property
    def segments_documents(self) -> bool:
        return True


OVER_PRETOKENS = {
    *("joined_pairs", "covered_pairs", "joined_share_of_covered_pairs", "unigram_objective", "whole_word_share"),
    "tokens / pre-tokens",
}


@given(TOKENS, st.lists(st.tuples(st.sampled_from(["de", "en"]), TEXT.filter(len)), min_size=1, max_size=3))
@settings(max_examples=40, deadline=None)
def test_values_by_spans_are_those_by_pretokens(tokens: list[bytes], texts: list[tuple[str, bytes]]) -> None:
    tokenizer, native = (kind(vocabulary(*tokens), "gpt2", "greedy") for kind in (Documents, Tokenizer))
    by_language = dict(sorted(count_languages(iter(texts), GPT2).items()))
    counts = merge_counts([*by_language.values()])
    expected = measure_text(native, counts, by_language, families={}, nominal_size=len(tokenizer))
    found = measure_documents(tokenizer, iter(texts), families={})
    assert [(language, row.metric, row.definition) for language, row in found] == [
        (language, row.metric, row.definition) for language, row in expected
    ]
    for (_, row), (_, other) in zip(found, expected, strict=True):
        if {row.metric, row.definition} & OVER_PRETOKENS:
            assert row.value is None
            assert row.reason == "it is defined over pre-tokens, and tokens of this tokenizer may cross them"
        else:
            assert row == other


WORDS = st.lists(st.lists(st.text("abé-1", min_size=1, max_size=3), min_size=1, max_size=3), min_size=1, max_size=6)


def gold(words: Sequence[Sequence[str]], language: str = "en") -> pl.DataFrame:
    return segmentation_table(SegmentedWord(language, "".join(parts), parts) for parts in words)


def by_documents(tokenizer: Tokenizer, table: pl.DataFrame, of: Any = "segmentations") -> ByLanguage:
    return measure_document_words(*document_words(tokenizer, table), of, families={})


@given(TOKENS, WORDS, st.sampled_from(["gpt2", "space", "first_space_digit"]))
@settings(max_examples=60, deadline=None)
def test_words_of_gold_data_are_those_by_pretokens(tokens: list[bytes], words: list[list[str]], scheme: str) -> None:
    tokenizer, native = (kind(vocabulary(*tokens), scheme, "greedy") for kind in (Documents, Tokenizer))
    table = pl.concat([gold(words), gold(words[:2], "xx")])
    assert by_documents(tokenizer, table) == measure_words(native, table, "segmentations", families={})
    found, _ = document_words(tokenizer, table)
    expected = words_of(native, table)
    assert (found.ids.tolist(), found.bounds.tolist()) == (expected.ids.tolist(), expected.bounds.tolist())
    assert (found.spaces.tolist(), found.cuts) == (expected.spaces.tolist(), expected.cuts)


# Through libraries


def adapted(values: dict[str, Any]) -> AdaptedTokenizer:
    content = json.dumps(values).encode()
    size = len(values["model"]["vocab"])
    unknown = values["model"]["vocab"].get("[UNK]") if isinstance(values["model"]["vocab"], dict) else None
    special = {} if unknown is None else {unknown: b"[UNK]", unknown + 1: b"[CLS]"}
    settings = {} if unknown is None else {"unknown": unknown}
    return AdaptedTokenizer("tokenizers", content, settings, special=special, tokens=size - len(special), ids=size)


@pytest.fixture(scope="module")
def lower() -> AdaptedTokenizer:
    """Byte-level BPE that maps text to lower case."""
    return adapted(made.byte_level() | {"normalizer": {"type": "Lowercase"}})


@pytest.fixture(scope="module")
def bert() -> AdaptedTokenizer:
    return adapted(made.bert())


def rows_of(rows: ByLanguage) -> dict[tuple[str, str, str], Measurement]:
    return {(language, row.metric, row.definition): row for language, row in rows}


def test_values_do_not_depend_on_the_case_that_a_normaliser_removes(lower: AdaptedTokenizer) -> None:
    texts = [("", "the quick fox pays, na\u00efve 12 times \u4e2d\u6587\n".encode() * 3), ("x", b"for x in  range")]
    ours = measure_documents(lower, iter(texts), families={})
    upper = measure_documents(lower, ((language, text.upper()) for language, text in texts), families={})
    left_out = [row for _, row in upper if row.value is not None and "left out" in (row.reason or "")]
    assert not left_out
    for key in ("fertility", "single_token_word_share", "mean_token_length", "byte_fallback"):
        pairs = [(a.value, b.value) for (_, a), (_, b) in zip(ours, upper, strict=True) if a.metric == key]
        assert pairs
        assert all(a == b for a, b in pairs), "spans refer to the text before its normalisation"
    table = gold([("un", "like"), ("fo", "r"), ("1", "st"), ("fox", "es")])
    assert [row.value for _, row in by_documents(lower, table)] == [
        row.value for _, row in by_documents(lower, table.with_columns(pl.col("word").str.to_uppercase()))
    ]


def test_spans_of_wordpiece(bert: AdaptedTokenizer) -> None:
    """The mark ## is no part of the text, white space is in no token, and an unknown word is left out."""
    text = "for the \u4e2d\u6587\u4e2d fox"
    encoded = bert.encode_spans(text)
    covered = [
        text.encode()[start:end] for (start, end), known in zip(encoded.spans, encoded.placed, strict=True) if known
    ]
    assert b"".join(covered) == b"forthefox"
    unknown = int((~encoded.placed).sum())
    assert unknown == 3
    rows = [row for _, row in measure_documents(bert, [("", text.encode())], families={})]
    longer = [row for _, row in measure_documents(bert, [("", (text + " the fox" * 50).encode())], families={})]
    words = next(row for row in longer if row.metric == "single_token_word_share")
    assert words.n == 103
    assert words.reason == "words are pre-tokens of gpt2; 1 of 104 words is left out, because tokens change its text"
    length = next(
        row for row in rows if row.metric == "mean_token_length" and "bytes / tokens of the text" in row.definition
    )
    assert length.value == 9 / len(covered)
    assert length.reason == (
        f"3 of {len(encoded.ids)} tokens are left out, because they have no bytes of the text; "
        f"{len(text.encode()) - 9} of {len(text.encode())} bytes of the text are in no token"
    )


def test_gold_words_of_wordpiece(bert: AdaptedTokenizer) -> None:
    """Segments inside a word are looked up with their mark, capitals as the normaliser writes them."""
    listed = bert.listed
    assert listed is not None
    assert listed.continuation is not None
    forms = dict(zip(zip(listed.tokens, listed.continuation.tolist(), strict=True), listed.ids.tolist(), strict=True))
    first = next(token for token, inside in forms if not inside and len(token) == 2 and token.isalpha())
    rest = next(token for token, inside in forms if inside and len(token) == 1 and (first + token, False) not in forms)
    word = (first + rest).decode()
    table = gold([(first.decode(), rest.decode()), (first.decode().upper(), rest.decode()), ("\u4e2d", "\u6587")])
    rows = [row for language, row in by_documents(bert, table) if not language]
    assert measured(rows, "morphological_coverage", "words whose") == 1
    assert {row.reason for row in rows if row.value is not None} == {
        "1 of 3 words is left out, because tokens change its text"
    }
    words, left_out = document_words(bert, table)
    assert words.spaces.tolist() == [0, 0]
    assert words.gold["word"].to_list() == [word, first.decode().upper() + rest.decode()]
    assert left_out.left_out == Counter(en=1)


def test_characters_that_two_tokens_share(tmp_path: Path) -> None:
    """The letters of a ligature have no bytes of their own; bytes of one character have."""
    kompat = adapted(made.byte_level() | {"normalizer": {"type": "NFKC"}})
    text = "o\ufb03ce \u4e2d fi".encode()
    encoded = kompat.encode_spans(text)
    spans = encoded.spans[encoded.placed].tolist()
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
    assert all(end <= 1 or start >= 4 for start, end in spans), "no token of the ligature is placed"
    assert b"".join(text[start:end] for start, end in spans) == text.replace("\ufb03".encode(), b"")
    found = count_spans(text, encoded, GPT2)
    assert (found.words, found.words_left_out) == (2, 1)


@pytest.fixture(scope="module")
def pieces() -> AdaptedTokenizer:
    sentencepiece = pytest.importorskip("sentencepiece")
    content = made.sentencepiece_model()
    size = sentencepiece.SentencePieceProcessor(model_proto=content).get_piece_size()
    special = {0: b"<unk>", 1: b"<s>", 2: b"</s>"}
    return AdaptedTokenizer("sentencepiece", content, {}, special=special, tokens=size - 3, ids=size)


def test_words_of_sentencepiece_begin_with_the_space_that_it_adds(pieces: AdaptedTokenizer) -> None:
    found, _ = document_words(pieces, gold([("in", "to"), ("fo", "r")]))
    assert found.spaces.tolist() == [1, 1]
    tokens = found.vocabulary.tokens
    for number, word in enumerate(("into", "for")):
        ids = found.ids[found.bounds[number] : found.bounds[number + 1]]
        assert b"".join(tokens[one] for one in ids) == b" " + word.encode()
    assert pieces.encode_spans("for  x").spans[-1].tolist()[1] == 6


def test_lexical_decisions_have_values(pieces: AdaptedTokenizer) -> None:
    items = [("for", 500.0, 0.9), ("into", 600.0, 0.8), ("rangers", 900.0, 0.4), ("q\u4e2d", 1.0, 0.1)]
    table = decision_table(
        Decision("en", word, kind, time + index, accuracy)
        for kind in "WN"
        for index, (word, time, accuracy) in enumerate(items)
    )
    rows = [row for _, row in by_documents(pieces, table, "lexical_decisions")]
    assert measured(rows, "cognitive_plausibility") is not None
    assert rows[0].reason == "2 of 8 words are left out, because tokens change their text"


def test_a_function_without_offsets_says_why() -> None:
    """Pieces that spell the text have bytes; ids that are not decoded have none."""
    words = wrap(lambda text: text.split(" "), name="words")
    rows = [row for _, row in measure_documents(words, [("", b"the cat sat")], families={})]
    missing = next(row for row in rows if row.metric == "single_token_word_share")
    assert (missing.value, missing.reason) == (None, "works through Python, and no token's bytes in the text are known")
    letters = wrap(lambda text: list(text), name="letters")
    rows = [row for _, row in measure_documents(letters, [("", b"the cat sat")], families={})]
    assert measured(rows, "fertility", "those pre-tokens") == 11 / 3
    ids = wrap(lambda text: [*text.encode()], name="ids")
    rows = [row for _, row in measure_documents(ids, [("", b"the cat sat")], families={})]
    reasons = {row.reason for row in rows if row.metric == "byte_fallback"}
    assert reasons == {"works through Python, and no token's bytes in the text are known"}
    size = next(row for row in rows if row.metric == "vocabulary_size")
    assert size.reason == "vocabulary size not known; pass size to tokbench.wrap"
    assert measured(rows, "corpus_token_count") == 11


class Superwords(Documents):
    """Greedy over documents, whose words are pre-tokens of gpt2."""

    @property
    def words_by(self) -> Pretokenization:
        return GPT2


def test_superwords_are_measured_by_spans() -> None:
    tokenizer = Superwords(vocabulary(b" of the", b" sea", b" o"), "none", "greedy")
    rows = [row for _, row in measure_documents(tokenizer, [("", b" of the sea, of")], families={})]
    assert measured(rows, "corpus_token_count") == 5
    assert measured(rows, "fertility", "those pre-tokens") == (1 + 1 + 1 + 2) / 4
    assert measured(rows, "single_token_word_share") == 3 / 4
    assert measured(rows, "fertility", "tokens / pre-tokens$") is None
    assert measured(rows, "mean_token_length", "bytes / tokens of the text") == 15 / 5


def test_a_library_has_the_values_of_the_same_tokenizer_of_ours(lower: AdaptedTokenizer, tmp_path: Path) -> None:
    """On text that its normaliser does not change, where both have a value."""
    native = read_tokenizer(made.written(tmp_path / "tokenizer.json", made.byte_level()), "tokenizer_json")
    assert not native.segments_documents
    texts = [("de", TEXTS[0].encode()), ("en", "the fox, na\u00efve 12 times \u4e2d\u6587\n".encode() * 3)]
    texts = [(language, text.lower()) for language, text in texts]
    by_language = dict(sorted(count_languages(iter(texts), GPT2).items()))
    expected = rows_of(measure_text(native, merge_counts([*by_language.values()]), by_language, families={}))
    found = rows_of(measure_documents(lower, iter(texts), families={}))
    assert [*found] == [*expected]
    for key, row in found.items():
        if row.value is None:
            assert expected[key].value is None or "defined over pre-tokens" in (row.reason or "")
        else:
            assert (row.value, row.n) == (expected[key].value, expected[key].n)
    table = gold([("un", "like"), ("fo", "r"), ("fox", "es"), ("na\u00ef", "ve"), ("pay", "s")])
    assert by_documents(lower, table) == measure_words(native, table, "segmentations", families={})


THE_CAT = Vocabulary(
    (*BYTES, b" t", b"th", b" th", b" the", b"ca", b" ca", b" cat", b" the cat"),
    events=tuple(
        Event(False, parts)
        for parts in (
            (b" ", b"t"),
            (b"t", b"h"),
            (b" t", b"h"),
            (b" th", b"e"),
            (b"c", b"a"),
            (b" ", b"ca"),
            (b" ca", b"t"),
        )
    ),
    supermerges=((b" the", b" cat"),),
)


def test_a_tokenizer_whose_tokens_cross_pretokens(tmp_path: Path, tokbench: Tokbench) -> None:
    """By the same commands and names as others; its words are pre-tokens, and gold words are texts without others."""
    tokenizer = Tokenizer(THE_CAT, "gpt2", "superwords", name="joined")
    assert tokenizer.tokenize(" the cat the") == [" the cat", " the"]
    rows = [row for _, row in measure_documents(tokenizer, [("", b" the cat the can")], families={})]
    assert measured(rows, "corpus_token_count") == 4
    assert measured(rows, "fertility", "those pre-tokens") == (1 + 1 + 1 + 2) / 4
    assert measured(rows, "single_token_word_share") == 3 / 4
    assert measured(rows, "unused_tokens") == len(THE_CAT) - 4
    assert all(row.reason is None for row in rows if row.value is not None)
    whole = next(row for row in rows if row.metric == "whole_word_share")
    assert whole.reason == "it is defined over pre-tokens, and tokens of this tokenizer may cross them"
    table = gold([("th", "e"), ("ca", "ts")])
    parts = [row for _, row in by_documents(tokenizer, table)]
    assert measured(parts, "morphological_recall", "over words that are no token$") == 0
    tokenizer.save(tmp_path / "joined")
    (tmp_path / "text.txt").write_bytes(b" the cat the can")
    found = json.loads(tokbench("measure", tmp_path / "joined", "--documents", tmp_path / "text.txt").stdout)
    assert "loss" not in found
    assert [row["value"] for row in found["measurements"][: len(rows)]] == [row.value for row in rows]
    (tmp_path / "counts.tsv").write_text("61\t1\n")
    failed = tokbench("measure", tmp_path / "joined", "--counts", tmp_path / "counts.tsv")
    assert "tokens may cross pre-tokens, so counts do not suffice; pass --documents" in failed.message
    assert measure(tokenizer, " the cat the can").filter(key="corpus_token_count")["value"].item() == 4
    with pytest.raises(TokbenchError, match="has tokens that may cross pre-tokens; pass texts, not counts"):
        measure(tokenizer, count_pretokens([b"a"], "gpt2"))
