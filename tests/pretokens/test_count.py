"""Counting and merging of pre-tokens.

Counts beyond the range of 31 bits, and of a double: of a corpus whose pairs occur billions of times.

Lower bounds on the times of kernels: any text has them.
"""

import gzip
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import tokbench
from tests.support.external_tokenizers import DATA, skip_without
from tokbench.construction import constructions
from tokbench.errors import TokbenchError
from tokbench.kernels.count import Counter
from tokbench.pretokenization import pretokenization, schemes
from tokbench.pretokenization.built_in import KERNEL_SCHEMES
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens, merge_counts
from tokbench.reference import ngram as twin

PIECES = [
    b"a",
    b"b",
    b"ab" * 8,
    b"ab" * 7 + b"a",
    b"a" * 17,
    b"\x00",
    b" ",
    b" ",
    b"\n",
    b"1",
    b"'s",
    b"\xff",
    "é".encode(),
]
DOCUMENTS = st.lists(
    st.one_of(
        st.lists(st.sampled_from(PIECES), max_size=80).map(b"".join),
        st.text("ab ", max_size=300).map(str.encode),
        st.binary(max_size=80),
    ),
    max_size=5,
)


def pattern(scheme: str) -> str | None:
    return schemes[scheme].pattern


@pytest.fixture
def register() -> object:
    """Registers a scheme for the length of one test."""
    names = []

    def add(name: str, function: object) -> None:
        schemes.load()
        names.append(name)
        pretokenization(name, pattern=None)(function)  # type: ignore[arg-type]

    yield add
    for name in names:
        del schemes._methods[name]


@given(DOCUMENTS)
@settings(deadline=None)
def test_kernel_equals_twin(documents: list[bytes]) -> None:
    for scheme in KERNEL_SCHEMES:
        counts = count_pretokens(documents, scheme)
        assert list(counts.items()) == twin.count_all(documents, pattern(scheme))
        assert counts.scheme == scheme
        assert counts.total_bytes == sum(map(len, documents))


@given(st.lists(st.binary(max_size=24)), st.integers(0, 3))
@settings(deadline=None)
def test_weights_add_up(pretokens: list[bytes], weight: int) -> None:
    """Keys of every length about the 15 bytes that fit a slot; empty pre-tokens and zero counts leave no trace."""
    offsets = np.cumsum([0, *map(len, pretokens)], dtype=np.int64)
    data = np.frombuffer(b"".join(pretokens), np.uint8)
    counter = Counter()
    counter.add_pretokens(data, offsets)
    counter.add_pretokens(data, offsets, np.full(len(pretokens), weight, np.int64))
    expected = PretokenCounts.from_pairs((token, 1 + weight) for token in pretokens)
    assert list(PretokenCounts(*counter.counts()).items()) == list(expected.items())
    assert len(counter) == len(expected)


def test_order_is_that_of_the_file_format() -> None:
    draw = random.Random(1)
    pairs = [(draw.randbytes(draw.randrange(1, 20)), draw.randrange(1, 4)) for _ in range(3000)]
    pairs += [(b"abcdefgh" + tail, 2) for tail in (b"", b"\x00", b"\x00\x00", b"a", b"aaaaaaaa", b"aaaaaaaaa", b"\xff")]
    expected = PretokenCounts.from_pairs(pairs)
    shuffled = [PretokenCounts.from_pairs([pair]) for pair in draw.sample(pairs, len(pairs))]
    merged = merge_counts(shuffled)
    for name in ("data", "offsets", "counts"):
        np.testing.assert_array_equal(getattr(merged, name), getattr(expected, name))
        assert getattr(merged, name).dtype == getattr(expected, name).dtype


def test_table_grows() -> None:
    """Many more unique pre-tokens than the table begins with, short and long."""
    words = [f"{number:x}" * (1 + number % 4) for number in range(20_000)]
    counts = count_pretokens([" ".join(words).encode(), " ".join(reversed(words)).encode()], "space")
    expected = twin.count_all([" ".join(words + words[::-1]).encode()], pattern("space"))
    assert {token: count for token, count in counts.items() if token != b" "} == {
        token: count for token, count in expected if token != b" "
    }


