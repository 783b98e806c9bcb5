"""PathPiece vocabulary construction: costs of omission, choice of a batch, schedule, the complete descent.

Tokenizers pickle and copy: copies give the same ids, in this process and in others.
"""

import copy
import os
import pickle
import pydoc_data.topics
import re
import subprocess
import sys
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.conftest import ODD, TOPICS
from tokbench.candidates import initial
from tokbench.construction import bpe, ngram, pathpiece, picky_bpe, toast, unigram
from tokbench.errors import TokbenchError
from tokbench.kernels import pathpiece as kernel
from tokbench.kernels import trie
from tokbench.pretokenization import schemes
from tokbench.pretokens import PretokenCounts
from tokbench.reference import pathpiece as twin
from tokbench.segmentation import segmentations
from tokbench.segmentation.bpe_dropout import BpeDropoutOptions
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary

WORDS = st.one_of(st.text("ab", min_size=1, max_size=14), st.text("abc\0", min_size=1, max_size=10)).map(str.encode)
PAIRS = st.lists(st.tuples(WORDS, st.integers(1, 3)), min_size=1, max_size=8)
TOKENS = st.lists(st.text("abc", min_size=2, max_size=6).map(str.encode), max_size=25, unique=True)
PUBLISHED = [
    262144,
    229376,
    196608,
    163840,
    131072,
    114688,
    98304,
    81920,
    65536,
    57344,
    49152,
    40960,
    32768,
    24576,
    16384,
]


def kernel_costs(
    counts: PretokenCounts, tokens: tuple[bytes, ...], key: int | None = None
) -> tuple[dict[bytes, int], dict[bytes, int], int]:
    """The kernel's answer in the twin's form, without zeros."""
    data, offsets = Vocabulary(tokens).flat()
    costs = np.zeros((2, len(tokens)), np.int64)
    total = kernel.omission_costs(
        trie.Trie(data, offsets), counts.data, counts.offsets, counts.counts, 0, len(counts), *costs, key
    )
    named = [{tokens[i]: int(values[i]) for i in np.flatnonzero(values)} for values in costs]
    return named[0], named[1], total


@settings(deadline=None)
@given(PAIRS, TOKENS, st.one_of(st.none(), st.integers(0, 2**64 - 1)))
def test_costs_equal_brute_force(pairs: list[tuple[bytes, int]], extra: list[bytes], key: int | None) -> None:
    counts = PretokenCounts.from_pairs(pairs)
    increases, occurrences, total = twin.costs(counts.items(), {*BYTES, *extra}, key)
    assert kernel_costs(counts, BYTES + tuple(extra), key) == (+increases, occurrences, total)


@settings(deadline=None)
@given(WORDS, TOKENS)
def test_cost_of_a_token_is_the_length_gained_without_it(word: bytes, extra: list[bytes]) -> None:
    """For a token with one occurrence, the cost is the number of tokens gained without it."""
    counts = PretokenCounts.from_pairs([(word, 1)])
    increases, occurrences, total = kernel_costs(counts, BYTES + tuple(extra))
    for token in occurrences:
        if sum(word.startswith(token, place) for place in range(len(word))) == 1:
            _, _, without = kernel_costs(counts, BYTES + tuple(other for other in extra if other != token))
            assert without - total == increases.get(token, 0)


def test_longer_tokens_from_the_first_byte_replace_a_removed_token() -> None:
    """abc|def without 'abc' is abcd|ef; Algorithm 2 as printed has no 'abcd' in its list and says a|b|c|def."""
    counts = PretokenCounts.from_pairs([(b"abcdef", 5)])
    increases, occurrences, total = kernel_costs(counts, (*BYTES, b"abc", b"def", b"abcd", b"ef"))
    assert (increases, occurrences, total) == ({}, {b"abc": 5, b"def": 5}, 10)
    assert kernel_costs(counts, (*BYTES, b"abc", b"def"))[0] == {b"abc": 10, b"def": 10}


