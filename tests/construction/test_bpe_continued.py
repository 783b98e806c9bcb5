"""Continued and pruned BPE against their twins, against BPE, and from files of other libraries."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import library_tokenizers as made
from tests.support.workflow.checkout import Checkout
from tokbench.adapters.export_hugging_face import export
from tokbench.construction import bpe_continued, bpe_pruned
from tokbench.construction.bpe import BpeOptions
from tokbench.construction.bpe import build as bpe
from tokbench.construction.bpe_continued import BpeContinuedOptions, merges_of_ranks, ranks_of, read_parent
from tokbench.construction.bpe_pruned import BpePrunedOptions, count_uses, leaves_to_drop, remove_tokens
from tokbench.errors import TokbenchError
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.reference import segmentation as segmentation_twin
from tokbench.reference.bpe import continue_training, prune
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary

words = st.dictionaries(
    st.one_of(
        st.text("ab", min_size=1, max_size=16).map(str.encode),
        st.text("aé ", min_size=1, max_size=10).map(str.encode),
        st.binary(min_size=1, max_size=5),
    ),
    st.integers(1, 5),
    max_size=6,
)
merge_lists = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=7)
"""Merges of any order, as places among the symbols a, b, é's bytes, the space and earlier results."""


def vocabulary_of(pairs: list[tuple[int, int]]) -> Vocabulary:
    """A vocabulary whose tokens may be unreachable, or made by several merges."""
    tokens = list(BYTES)
    symbols = [97, 98, 0xC3, 0xA9, 32]
    rows: list[tuple[int, int, int]] = []
    for left, right in pairs:
        left, right = symbols[left % len(symbols)], symbols[right % len(symbols)]
        token = tokens[left] + tokens[right]
        if token not in tokens:
            symbols.append(len(tokens))
            tokens.append(token)
        if (left, right) not in [row[:2] for row in rows]:
            rows.append((left, right, tokens.index(token)))
    return Vocabulary(tuple(tokens), merges=np.array(rows, np.int32).reshape(-1, 3))


@pytest.fixture(scope="module")
def prose() -> PretokenCounts:
    return count_pretokens(["".join(topics.values())[:150_000].encode()], "gpt2")


def saved(vocabulary: Vocabulary, folder: Path, segmentation: str = "merge") -> Path:
    Tokenizer(vocabulary, "gpt2", segmentation).save(folder)
    return folder


def same(a: Vocabulary, b: Vocabulary) -> bool:
    assert a.merges is not None
    assert b.merges is not None
    return a.tokens == b.tokens and a.merges.tolist() == b.merges.tolist()


# Continuing


@settings(max_examples=150)
@given(words, merge_lists, st.integers(0, 20), st.one_of(st.none(), st.integers(2, 9)), st.integers(0, 3))
def test_continued_twin(
    counted: dict[bytes, int], pairs: list[tuple[int, int]], more: int, longest: int | None, least: int
) -> None:
    parent = vocabulary_of(pairs)
    assert parent.merges is not None
    counts = PretokenCounts.from_pairs(counted.items())
    options = BpeContinuedOptions(min_pair_count=least, max_token_bytes=longest, tokenizer=Path("parent"))
    size = len(parent) + more
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bpe_continued, "read_parent", lambda path: parent)
        found = bpe_continued.build(counts, size, options)
    assert found.merges is not None
    merges = [tuple(row) for row in parent.merges.tolist()]
    ranks = ranks_of(parent.tokens).tolist()
    rows, tokens = continue_training(
        list(counts.items()), list(parent.tokens), merges, ranks, size, least, longest or 10**6
    )
    assert list(found.tokens) == tokens
    assert [tuple(row) for row in found.merges.tolist()] == rows