def test_counts_can_be_taken_before_the_end() -> None:
    counter = Counter(KERNEL_SCHEMES["gpt2"])
    counter.add(b"a b")
    assert counter.counts()[2].tolist() == [1, 1]
    counter.add(b"a c")
    assert list(PretokenCounts(*counter.counts()).items()) == [(b"a", 2), (b" b", 1), (b" c", 1)]


@pytest.mark.parametrize("documents", [[], [b""], [b"", b""]])
def test_nothing_to_count(documents: list[bytes]) -> None:
    counts = count_pretokens(documents, "gpt2")
    assert len(counts) == 0
    assert counts.offsets.tolist() == [0]
    assert len(merge_counts([counts, counts])) == 0


def test_documents_are_streamed() -> None:
    assert count_pretokens((b"word" for _ in range(3)), "first_space").counts.tolist() == [3]


@given(DOCUMENTS, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_merge_equals_one_count(documents: list[bytes], draw: random.Random) -> None:
    parts: list[list[bytes]] = [[], [], []]
    for document in draw.sample(documents, len(documents)):
        draw.choice(parts).append(document)
    merged = merge_counts([count_pretokens(part, "gpt2") for part in parts])
    assert list(merged.items()) == list(count_pretokens(documents, "gpt2").items())
    assert merged.scheme == "gpt2"


def test_merge_of_files(tmp_path: Path) -> None:
    paths = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    for path in paths:
        count_pretokens([b"to be or not to be"], "gpt2").write(path)
    merged = merge_counts(paths)
    assert list(merged.items())[:2] == [(b" be", 4), (b" not", 2)]
    paths[1].unlink()
    with pytest.raises(TokbenchError, match="no such file"):
        merge_counts(paths)


def test_merge_rejects_different_schemes(tmp_path: Path) -> None:
    count_pretokens([b"a"], "space").write(tmp_path / "0.parquet")
    with pytest.raises(TokbenchError, match=r"part 2: .*'gpt2'.*0\.parquet has those of 'space'"):
        merge_counts([tmp_path / "0.parquet", count_pretokens([b"a"], "gpt2")])
    with pytest.raises(TokbenchError, match="an unnamed pre-tokenization"):
        merge_counts([count_pretokens([b"a"], "gpt2"), PretokenCounts.from_pairs([(b"a", 1)])])
    with pytest.raises(TokbenchError, match="no pre-token counts"):
        merge_counts([])


def test_scheme_of_a_third_party(register: object) -> None:
    def pairs(text: bytes) -> NDArray[np.int64]:
        """Two bytes at a time."""
        return np.unique([*range(0, len(text), 2), len(text)]).astype(np.int64)

    register("pairs", pairs)  # type: ignore[operator]
    counts = count_pretokens([b"abab", b"", b"aba"], "pairs")
    assert list(counts.items()) == [(b"ab", 3), (b"a", 1)]
    assert counts.scheme == "pairs"


@pytest.mark.parametrize("bounds", [[], [0], [0, 2], [1, 3], [0, 2, 2, 3], [0, 5, 3]])
def test_boundaries_that_do_not_cut_the_text(register: object, bounds: list[int]) -> None:
    register("broken", lambda text: np.array(bounds, np.int64))  # type: ignore[operator]
    with pytest.raises(TokbenchError, match=r"'broken'.*document 0 .*3 bytes"):
        count_pretokens([b"abc"], "broken")


def test_unknown_scheme() -> None:
    with pytest.raises(TokbenchError, match="is not a pre-tokenization"):
        count_pretokens([], "words")


@pytest.mark.parametrize("scheme", KERNEL_SCHEMES)
@pytest.mark.parametrize("name", ["multilingual/udhr", "english/novels"])
def test_real_text(scheme: str, name: str) -> None:
    path = DATA / f"{name}.jsonl.gz"
    skip_without(path)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        documents = [json.loads(line)["text"][:5_000].encode() for line, _ in zip(lines, range(30), strict=False)]
    counts = count_pretokens(documents, scheme)
    assert list(counts.items()) == twin.count_all(documents, pattern(scheme))


BASE = count_pretokens([topics[name].encode() for name in ("for", "lambda", "strings")], "gpt2")
NOT_BY_COUNTS = {
    "bytespan": "reads scores of bytes",
    "bpe_wp": "reads scores of bytes",
    **dict.fromkeys(("boundlessbpe", "sage", "superbpe", "superbpe_words"), "reads documents"),
    "length_max": "chooses no substring that occurs once",
    "convextok": "rounds the prices of its search to whole numbers, which larger counts round more finely",
    "toast": "counts a substring only if it is frequent, and rounds prices as convextok does",
    **dict.fromkeys(
        ("mingram", "mingram_pp"), "counts a candidate once that BPE does not use, which larger counts outweigh"
    ),
    "unigram": "takes the digamma function of counts, and drops what is expected less than half a time",
}
"""Constructions whose vocabulary is not the same where every count is so many times as large."""
SIZE = 700


@pytest.mark.parametrize("construction", sorted(set(constructions) - set(NOT_BY_COUNTS)))
@pytest.mark.parametrize("bits", [24, 33, 47])
def test_a_corpus_that_is_many_times_as_large_has_the_same_vocabulary(construction: str, bits: int) -> None:
    larger = PretokenCounts(BASE.data, BASE.offsets, BASE.counts << bits, BASE.scheme)
    assert larger.counts.max() > 2**31
    assert built(construction, larger) == built(construction, BASE)


@pytest.mark.parametrize(
    "construction", ["bpe", "bpe_trimmed", "greedtok", "greedwmc", "length_max", "ngram", "picky_bpe", "scaffold_bpe"]
)
def test_counts_above_2_53_are_compared_exactly(construction: str) -> None:
    """2^53 + 1 occurrences are more than 2^53, whichever comes first by its bytes."""
    for more, fewer in ((b"ab", b"cd"), (b"cd", b"ab")):
        counts = PretokenCounts.from_pairs([(more, 2**53 + 1), (fewer, 2**53)], "gpt2")
        assert built(construction, counts, 257)[256] == more


def test_measures_are_exact_and_rounded_once() -> None:
    """The number of tokens is between two doubles."""
    total = 2**53 + 1 + 2**54 + 1
    assert int(float(total)) != total
    counts = PretokenCounts.from_pairs([(b"ab", 2**53 + 1), (b"c", 2**54 + 1)], "gpt2")
    rows = tokbench.measure(tokbench.build("bpe", counts, 257), counts)
    [(value, number)] = rows.filter(pl.col("metric") == "corpus_token_count").select("value", "n").rows()
    assert (value, number) == (float(total), total)


@pytest.mark.skipif("TOKBENCH_BULK" not in os.environ, reason="make nightly runs it: four gigabytes of text")
def test_where_another_trainer_loses_its_most_frequent_pair() -> None:
    """Hugging Face's keeps counts of pairs in 32 bits, signed: past 2^31 the most frequent one is below all others."""
    from tokenizers import Tokenizer, models, trainers

    word, times = "ab" * (1 << 19), (1 << 12) + 8
    assert (1 << 19) * times > 2**31

    def text() -> Iterator[str]:
        for _ in range(times):
            yield word
        for _ in range(1000):
            yield "cd"

    peer = Tokenizer(models.BPE())
    peer.train_from_iterator(text(), trainers.BpeTrainer(vocab_size=5, show_progress=False))
    assert set(peer.get_vocab()) == {"a", "b", "c", "d", "cd"}
    counts = PretokenCounts.from_pairs([(word.encode(), times), (b"cd", 1000)], "none")
    assert built("bpe", counts, 257)[256] == b"ab"


def built(construction: str, counts: PretokenCounts, size: int = SIZE) -> list[bytes]:
    """Tokens of a vocabulary, in order of their ids."""
    alphabet = 512 if construction == "wordpiece" else 0
    return list(map(bytes, tokbench.build(construction, counts, size + alphabet).vocabulary.tokens))