def test_wide_tokens() -> None:
    word = bytes(range(97, 123)) * 2
    counts = PretokenCounts.from_pairs([(word, 1)])
    tokens = (*BYTES, word[:32], word[32:], word[20:])
    increases, occurrences, total = twin.costs([(word, 1)], set(tokens))
    assert kernel_costs(counts, tokens) == (+increases, occurrences, total)
    with pytest.raises(ValueError, match="longer than 32"):
        kernel_costs(counts, (*BYTES, word[:33]))


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 3), min_size=15, max_size=15),
    st.lists(st.integers(0, 3), min_size=15, max_size=15),
    st.integers(1, 280),
    st.integers(1, 3),
    st.data(),
)
def test_drops_equal_twin(
    increases: list[int], occurrences: list[int], limit: int, threads: int, data: st.DataObject
) -> None:
    """In order of increase, occurrences and bytes, single bytes never, whatever is put in order at a time."""
    words = st.text("ab", min_size=2, max_size=7).map(str.encode)
    longer = data.draw(st.lists(words, min_size=15, max_size=15, unique=True))
    tokens = sorted(BYTES + tuple(longer))
    costs = dict(zip(longer, zip(increases, occurrences, strict=True), strict=True))
    known = np.array([costs.get(token, (0, 0)) for token in tokens], np.int64).T.copy()
    flat = Vocabulary(tuple(tokens)).flat()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pathpiece, "BLOCK", 4)
        patch.setattr(pathpiece, "LEAST", 2)
        chosen = pathpiece._drops(trie.Trie(*flat), *flat, *known, limit, threads)
    order = sorted(longer, key=lambda token: (*costs[token], token))
    assert [tokens[token] for token in chosen] == twin.drops(order, limit)


def test_a_pretoken_too_long_to_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pathpiece, "MAX_BYTES", 3)
    build = partial(pathpiece.build, size=256, options=pathpiece.PathPieceOptions(), initial=Vocabulary(BYTES))
    assert build(PretokenCounts.from_pairs([(b"abc", 1)])).tokens == BYTES
    with pytest.raises(TokbenchError, match="pathpiece: a pre-token has 4 bytes, the limit is 3"):
        build(PretokenCounts.from_pairs([(b"abcd", 1)]))


def test_schedule_is_the_published_one() -> None:
    assert list(initial.schedule(262144, 16384)) == PUBLISHED[1:]
    assert list(initial.schedule(262144, 40960)) == PUBLISHED[1 : PUBLISHED.index(40960) + 1]
    assert list(initial.schedule(16384, 8000)) == [14336, 12288, 10240, 8192, 8000]


@settings(deadline=None)
@given(st.integers(0, 600_000), st.integers(256, 300_000))
def test_schedule_descends_to_the_size(start: int, size: int) -> None:
    sizes = [start, *initial.schedule(start, size)]
    assert sizes[-1] == min(start, size)
    assert all(later < earlier for earlier, later in pairwise(sizes))


def test_schedule_keeps_sizes_between_start_and_end() -> None:
    assert list(initial.own_schedule((900, 700, 500, 300), 900, 400)) == [700, 500, 400]
    assert list(initial.own_schedule((900, 700), 300, 400)) == []
    with pytest.raises(ValidationError, match=r"sizes must descend|500 is listed twice"):
        pathpiece.PathPieceOptions(schedule=(500, 500))


@settings(deadline=None)
@given(PAIRS, st.integers(256, 300), st.lists(st.integers(256, 320), max_size=4, unique=True))
def test_build_equals_twin(pairs: list[tuple[bytes, int]], size: int, sizes: list[int]) -> None:
    counts = PretokenCounts.from_pairs(pairs)
    start = ngram.build(counts, 320, ngram.NgramOptions())
    own = tuple(sorted(sizes, reverse=True))
    options = pathpiece.PathPieceOptions(schedule=own)
    built = pathpiece.build(counts, size, options, initial=start)
    steps = initial.own_schedule(own, len(start), size)
    assert list(built.tokens) == twin.build(list(counts.items()), list(start.tokens), steps)
    assert len(built) == min(len(start), size)


@pytest.fixture(scope="module")
def prose() -> PretokenCounts:
    text = "".join(pydoc_data.topics.topics.values())
    return PretokenCounts.from_pairs((word.encode(), 1) for word in re.findall(r" ?\S+|\s+", text))


def test_seed_matters_to_random_ties_only(prose: PretokenCounts) -> None:
    start = ngram.build(prose, 6000, ngram.NgramOptions())
    built = {
        (ties, seed): pathpiece.build(
            prose, 1500, pathpiece.PathPieceOptions(ties=ties), seed=seed, initial=start
        ).tokens
        for ties in ("longest", "random")
        for seed in (0, 1)
    }
    assert built["longest", 0] == built["longest", 1]
    assert built["random", 0] != built["random", 1]


def test_fewer_tokens_of_text_than_top_ngrams(prose: PretokenCounts) -> None:
    """At one size, the corpus needs fewer tokens than with the most frequent n-grams."""
    start = ngram.build(prose, 6000, ngram.NgramOptions())
    built = pathpiece.build(prose, 1500, pathpiece.PathPieceOptions(), initial=start)
    assert kernel_costs(prose, built.tokens)[2] < 0.9 * kernel_costs(prose, start.tokens[:1500])[2]