@settings(max_examples=100)
@given(words, st.integers(256, 290), st.integers(0, 40))
def test_continuing_on_the_same_counts_is_bpe(counted: dict[bytes, int], first: int, more: int) -> None:
    counts = PretokenCounts.from_pairs(counted.items())
    parent = bpe(counts, first, BpeOptions())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bpe_continued, "read_parent", lambda path: parent)
        size = len(parent) + more
        found = bpe_continued.build(counts, size, BpeContinuedOptions())
    assert same(found, bpe(counts, size, BpeOptions()))


def test_continuing_prose_is_bpe(prose: PretokenCounts, tmp_path: Path) -> None:
    folder = saved(bpe(prose, 700, BpeOptions()), tmp_path / "parent")
    assert same(bpe_continued.build(prose, 2000, BpeContinuedOptions(tokenizer=folder)), bpe(prose, 2000, BpeOptions()))
    assert same(bpe_continued.build(prose, 2000, BpeContinuedOptions()), bpe(prose, 2000, BpeOptions()))


def test_continuing_to_the_size_that_it_has_changes_nothing(prose: PretokenCounts, tmp_path: Path) -> None:
    parent = bpe(prose, 700, BpeOptions())
    options = BpeContinuedOptions(tokenizer=saved(parent, tmp_path / "parent"))
    other = PretokenCounts.from_pairs([(b"zyzzyva", 9)])
    assert same(bpe_continued.build(other, 700, options), parent)


def test_old_tokens_keep_their_ids_on_another_text(prose: PretokenCounts, tmp_path: Path) -> None:
    parent = bpe(prose, 700, BpeOptions())
    options = BpeContinuedOptions(tokenizer=saved(parent, tmp_path / "parent"))
    other = PretokenCounts.from_pairs([("東京".encode(), 9), (b" zyzzyva", 7), (b" the", 2)])
    found = bpe_continued.build(other, 703, options)
    assert found.tokens[:700] == parent.tokens
    assert found.tokens[700] == b"zy", "which occurs twice in each of seven words"
    tokenizer = Tokenizer(found, "gpt2", "merge")
    for text in (b" zyzzyva \xff\x00", "東京 the".encode(), b"the zyzzy"):
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_a_merge_into_an_unreachable_token_adds_none(tmp_path: Path) -> None:
    """``abc`` cannot be reached by ab + c, since bc is merged first. The first new merge, a + bc, makes it."""
    rows = np.array([(98, 99, 256), (97, 98, 257), (257, 99, 258)], np.int32)
    parent = Vocabulary((*BYTES, b"bc", b"ab", b"abc"), merges=rows)
    counts = PretokenCounts.from_pairs([(b"abcd", 5), (b"xy", 2)])
    options = BpeContinuedOptions(tokenizer=saved(parent, tmp_path / "parent"))
    found = bpe_continued.build(counts, 261, options)
    assert found.merges is not None
    assert found.tokens[259:] == (b"abcd", b"xy")
    assert found.merges[3:].tolist() == [[97, 256, 258], [258, 100, 259], [120, 121, 260]]


def test_more_tokens_than_the_size(prose: PretokenCounts, tmp_path: Path) -> None:
    folder = saved(bpe(prose, 300, BpeOptions()), tmp_path / "parent")
    with pytest.raises(TokbenchError, match=r"has 300 tokens, more than the vocabulary size 299; raise the size"):
        bpe_continued.build(prose, 299, BpeContinuedOptions(tokenizer=folder))


# Existing tokenizers


