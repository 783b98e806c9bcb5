"""Superwords: published vectors, kernels against plain Python, limits, and segmentation of documents."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

import tokbench
from tests.conftest import ODD, TOPICS
from tokbench.adapters.export_hugging_face import export as export_json
from tokbench.adapters.export_tiktoken import to_tiktoken
from tokbench.adapters.exports import export
from tokbench.building import BuildRecipe, build_tokenizer, own_segmentation
from tokbench.candidates.superwords import Runs, SuperwordOptions, events_of, joinable_tokens, split_runs, train_words
from tokbench.construction import constructions
from tokbench.construction.superbpe import SuperbpeOptions, count_words, is_barred, stage_1_size
from tokbench.errors import TokbenchError
from tokbench.kernels.pair_training import PairTraining
from tokbench.kernels.superwords import RunCounter, SuperwordSegmenter, greedy_pieces
from tokbench.options import Options
from tokbench.pretokenization import pretokenization_of
from tokbench.pretokens.count import count_pretokens
from tokbench.reference import superwords as twin
from tokbench.segmentation import Segmenter, segmentation, segmentations
from tokbench.segmentation.superwords import superwords, word_segmenter
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.hugging_face import spelling_ranks
from tokbench.vocabulary import BYTES, Event, Vocabulary

EXAMPLE = (b" the cat of the man of the sea, of the cat", b" of the sea of the man. the cat of the sea")
PROSE = (*(text[:20_000] for text in TOPICS[:4]), ODD)
DOCUMENTS = st.lists(
    st.lists(st.sampled_from([" a", " ab", " aab", "aaaa", " b", ".", "é", " aaa"]), max_size=9).map(
        lambda parts: "".join(parts).encode()
    ),
    min_size=1,
    max_size=4,
)
TAUS = st.sampled_from([None, 0.3, 0.6, 0.9, 1.0, 1.5])
METHODS = ("boundlessbpe", "superbpe_words", "superbpe")


@dataclass(frozen=True)
class Texts:
    """Running text in memory."""

    documents: Sequence[bytes]
    scheme: str = "gpt2"

    def texts(self) -> Iterator[bytes]:
        yield from self.documents


def built(method: str, documents: Sequence[bytes], size: int, scheme: str = "gpt2", **options: Any) -> Tokenizer:
    construction = constructions[method]
    chosen = construction.options(**options)
    name, shared = own_segmentation(construction, chosen)
    cut = segmentations[name].options(**shared)
    source: Any = Texts(documents, scheme)
    recipe = BuildRecipe(
        construction=construction,
        options=chosen,
        size=size,
        segmentation=name,
        segmentation_options=cut,
        name=method,
    )
    return build_tokenizer(recipe, source, threads=options.get("threads", 1))


def pretokens_of(document: bytes, scheme: str = "gpt2") -> list[bytes]:
    bounds = pretokenization_of(scheme).boundaries(document).tolist()
    return [document[start:end] for start, end in pairwise(bounds)]


def words_in(documents: Sequence[bytes], scheme: str = "gpt2") -> list[tuple[bytes, int]]:
    return list(Counter(word for text in documents for word in pretokens_of(text, scheme)).items())


def has_letter(word: bytes) -> bool:
    return regex.search(r"\p{L}", word.decode(errors="replace")) is not None


def tokens_in(tokenizer: Tokenizer, text: bytes) -> list[bytes]:
    return [tokenizer.vocabulary.tokens[index] for index in tokenizer.encode(text).tolist()]


# The published vector


def test_phase_1_of_the_vector() -> None:
    counts = count_pretokens(EXAMPLE, "gpt2")
    merges = train_words(counts, 270, SuperwordOptions(), "boundlessbpe")
    made = [(merge.event.token.decode(), merge.pair_count) for merge in merges]
    assert made == [
        *((" t", 8), (" th", 8), (" the", 8), (" o", 6), (" of", 6), (" c", 3), (" s", 3)),
        *((" ca", 3), (" cat", 3), (" se", 3), (" sea", 3), (" m", 2), (" ma", 2), (" man", 2)),
    ]


def test_the_vector() -> None:
    tokenizer = built("boundlessbpe", EXAMPLE, 270)
    made = [token.decode() for token in tokenizer.vocabulary.tokens[256:]]
    assert made == [
        *(" t", " th", " the", " o", " of", " of the", " c", " s", " ca", " cat", " se", " sea"),
        *(" of the sea", " m"),
    ]
    assert tokenizer.vocabulary.supermerges == ((b" of", b" the"), (b" of the", b" sea"))
    assert tokenizer.tokenize(EXAMPLE[0]) == [
        *(" the", " cat", " of the", " m", "a", "n", " of the sea", ",", " of the", " cat")
    ]
    assert tokenizer.tokenize(EXAMPLE[1]) == [
        *(" of the sea", " of the", " m", "a", "n", ".", " the", " cat", " of the sea")
    ]


def test_reading_a_of_the_vector() -> None:
    tokenizer = built("superbpe_words", EXAMPLE, 272, stage_1_size=270)
    assert tokenizer.vocabulary.supermerges == ((b" of", b" the"), (b" of the", b" sea"))
    assert tokenizer.vocabulary.tokens[269:] == (b" man", b" of the", b" of the sea")
    assert [tokenizer.count(text) for text in EXAMPLE] == [8, 7]


@pytest.mark.parametrize(
    ("method", "scheme"), [("boundlessbpe", "gpt2"), ("superbpe_words", "gpt2"), ("superbpe", "superbpe_2")]
)
def test_a_first_stage_that_ends_early_is_a_warning(method: str, scheme: str, caplog: pytest.LogCaptureFixture) -> None:
    options = {} if method == "boundlessbpe" else {"stage_1_size": 265}
    built(method, EXAMPLE, 265, scheme, **options)
    assert not caplog.records
    options = {} if method == "boundlessbpe" else {"stage_1_size": 290}
    tokenizer = built(method, EXAMPLE, 290, scheme, **options)
    assert len(tokenizer) > 270
    (record,) = caplog.records
    assert record.message == (
        f"{method}: merges inside pre-tokens give only 270 of 290 tokens, and superwords fill the rest; use more text "
        "or a smaller size"
    )


# Kernels and plain Python


@settings(deadline=None, max_examples=60)
@given(DOCUMENTS, st.integers(0, 14), TAUS, st.booleans())
def test_phase_1_equals_twin(documents: list[bytes], more: int, tau: float | None, into_bytes: bool) -> None:
    options = SuperwordOptions(tau=tau, removed_as="bytes" if into_bytes else "parts")
    merges = train_words(count_pretokens(documents, "gpt2"), 256 + more, options, "boundlessbpe")
    found = [(merge.event.parts, merge.pair_count, [removal.parts for removal in merge.removals]) for merge in merges]
    assert found == twin.train_words(words_in(documents), 256 + more, tau, into_bytes=into_bytes)


@settings(deadline=None, max_examples=60)
@given(DOCUMENTS, st.integers(0, 16), TAUS, st.booleans(), st.sampled_from([0, 1, 2]))
def test_boundless_equals_twin(
    documents: list[bytes], more: int, tau: float | None, into_bytes: bool, split: int
) -> None:
    options: dict[str, Any] = {"tau": tau, "removed_as": "bytes" if into_bytes else "parts"}
    if split:
        options |= {"split_runs": True, "split_min_count": split, "split_max_length": 3}
    tokenizer = built("boundlessbpe", documents, 256 + more, **options)
    merges = twin.train_words(words_in(documents), 256 + more, tau, into_bytes=into_bytes)
    texts = [pretokens_of(text) for text in documents]
    runs = twin.count_runs(texts, twin.events_of(merges), has_letter)
    if split:
        runs = twin.split_runs(runs, max(split, merges[-1][1] if merges else 0), 3)
    tokens, events, supermerges = twin.boundless(merges, runs, 256 + more)
    assert list(tokenizer.vocabulary.tokens) == tokens
    assert [(event.split, event.parts) for event in tokenizer.vocabulary.events or ()] == events
    assert list(tokenizer.vocabulary.supermerges or ()) == supermerges
    for text, words in zip(documents, texts, strict=True):
        assert tokens_in(tokenizer, text) == twin.encode(words, events, supermerges)
        assert tokenizer.decode(tokenizer.encode(text)) == text


@settings(deadline=None, max_examples=40)
@given(DOCUMENTS, st.integers(0, 8), st.integers(0, 6), TAUS)
def test_reading_a_equals_twin(documents: list[bytes], first: int, more: int, tau: float | None) -> None:
    size = 256 + first + more
    tokenizer = built("superbpe_words", documents, size, stage_1_size=256 + first, tau=tau)
    merges = twin.train_words(words_in(documents), 256 + first, tau)
    texts = [pretokens_of(text) for text in documents]
    runs = twin.count_runs(texts, twin.events_of(merges), has_letter)
    tokens, supermerges = twin.superbpe_words(merges, runs, size)
    assert list(tokenizer.vocabulary.tokens) == tokens
    assert list(tokenizer.vocabulary.supermerges or ()) == supermerges
    for text, words in zip(documents, texts, strict=True):
        assert tokens_in(tokenizer, text) == twin.encode(words, twin.events_of(merges), supermerges)


@settings(deadline=None, max_examples=40)
@given(DOCUMENTS, st.integers(0, 8), st.integers(0, 10), st.sampled_from([None, 1, 2]))
def test_reading_b_equals_twin(documents: list[bytes], first: int, more: int, most: int | None) -> None:
    size = 256 + first + more
    options = SuperbpeOptions(stage_1_size=256 + first, max_words=most, stage_1_pretokenization="gpt2")
    tokenizer = built("superbpe", documents, size, "superbpe_2", **options.model_dump())
    words, spans = words_in(documents), words_in(documents, "superbpe_2")
    tokens, merges = twin.superbpe(
        words, spans, spelling_ranks().tolist(), 256 + first, size, lambda token: is_barred(token, options)
    )
    assert list(tokenizer.vocabulary.tokens) == tokens
    assert tokenizer.vocabulary.merges is not None
    assert [tuple(row) for row in tokenizer.vocabulary.merges.tolist()] == merges
    assert all(tokenizer.decode(tokenizer.encode(text)) == text for text in documents)


@settings(deadline=None, max_examples=40)
@given(
    st.dictionaries(st.lists(st.integers(0, 2), min_size=2, max_size=8).map(tuple), st.integers(1, 5), max_size=5),
    st.integers(1, 6),
    st.integers(2, 5),
)
def test_runs_are_split_as_in_the_twin(counts: dict[tuple[int, ...], int], least: int, longest: int) -> None:
    symbols = np.array([symbol for run in counts for symbol in run], np.int32)
    bounds = np.cumsum([0, *map(len, counts)])
    pieces = split_runs(Runs(symbols, bounds, np.array([*counts.values()], np.int64)), least, longest)
    found = {
        tuple(pieces.symbols[start:end].tolist()): times
        for (start, end), times in zip(pairwise(pieces.bounds.tolist()), pieces.counts.tolist(), strict=True)
    }
    letters = {tuple(bytes([97 + symbol]) for symbol in run): times for run, times in counts.items()}
    assert {tuple(bytes([97 + symbol]) for symbol in run): times for run, times in found.items()} == twin.split_runs(
        letters, least, longest
    )


SEQUENCES = st.dictionaries(
    st.lists(st.sampled_from("aab"), min_size=1, max_size=12).map(lambda parts: "".join(parts).encode()),
    st.integers(1, 4),
    min_size=1,
    max_size=4,
)


@settings(deadline=None, max_examples=60)
@given(SEQUENCES, st.integers(1, 9))
def test_steps_equal_counts_from_the_start(sequences: dict[bytes, int], steps: int) -> None:
    """After each merge, the foremost pair is that of a new count."""
    data = np.frombuffer(b"".join(sequences), np.uint8).astype(np.int32)
    offsets, counts = np.cumsum([0, *map(len, sequences)]), np.array([*sequences.values()], np.int64)
    training = PairTraining(data, offsets, counts, list(BYTES))
    text: Any = {tuple(bytes([byte]) for byte in word): times for word, times in sequences.items()}
    for _ in range(steps):
        best, expected = training.best(), twin.foremost(text)
        if best is None or expected is None:
            assert best is expected is None
            break
        assert (training.token(best[0]), training.token(best[1])) == expected[0]
        assert best[2] == expected[1]
        token, made = training.merge()
        assert made == best[2]
        text = twin.replaced(text, expected[0], (training.token(token),))
        for part in (*best[:2], token):
            name = training.token(part)
            assert training.frequency(part) == sum(word.count(name) * times for word, times in text.items())


# Invariants


@pytest.mark.parametrize("tau", [None, 1.5])
def test_without_supermerges_it_is_bpe(tau: float | None) -> None:
    """One pre-token in each document leaves no run, and nothing exceeds a threshold above 1."""
    documents = [word for text in PROSE[:2] for word in pretokens_of(text)]
    counts = count_pretokens(documents, "gpt2")
    plain = tokbench.build("bpe", counts, 500)
    tokenizer = built("boundlessbpe", documents, 500, tau=tau, pair_rule="bpe")
    assert tokenizer.vocabulary.supermerges == ()
    assert tokenizer.vocabulary.tokens == plain.vocabulary.tokens
    assert tokenizer.encode(PROSE[2]).tolist() == plain.encode(PROSE[2]).tolist()


def test_the_same_pretokens_in_both_stages_are_bpe() -> None:
    counts = count_pretokens(PROSE, "superbpe_1")
    plain = tokbench.build("bpe", counts, 600)
    tokenizer = built("superbpe", PROSE, 600, "superbpe_1", max_words=None, inner_colons=True, stage_1_share=0.5)
    assert tokenizer.vocabulary.tokens == plain.vocabulary.tokens
    assert tokenizer.vocabulary.merges is not None
    assert plain.vocabulary.merges is not None
    assert tokenizer.vocabulary.merges.tolist() == plain.vocabulary.merges.tolist()


@pytest.mark.parametrize("method", METHODS)
def test_order_of_documents_and_threads_change_nothing(method: str) -> None:
    shuffled = list(PROSE)
    Random(1).shuffle(shuffled)
    construction = constructions[method]
    options = construction.options.model_validate({} if method == "superbpe" else {"tau": 0.9})
    first, second = (
        construction.function(Texts(documents), 400, options, seed=0, threads=threads)
        for documents, threads in ((PROSE, 1), (shuffled, 3))
    )
    assert first.tokens == second.tokens
    assert (first.events, first.supermerges) == (second.events, second.supermerges)


@pytest.mark.parametrize("method", METHODS)
def test_documents_are_restored(method: str, tmp_path: Path) -> None:
    tokenizer = built(method, PROSE, 700, "superbpe_2" if method == "superbpe" else "gpt2")
    texts = [*PROSE, b"", b" ", bytes(range(256)) * 2, b"the the the " * 50]
    batch = tokenizer.encode_batch(texts)
    for text, ids in zip(texts, batch, strict=True):
        assert tokenizer.decode(ids) == text
        assert tokenizer.encode(text).tolist() == ids.tolist()
        assert tokenizer.encode(text, threads=2).tolist() == ids.tolist()
        assert tokenizer.count(text) == len(ids)
        assert tokenizer.offsets(text)[-1] == len(text)
    flat, bounds = tokenizer.encode_flat(texts, threads=2)
    assert flat.tolist() == [one for ids in batch for one in ids.tolist()]
    assert np.diff(bounds).tolist() == list(map(len, batch))
    assert len(tokenizer) == 700
    tokenizer.save(tmp_path / "saved")
    assert Tokenizer.load(tmp_path / "saved").encode(PROSE[0]).tolist() == batch[0].tolist()


def test_superwords_need_fewer_tokens_than_bpe() -> None:
    plain = tokbench.build("bpe", count_pretokens(PROSE, "gpt2"), 1000)
    needed = sum(map(plain.count, PROSE))
    for method in METHODS:
        tokenizer = built(method, PROSE, 1000, "superbpe_2" if method == "superbpe" else "gpt2")
        assert sum(map(tokenizer.count, PROSE)) < needed


@settings(deadline=None, max_examples=60)
@given(st.binary(max_size=60), st.sampled_from(["gpt2", "none", "digit"]))
def test_any_bytes_are_restored(text: bytes, scheme: str) -> None:
    vocabulary = built("boundlessbpe", EXAMPLE, 280, tau=0.8).vocabulary
    tokenizer = Tokenizer(vocabulary, scheme, "superwords")
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_long_parts_of_a_text_have_the_same_ids() -> None:
    """Threads split a text where runs go on."""
    tokenizer = built("boundlessbpe", EXAMPLE, 270)
    text = b" of the sea" * 300_000
    assert set(tokenizer.encode(text, threads=2).tolist()) == {tokenizer.vocabulary.tokens.index(b" of the sea")}


def test_a_run_of_one_supermerge_is_merged_from_the_left() -> None:
    events = (Event(False, (b" ", b"a")),)
    pairs = ((b" a", b" a"), (b" a a", b" a a"))
    vocabulary = Vocabulary((*BYTES, b" a", b" a a", b" a a a a"), events=events, supermerges=pairs)
    tokenizer = Tokenizer(vocabulary, "gpt2", "superwords")
    assert tokenizer.tokenize(" a" * 7) == [" a a a a", " a a", " a"]


# Removals


def test_a_removed_part_is_split_into_present_ones() -> None:
    """A token that is removed after its own part was removed is replaced by present tokens."""
    options = SuperwordOptions(tau=0.9, removed_as="parts")
    merges = train_words(count_pretokens(PROSE, "gpt2"), 900, options, "boundlessbpe")
    present = set(BYTES)
    for event in events_of(merges):
        assert present.issuperset(event.parts)
        if event.split:
            present.remove(event.token)
        else:
            present.add(event.token)
    assert any(len(event.parts) > 2 for event in events_of(merges) if event.split)


def test_a_threshold_that_is_reached_removes() -> None:
    """``ab`` occurs only in ``abc``: its share is exactly 1."""
    counts = count_pretokens([b"abc abc"], "first_space")
    removed = [
        [event.token for event in events_of(train_words(counts, 258, SuperwordOptions(tau=tau), "x")) if event.split]
        for tau in (1.0, 1.01)
    ]
    assert removed == [[b"ab"], []]


# Options and errors


def test_pretokens_that_may_join() -> None:
    words = [" a", "'s", "1", " .", ".net", "e\u0301", " \u2019t", "\u0301", "a1"]
    tokens = [*map(str.encode, words), b"\xff", b"a\xff"]
    assert [word for word, joins in zip(words, joinable_tokens(tokens, "any"), strict=False) if joins] == [
        *(" a", "'s", ".net", "e\u0301", " \u2019t", "a1")
    ]
    assert [word for word, joins in zip(words, joinable_tokens(tokens, "only"), strict=False) if joins] == [
        *(" a", "'s", "e\u0301", " \u2019t")
    ]
    assert joinable_tokens(tokens, "any")[-2:].tolist() == [False, True]


@pytest.mark.parametrize(
    ("token", "words"),
    [(b" of the", 2), (b"of the", 2), (b"of the ", 2), (b" 12 a", 1), (b"'s a", 1), (b"  ", 0), (b" \xc3\xa9t", 1)],
)
def test_words_of_a_token(token: bytes, words: int) -> None:
    assert count_words(token) == words


def test_limits_of_tokens() -> None:
    options = SuperbpeOptions(max_words=2)
    assert [is_barred(token, options) for token in (b" a b", b" a b c", b"x: ", b"x: y", b": ", b"a:b")] == [
        *(False, True, False, True, False, False)
    ]
    assert not is_barred(b"x: y z a b", SuperbpeOptions(max_words=None, inner_colons=True))
    tokenizer = built("superbpe", PROSE, 900, "superbpe_2", max_words=2, stage_1_share=0.5)
    assert max(map(count_words, tokenizer.vocabulary.tokens)) == 2


@pytest.mark.parametrize(
    ("size", "share", "first"), [(1000, 0.9, 900), (270, 0.9, 256), (256, 0.1, 256), (300, 1, 300)]
)
def test_size_of_stage_1(size: int, share: float, first: int) -> None:
    assert stage_1_size(size, SuperbpeOptions(stage_1_share=share)) == first


def test_stage_1_is_not_larger_than_the_vocabulary() -> None:
    for method in ("superbpe", "superbpe_words"):
        with pytest.raises(TokbenchError, match="stage_1_size 300: larger than the size 280"):
            built(method, EXAMPLE, 280, stage_1_size=300)


@pytest.mark.parametrize("scheme", ["gpt2", "superbpe_2"])
def test_pretokens_of_words_give_no_superwords(scheme: str, caplog: pytest.LogCaptureFixture) -> None:
    tokenizer = built("superbpe", PROSE, 900, scheme, stage_1_share=0.5)
    of_several_words = any(len(token.split()) > 1 for token in tokenizer.vocabulary.tokens)
    assert of_several_words == (scheme == "superbpe_2")
    warned = "no token spans several words; set pretokenization to superbpe_2" in caplog.text
    assert warned == (scheme == "gpt2")


def test_pretokenization_of_stage_1_is_checked() -> None:
    with pytest.raises(ValueError, match="'gtp2' is not a pre-tokenization"):
        SuperbpeOptions(stage_1_pretokenization="gtp2")
    chosen = SuperbpeOptions(stage_1_pretokenization={"method": "digits", "group": 3})
    assert isinstance(chosen.stage_1_pretokenization, dict)


def test_pretokens_are_not_segmented_independently() -> None:
    tokenizer = built("boundlessbpe", EXAMPLE, 270)
    assert tokenizer.segments_documents
    assert tokenizer.last_cut(EXAMPLE[0]) == 0
    with pytest.raises(TokbenchError, match=r"joins pre-tokens of a document .*'tokbench measure --documents'"):
        tokenizer.segment(count_pretokens(EXAMPLE, "gpt2"))
    assert not built("superbpe", EXAMPLE, 270).segments_documents


@pytest.mark.parametrize(
    ("tokens", "events", "supermerges", "message"),
    [
        ((), (), None, "the vocabulary has no supermerges"),
        ((), None, (), "the vocabulary has no events"),
        ((b"ab",), (), (), r"do not result in the vocabulary's tokens \(6162 is in one"),
        ((b"abc",), (), ((b"ab", b"c"),), "supermerge 0 needs the token 6162"),
        ((), (), ((b"a", b"b"),), "6162 is in one of the two only"),
        ((b"abc",), (Event(False, (b"ab", b"c")),), (), "event 0 needs the token 6162"),
    ],
)
def test_vocabularies_that_do_not_fit(tokens: tuple[bytes, ...], events: Any, supermerges: Any, message: str) -> None:
    with pytest.raises(TokbenchError, match=message):
        superwords(Vocabulary(BYTES + tokens, events=events, supermerges=supermerges), Options())


def test_explicit_ids_are_those_of_the_tokens() -> None:
    made = built("boundlessbpe", EXAMPLE, 270).vocabulary
    ids = np.arange(len(made), dtype=np.int32)[::-1].copy()
    other = Vocabulary(made.tokens, events=made.events, supermerges=made.supermerges, ids=ids)
    for scheme in ("gpt2", "digits"):
        plain, numbered = (Tokenizer(one, scheme, "superwords") for one in (made, other))
        for text in EXAMPLE:
            assert numbered.encode(text).tolist() == ids[plain.encode(text)].tolist()
            assert numbered.encode_batch([text])[0].tolist() == numbered.encode(text).tolist()
            assert numbered.decode(numbered.encode(text)) == text


def test_another_segmentation_may_segment_documents() -> None:
    name = "joined_bytes_of_a_test"

    @segmentation(name, segments_documents=True)
    def joined(vocabulary: Vocabulary, options: Options) -> Segmenter:
        """Return one token for each document of two pre-tokens or more."""

        class Joined:
            def segment(self, data: Any, offsets: Any) -> Any:
                ids = [256] if data.tobytes() == b"a b" and len(offsets) > 2 else data.tolist()
                return np.array(ids, np.int32), np.array([0, len(ids)])

        return Joined()

    try:
        tokenizer = Tokenizer(Vocabulary((*BYTES, b"a b")), "gpt2", name)
        assert [ids.tolist() for ids in tokenizer.encode_batch([b"a b", b"a", b""])] == [[256], [97], []]
        assert tokenizer.last_cut(b"a b") == 0
    finally:
        del segmentations._methods[name]


# Kernels


def test_arrays_that_do_not_fit() -> None:
    text, counts = np.array([0, 1], np.int32), np.array([1])
    with pytest.raises(ValueError, match="two tokens of the alphabet are equal"):
        PairTraining(text, np.array([0, 2]), counts, [b"a", b"a"])
    with pytest.raises(ValueError, match="symbol 1 is not in the alphabet"):
        PairTraining(text, np.array([0, 2]), counts, [b"a"])
    with pytest.raises(ValueError, match="bounds must ascend"):
        RunCounter().add(text, np.array([0, 3]))
    with pytest.raises(ValueError, match="bounds must have one entry more"):
        RunCounter().add(text, np.array([], np.int64))
    with pytest.raises(ValueError, match="one count for each sequence"):
        RunCounter().add_counted(text, np.array([0, 2]), np.array([1, 1]))
    with pytest.raises(ValueError, match="bounds must ascend"):
        greedy_pieces(text, np.array([0, 3]))
    base = word_segmenter(Vocabulary(BYTES, events=()))
    with pytest.raises(ValueError, match="an id must not be negative"):
        SuperwordSegmenter(base, np.zeros(256, np.bool_), np.array([[1, 2, -1]], np.int32))


def test_steps_that_do_not_fit() -> None:
    training = PairTraining(np.array([0, 1], np.int32), np.array([0, 2]), np.array([1]), [b"a", b"b"])
    assert training.best() == (0, 1, 1)
    training.bar()
    assert training.best() is None
    for step in (training.bar, training.merge):
        with pytest.raises(LookupError, match="no pair is left"):
            step()
    with pytest.raises(IndexError, match="no token 2"):
        training.token(2)
    with pytest.raises(IndexError, match="no token -1"):
        training.frequency(-1)
    again = PairTraining(np.array([0, 1], np.int32), np.array([0, 2]), np.array([1]), [b"a", b"b"])
    assert again.merge() == (2, 1)
    for token, parts, message in (
        (2, [0, 1], "removals were not"),
        (0, [0, 1], "cannot be split"),
        (2, [9], "no token"),
    ):
        with pytest.raises(ValueError, match=message):
            again.remove(token, parts)


# Files and exports


def test_supermerges_are_saved(tmp_path: Path) -> None:
    tokenizer = built("boundlessbpe", EXAMPLE, 270)
    tokenizer.save(tmp_path / "saved")
    loaded = Tokenizer.load(tmp_path / "saved").vocabulary
    assert (loaded.supermerges, loaded.events) == (tokenizer.vocabulary.supermerges, tokenizer.vocabulary.events)
    lines = (tmp_path / "saved" / "supermerges.tsv").read_text().splitlines()
    assert lines[0] == f"{b' of'.hex()}\t{b' the'.hex()}"


def test_superwords_are_not_exported(tmp_path: Path) -> None:
    tokenizer = built("boundlessbpe", EXAMPLE, 270)
    reason = "joins adjacent pre-tokens that are one token each, and other libraries segment every pre-token"
    assert reason in export_json(tokenizer, None, tmp_path)
    for form in ("tokenizer_json", "tiktoken", "sentencepiece"):
        with pytest.raises(TokbenchError, match=reason):
            export(tokenizer, form, None, tmp_path)


def test_superbpe_is_exported(tmp_path: Path) -> None:
    from tokenizers import Tokenizer as Fast

    tokenizer = built("superbpe", PROSE, 900, "superbpe_2")
    assert "not exported" not in export_json(tokenizer, None, tmp_path)
    fast = Fast.from_file(str(tmp_path / "tokenizer.json"))
    for decoded in (*(text.decode(errors="replace") for text in PROSE), "of the 1234 ... Zürich: a  b"):
        assert fast.encode(decoded, add_special_tokens=False).ids == tokenizer.encode(decoded).tolist()


def test_superbpe_is_exported_to_tiktoken(tmp_path: Path) -> None:
    """Text between the matches of the pattern is a pre-token, too."""
    tokenizer = built("superbpe", PROSE, 900, "superbpe_2", stage_1_share=0.6)
    assert "gives the same ids" in export(tokenizer, "tiktoken", None, tmp_path)
    encoding = to_tiktoken(tokenizer)
    for text in (*(text.decode(errors="replace") for text in PROSE), "of the 1234 ... Zürich: a  b"):
        assert encoding.encode_ordinary(text) == tokenizer.encode(text).tolist()