def test_tokens_that_are_too_long_are_left_out(prose: PretokenCounts) -> None:
    start = ngram.build(prose, 2000, ngram.NgramOptions())
    built = pathpiece.build(prose, 1000, pathpiece.PathPieceOptions(max_token_bytes=3), initial=start)
    assert max(map(len, built.tokens)) == 3


def test_small_sizes(prose: PretokenCounts) -> None:
    start = ngram.build(prose, 400, ngram.NgramOptions())
    assert pathpiece.build(prose, 256, pathpiece.PathPieceOptions(), initial=start).tokens == BYTES
    assert pathpiece.build(prose, 500, pathpiece.PathPieceOptions(), initial=start).tokens == start.tokens
    with pytest.raises(TokbenchError, match="below 256"):
        pathpiece.build(prose, 255, pathpiece.PathPieceOptions(), initial=start)


@pytest.mark.parametrize("ties", ["longest", "random"])
def test_threads_do_not_show(prose: PretokenCounts, ties: str) -> None:
    """In enough tokens for subtrees, parts and blocks of each kind."""
    options = pathpiece.PathPieceOptions(ties=ties)
    start = ngram.build(prose, 40_000, ngram.NgramOptions())
    assert len(start) == 40_000
    built = [
        pathpiece.build(prose, 2000, options, seed=1, threads=threads, initial=start).tokens for threads in (1, 2, 3, 7)
    ]
    assert built == [built[0]] * 4
    survivors = set(built[0])
    assert built[0] == tuple(token for token in start.tokens if token in survivors)


def test_an_initial_vocabulary_in_any_order() -> None:
    """Bytes may stand anywhere in it, and come first; the others keep their order."""
    counts = PretokenCounts.from_pairs([(b"abcabd", 3), (b"dab", 1)])
    others = (b"dab", b"ab", b"abc", b"abcabd" * 9)
    start = Vocabulary((*others[:2], *reversed(BYTES), *others[2:]))
    options = pathpiece.PathPieceOptions()
    assert pathpiece.build(counts, 300, options, initial=start).tokens == (*BYTES, *others[:3])
    assert pathpiece.build(counts, 258, options, initial=start).tokens == tuple(
        twin.build(list(counts.items()), [*BYTES, *others[:3]], [258])
    )