@pytest.fixture(params=["tokenizer.json", "ranks.tiktoken", "folder"])
def external(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "ranks.tiktoken":
        return made.written(tmp_path / request.param, made.tiktoken_file(made.ranks()))
    file = made.written(tmp_path / "tokenizer.json", made.byte_level())
    return tmp_path if request.param == "folder" else file


def test_external_tokenizers_are_continued(external: Path, prose: PretokenCounts, tmp_path: Path) -> None:
    parent = read_parent(external)
    found = bpe_continued.build(prose, 600, BpeContinuedOptions(tokenizer=external))
    assert parent.ids is not None
    assert found.ids is not None
    assert found.tokens[: len(parent)] == parent.tokens
    assert found.ids.tolist() == [*parent.ids.tolist(), *range(parent.id_limit, parent.id_limit + 600 - len(parent))]
    tokenizer = Tokenizer(found, "gpt2", "merge", name="continued")
    (tmp_path / "exported").mkdir()
    assert export(tokenizer, prose, tmp_path / "exported").startswith("tokenizer.json gives the same ids")
    tokenizer.save(tmp_path / "saved")
    again = Tokenizer.load(tmp_path / "saved")
    for text in (b"the tokens of a tokenizer", b"\xff\x00\xfe", "naïve 東京".encode()):
        assert again.encode(text).tolist() == tokenizer.encode(text).tolist()
        assert again.decode(again.encode(text)) == text


def test_merges_of_ranks_give_their_ids() -> None:
    """Ranks as in ``tiktoken`` and the merges that are derived from them split all pre-tokens of a text alike."""
    ranks = made.ranks()
    tokens = tuple(sorted(ranks, key=ranks.__getitem__))
    vocabulary = Vocabulary(tokens, merges=merges_of_ranks(tokens))
    counts = count_pretokens(["".join(topics.values())[:60_000].encode()], "gpt2")
    ids = [Tokenizer(vocabulary, "gpt2", name).segment(counts)[0].tolist() for name in ("merge", "ranked")]
    assert ids[0] == ids[1]


@given(words)
def test_ranks_of_bpe_have_the_merges_of_bpe(counted: dict[bytes, int]) -> None:
    vocabulary = bpe(PretokenCounts.from_pairs(counted.items()), 300, BpeOptions())
    assert vocabulary.merges is not None
    assert merges_of_ranks(vocabulary.tokens).tolist() == vocabulary.merges.tolist()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (made.byte_unigram, "without merges; name one by BPE"),
        (made.bert, "its merges cannot be used"),
    ],
)
def test_tokenizers_without_merges(content: Any, message: str, tmp_path: Path) -> None:
    file = made.written(tmp_path / "tokenizer.json", content())
    with pytest.raises(TokbenchError, match=message):
        read_parent(file)


def test_other_things_than_tokenizers(tmp_path: Path) -> None:
    with pytest.raises(TokbenchError, match="no such file or folder; name that of a tokenizer"):
        read_parent(tmp_path / "nowhere")
    (tmp_path / "function.py").write_text("def encode(text): return []\n")
    with pytest.raises(TokbenchError, match=r"function\.py"):
        read_parent(tmp_path / "function.py")


# Pruning


@settings(max_examples=150)
@given(words, merge_lists, st.integers(0, 8))
def test_pruned_twin(counted: dict[bytes, int], pairs: list[tuple[int, int]], fewer: int) -> None:
    parent = vocabulary_of(pairs)
    assert parent.merges is not None
    counts = PretokenCounts.from_pairs(counted.items())
    size = max(256, len(parent) - fewer)
    found = remove_tokens(parent, leaves_to_drop(parent, count_uses(parent, counts), len(parent) - size))
    merges = [tuple(row) for row in parent.merges.tolist()]
    assert list(found.tokens) == prune(list(counts.items()), list(parent.tokens), merges, size)
    assert found.merges is not None
    rows = [(parent.tokens[left], parent.tokens[right]) for left, right, _ in merges]
    expected = [pair for pair in rows if b"".join(pair) in found.tokens]
    assert [(found.tokens[left], found.tokens[right]) for left, right, _ in found.merges.tolist()] == expected


@given(words, st.integers(256, 290))
def test_pruning_to_the_size_that_it_has_changes_nothing(counted: dict[bytes, int], size: int) -> None:
    counts = PretokenCounts.from_pairs(counted.items())
    parent = bpe(counts, size, BpeOptions())
    for wanted in (len(parent), len(parent) + 9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bpe_pruned, "read_parent", lambda path: parent)
            assert same(bpe_pruned.build(counts, wanted, BpePrunedOptions(tokenizer=Path("parent"))), parent)


