"""Segmentation by merges of tuples against its twin, and vocabularies that it rejects."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.merge_tuples import merges_of, places, texts, vocabulary_of
from tokbench.adapters.export_hugging_face import export
from tokbench.candidates.merge_lists import Parts
from tokbench.construction.bpe import BpeOptions
from tokbench.construction.bpe import build as bpe
from tokbench.errors import TokbenchError
from tokbench.kernels.tuples import TupleSegmenter
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.reference import morphology as twin
from tokbench.reference.segmentation import merge_tuples as segmentation_twin
from tokbench.segmentation.merge_tuples import merge_tuples
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary

counted_words = st.dictionaries(texts, st.integers(1, 5), max_size=6)


@settings(max_examples=300)
@given(
    places,
    st.lists(st.one_of(texts, st.tuples(texts, st.integers(8, 40)).map(lambda run: run[0] * run[1])), max_size=4),
)
def test_tuples_twin(rows: list[list[int]], pretokens: list[bytes]) -> None:
    merges = merges_of(rows)
    tokenizer = Tokenizer(vocabulary_of(merges), "none", "merge_tuples")
    for text in pretokens:
        found = [tokenizer.vocabulary.tokens[index] for index in tokenizer.encode(text)]
        assert found == (segmentation_twin(text, merges) if len(text) < 60 else twin.encode(text, merges)[0])
        assert tokenizer.decode(tokenizer.encode(text)) == text


@given(places, texts)
def test_every_merge_in_order_is_the_lowest_rank_first(rows: list[list[int]], text: bytes) -> None:
    merges = merges_of(rows)
    assert twin.encode(text, merges)[0] == segmentation_twin(text, merges)


@given(counted_words, texts)
def test_pairs_are_merged_as_by_merge(counted: dict[bytes, int], text: bytes) -> None:
    vocabulary = bpe(PretokenCounts.from_pairs(counted.items()), 290, BpeOptions())
    assert vocabulary.merges is not None
    tokens = vocabulary.tokens
    tuples = vocabulary_of([(tokens[left], tokens[right]) for left, right, _ in vocabulary.merges.tolist()])
    ids = [
        Tokenizer(one, "none", cut).encode(text).tolist()
        for one, cut in ((tuples, "merge_tuples"), (vocabulary, "merge"))
    ]
    assert ids[0] == ids[1]


def test_runs_are_matched_from_the_left() -> None:
    tokenizer = Tokenizer(vocabulary_of([(b"a", b"a", b"b"), (b"a", b"a", b"a")]), "none", "merge_tuples")
    cut = {
        text: [tokenizer.decode([index]) for index in tokenizer.encode(text)] for text in (b"aaab", b"aaaaab", b"aaaa")
    }
    assert cut == {b"aaab": [b"a", b"aab"], b"aaaaab": [b"aaa", b"aab"], b"aaaa": [b"aaa", b"a"]}


def test_tuples_are_saved(tmp_path: Path) -> None:
    tokenizer = Tokenizer(vocabulary_of([(b"a", b"b", b"c"), (b"abc", b"d")]), "none", "merge_tuples")
    tokenizer.save(tmp_path / "saved")
    assert Tokenizer.load(tmp_path / "saved").vocabulary.tuples == tokenizer.vocabulary.tuples
    assert (tmp_path / "saved" / "tuples.tsv").read_text() == "61\t62\t63\n616263\t64\n"


@pytest.mark.parametrize(
    ("tokens", "tuples", "message"),
    [
        ((), None, "the vocabulary has no tuples"),
        ((b"ab",), [(b"ab",)], "merge 0 has fewer than two parts"),
        ((b"abc",), [(b"ab", b"c")], "merge 0 has the token 6162, which the vocabulary lacks"),
        (
            (b"ab", b"abc"),
            [(b"ab", b"c"), (b"a", b"b")],
            "merge 0 has the token 6162, which the vocabulary lacks or no",
        ),
        ((), [(b"a", b"b")], "merge 0 has the token 6162, which the vocabulary lacks"),
        ((b"ab",), [], "no merge makes the token 6162"),
    ],
)
def test_tuples_that_do_not_fit(tokens: tuple[bytes, ...], tuples: list[Parts] | None, message: str) -> None:
    made = None if tuples is None else tuple(tuples)
    with pytest.raises(TokbenchError, match=message):
        merge_tuples(Vocabulary(BYTES + tokens, tuples=made), Options())


@pytest.mark.parametrize(
    ("results", "bounds", "parts", "message"),
    [
        ([256], [0, 1], [97], "merge 0 has fewer than two parts"),
        ([256], [0, 2], [97], "bounds must have one entry more than results"),
        ([256], [0], [97, 98], "bounds must have one entry more than results"),
        ([256], [0, 2], [97, -1], "an id must not be negative"),
        ([256, 257], [0, 3, 4], [97, 98, 99, 100], "merge 1 has fewer than two parts"),
        ([256, 257], [0, 6, 4], [97, 98, 99, 100], "merge 0 has fewer than two parts"),
    ],
)
def test_arrays_that_do_not_fit(results: list[int], bounds: list[int], parts: list[int], message: str) -> None:
    arrays = np.array(results, np.int32), np.array(bounds, np.int64), np.array(parts, np.int32)
    with pytest.raises(ValueError, match=message):
        TupleSegmenter(*arrays, np.arange(256, dtype=np.int32), np.zeros(65536, np.uint8))


def test_tuples_are_not_exported(tmp_path: Path) -> None:
    tokenizer = Tokenizer(vocabulary_of([(b"a", b"b", b"c")]), "gpt2", "merge_tuples")
    assert (
        export(tokenizer, None, tmp_path) == "not exported: Hugging Face has no model for segmentation 'merge_tuples'"
    )
