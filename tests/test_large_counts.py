"""Counts beyond what 31 bits, and a double, hold: of a corpus whose pairs occur billions of times."""

import os
from collections.abc import Iterator
from pydoc_data.topics import topics

import polars as pl
import pytest

import tokbench
from tokbench.construction import constructions
from tokbench.counting.count import count_pretokens
from tokbench.pretokens import PretokenCounts

BASE = count_pretokens([topics[name].encode() for name in ("for", "lambda", "strings")], "gpt2")
NOT_BY_COUNTS = {
    "bytespan": "reads scores of bytes",
    "bpe_wp": "reads scores of bytes",
    "sage": "reads documents",
    "convextok": "rounds the prices of its search to whole numbers, which larger counts round more finely",
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
    "construction", ["bpe", "bpe_trimmed", "greedtok", "greedwmc", "ngram", "picky_bpe", "scaffold_bpe"]
)
def test_one_more_counts_where_a_double_would_not_tell(construction: str) -> None:
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