@given(words, st.integers(256, 275), st.integers(0, 20), words)
def test_every_kept_token_can_be_reached(
    counted: dict[bytes, int], size: int, more: int, other: dict[bytes, int]
) -> None:
    counts = PretokenCounts.from_pairs(counted.items())
    found = bpe_pruned.build(counts, size, BpePrunedOptions(initial_size=size + more))
    assert found.merges is not None
    assert len(found) == min(size, len(bpe(counts, size, BpeOptions())))
    for token in found.tokens:
        assert segmentation_twin.merge(token, [tuple(row) for row in found.merges.tolist()]) == [
            found.tokens.index(token)
        ]
    tokenizer = Tokenizer(found, "none", "merge")
    assert all(tokenizer.decode(tokenizer.encode(text)) == text for text in other)


def test_leaves_by_hand(tmp_path: Path) -> None:
    """``ab`` serves ``abc``. ``xy`` is used least. Then ``abc`` is, and its uses become uses of ``ab`` and ``c``."""
    rows = np.array([(97, 98, 256), (256, 99, 257), (120, 121, 258), (121, 122, 259)], np.int32)
    parent = Vocabulary((*BYTES, b"ab", b"abc", b"xy", b"yz"), merges=rows)
    counts = PretokenCounts.from_pairs([(b"abc", 3), (b"xy", 1), (b"yz", 4), (b"ab", 2)])
    options = BpePrunedOptions(tokenizer=saved(parent, tmp_path / "parent"))
    kept = [bpe_pruned.build(counts, size, options).tokens[256:] for size in (260, 259, 258, 257, 256)]
    assert kept == [(b"ab", b"abc", b"xy", b"yz"), (b"ab", b"abc", b"yz"), (b"ab", b"yz"), (b"ab",), ()]


def test_external_tokenizers_are_pruned(external: Path, prose: PretokenCounts, tmp_path: Path) -> None:
    found = bpe_pruned.build(prose, 300, BpePrunedOptions(tokenizer=external))
    assert found.ids is None
    assert found.tokens[:256] == BYTES
    assert len(found) == 300
    (tmp_path / "exported").mkdir()
    told = export(Tokenizer(found, "gpt2", "merge"), prose, tmp_path / "exported")
    assert told.startswith("tokenizer.json gives the same ids")


# In the workflow


EXPERIMENT = """
name: continued
corpora:
  manual: {source: {type: text, path: manual.txt, documents: paragraph}, splits: {tokenizer: 0.6, evaluation: 0.4}}
variants:
  continued: {pretokenization: gpt2, construction: {method: bpe_continued, tokenizer: parent}}
  pruned: {pretokenization: gpt2, construction: {method: bpe_pruned, tokenizer: parent/tokenizer.json}, sizes: [280]}
sizes: [500]
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Checkout]:
    checkout = Checkout(tmp_path)
    yield checkout
    checkout.close()


def test_from_a_configuration_to_measures(checkout: Checkout) -> None:
    (checkout.folder / "manual.txt").write_text("\n\n".join(topics.values())[:60_000])
    (checkout.folder / "continued.yaml").write_text(EXPERIMENT)
    (checkout.folder / "parent").mkdir()
    file = made.written(checkout.folder / "parent" / "tokenizer.json", made.byte_level())
    targets = [f"results/continued/intrinsic/{name}.json" for name in ("continued/500", "pruned/280")]
    run = ["--cores", "2", "--configfile", "continued.yaml"]
    checkout.snakemake(*targets, *run)
    for target, size in zip(targets, (500, 280), strict=True):
        record = json.loads((checkout.folder / target).read_text())
        rows = {row["metric"]: row["value"] for row in record["measurements"]}
        assert record["size"] == size
        assert rows["corpus_token_count"] > 0
    made.written(file, made.byte_level(size=400))
    planned = checkout.snakemake(*targets, *run, "--dry-run")
    assert re.search(r"^build +2$", planned, re.MULTILINE), "the tokenizer is an input of both"