TEXTS = [*TOPICS[:2], ODD, b""]
WAYS = {
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


@pytest.fixture(scope="module")
def vocabularies(counts: PretokenCounts) -> dict[str | None, Vocabulary]:
    """By what a segmentation needs."""
    merging = bpe.build(counts, 400, bpe.BpeOptions())
    return {
        None: Vocabulary(merging.tokens),
        "merges": merging,
        "scores": unigram.build(counts, 500, unigram.UnigramOptions(seed_size=2000)),
        "events": picky_bpe.build(counts, 400, picky_bpe.PickyBpeOptions()),
        "substring_counts": toast.build(counts, 400, toast.ToastOptions(steps=20)),
        "tuples": Vocabulary(
            (*BYTES, b"th", b"ing", b"thing"), tuples=((b"t", b"h"), (b"i", b"n", b"g"), (b"th", b"ing"))
        ),
        "supermerges": Vocabulary((*BYTES, b"aa"), events=(), supermerges=((b"a", b"a"),)),
    }


def made(segmentation: str, vocabularies: dict[str | None, Vocabulary]) -> Tokenizer:
    method = segmentations[segmentation]
    return Tokenizer(vocabularies[method.needs], "gpt2", segmentation, name="one", origin={"seed": [1]})


def ids_of(tokenizer: Tokenizer) -> list[list[int]]:
    return [ids.tolist() for ids in tokenizer.encode_batch(TEXTS)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("segmentation", list(segmentations))
def test_every_segmentation(segmentation: str, way: str, vocabularies: dict[str | None, Vocabulary]) -> None:
    ours = made(segmentation, vocabularies)
    before = ids_of(ours)
    again = WAYS[way](ours)
    assert ids_of(again) == before
    assert (again.name, again.origin, again.options) == (ours.name, ours.origin, ours.options)
    assert again.decode(again.encode(ODD)) == ODD


WITH_OPTIONS = {
    "added_tokens": {"method": "added_tokens", "tokens": ["the a", "  "], "others": "gpt2"},
    "regex": {"method": "regex", "pattern": r"\p{L}+| "},
    "sequence": {"method": "sequence", "steps": ["digit", "first_space"]},
}


@pytest.mark.parametrize("scheme", list(schemes))
def test_every_scheme(scheme: str, vocabularies: dict[str | None, Vocabulary]) -> None:
    ours = Tokenizer(vocabularies["merges"], WITH_OPTIONS.get(scheme, scheme), "merge")
    assert ids_of(pickle.loads(pickle.dumps(ours))) == ids_of(ours)


def test_options_go_along(vocabularies: dict[str | None, Vocabulary]) -> None:
    options = BpeDropoutOptions(dropout=0.5, seed=9)
    ours = Tokenizer(vocabularies["merges"], "gpt2", "bpe_dropout", options)
    assert ids_of(pickle.loads(pickle.dumps(ours))) == ids_of(ours)


def test_pickled_tokenizers_have_no_caches(vocabularies: dict[str | None, Vocabulary]) -> None:
    """So that the fingerprint that ``datasets`` takes of a function stays the same when the function has been used."""
    ours = made("merge", vocabularies)
    before = pickle.dumps(ours)
    ours.encode(TOPICS[0])
    ours.decode([1])
    assert pickle.dumps(ours) == before


def test_a_deep_copy_shares_nothing_that_can_be_changed(vocabularies: dict[str | None, Vocabulary]) -> None:
    ours = made("merge", vocabularies)
    again = copy.deepcopy(ours)
    again.origin["seed"].append(2)
    assert again.vocabulary.merges is not None
    again.vocabulary.merges[:] = 0
    assert ours.origin == {"seed": [1]}
    assert ids_of(ours) == ids_of(made("merge", vocabularies))


@pytest.mark.parametrize("way", WAYS)
def test_vocabularies_and_counts(way: str, vocabularies: dict[str | None, Vocabulary], counts: PretokenCounts) -> None:
    for ours in vocabularies.values():
        again = WAYS[way](ours)
        assert (again.tokens, again.events) == (ours.tokens, ours.events)
        for name in ("merges", "scores", "continuation"):
            np.testing.assert_equal(getattr(again, name), getattr(ours, name))
    again = WAYS[way](counts)
    assert (list(again.items()), again.scheme) == (list(counts.items()), "gpt2")


def test_spawned_processes(vocabularies: dict[str | None, Vocabulary]) -> None:
    ours = made("merge", vocabularies)
    with get_context("spawn").Pool(1) as pool:
        assert [ids.tolist() for ids in pool.map(ours.encode, TEXTS)] == ids_of(ours)


THEIRS = '''
import numpy as np
from tokbench.options import Options
from tokbench.pretokenization import pretokenization
from tokbench.segmentation import segmentation

class Every(Options):
    bytes: int = 1

class Cut:
    def __init__(self, every):
        self.every = every
        self.unpicklable = lambda: None
    def segment(self, data, offsets):
        return data.astype(np.int32), offsets - offsets[0]

@segmentation("single_bytes", options=Every)
def single_bytes(vocabulary, options):
    """Every byte by itself."""
    return Cut(options.bytes)

@pretokenization("halves", pattern=None)
def halves(text):
    """Two halves."""
    return np.array(sorted({0, len(text) // 2, len(text)}), np.int64)
'''
MAKE = """
import pickle, sys
from tokbench import Tokenizer, Vocabulary, segmentations
from tokbench.vocabulary import BYTES
options = segmentations["single_bytes"].options(bytes=3)
made = Tokenizer(Vocabulary(BYTES), "halves", "single_bytes", options)
sys.stdout.buffer.write(pickle.dumps(made))
"""
USE = """
import pickle, sys
made = pickle.load(sys.stdin.buffer)
print(made.encode("abc").tolist(), made.options.bytes, made.pretokenization)
"""


def test_methods_of_others(tmp_path: Path) -> None:
    """They are found by their names, and made anew of vocabulary and options, whatever they hold."""
    (tmp_path / "their_methods.py").write_text(THEIRS)
    information = tmp_path / "theirs-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    groups = ("segmentation", "pretokenization")
    (information / "entry_points.txt").write_text(
        "".join(f"[tokbench.{group}]\ntheirs = their_methods\n" for group in groups)
    )
    there = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    pickled = subprocess.run([sys.executable, "-c", MAKE], check=True, env=there, stdout=subprocess.PIPE).stdout
    said = subprocess.run([sys.executable, "-c", USE], check=True, env=there, input=pickled, stdout=subprocess.PIPE)
    assert said.stdout == b"[97, 98, 99] 3 halves\n"


def test_datasets_in_two_processes(vocabularies: dict[str | None, Vocabulary], tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    ours = made("merge", vocabularies)
    rows = datasets.Dataset.from_dict({"text": [f"text {row} don't" for row in range(6)]})

    def encoded(row: dict[str, Any]) -> dict[str, Any]:
        return {"ids": ours.encode(row["text"])}

    mapped = rows.map(encoded, num_proc=2)
    assert mapped["ids"] == [ours.encode(text).tolist() for text in rows["text"]]
