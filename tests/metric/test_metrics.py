"""Intrinsic metrics against a text spelled out token by token, and the released artefacts of PathPiece's authors.

More families of metrics: frequencies, pairs, bytes, removed tokens, comparisons of languages.
"""

import gzip
import json
from collections import Counter
from fractions import Fraction
from math import log

import numpy as np
import polars as pl
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.support.external_tokenizers import DATA, PUBLISHED, needs
from tests.support.processes import TEXT, TOKENS, Greedy, value, vocabulary
from tokbench.errors import TokbenchError
from tokbench.intrinsic.tokenizer import measure, measure_languages
from tokbench.kernels.covered import covered_pairs
from tokbench.kernels.trie import Trie
from tokbench.metric import metrics
from tokbench.metric.compression import compression
from tokbench.metric.frequency import FrequencyOptions, class_names, frequency_classes
from tokbench.metric.length import LengthOptions, character_lengths
from tokbench.metric.measurement import Measurement, ratio
from tokbench.metric.parity import ParityOptions, gini
from tokbench.metric.pretoken_words import words_of_counts
from tokbench.metric.removed import removed_tokens
from tokbench.metric.renyi import RenyiOptions, renyi_efficiency, renyi_entropy
from tokbench.metric.unigram_objective import substring_occurrences
from tokbench.metric.usage import Usage, usage_of
from tokbench.metric.vocabulary import VocabularyOptions, whole_words
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.reference import segmentation as twin
from tokbench.reference.parity import gini as pairs_gini
from tokbench.tabulation.vocabularies import overlap, overlaps_by_size, venn_regions
from tokbench.vocabulary import BYTES, Event, Vocabulary

TIMTC = DATA / "timtc"
PAPER = "tokenization_is_more_than_compression"
needs_artefacts = needs(TIMTC, PUBLISHED)


@given(TOKENS, TEXT)
@settings(max_examples=60, deadline=None)
def test_measurements_agree_with_the_text_spelled_out(tokens: list[bytes], pretokens: list[bytes]) -> None:
    tokenizer = Greedy(vocabulary(*tokens))
    rows = measure(tokenizer, PretokenCounts.from_pairs((token, 1) for token in pretokens))
    text = b"".join(pretokens)
    stream = [tokenizer.vocabulary.tokens[index] for token in pretokens for index in tokenizer.tokens(token)]
    used, size = Counter(stream), len(tokenizer.vocabulary)
    words = [token for token in pretokens if any(letter.isalnum() for letter in token.decode())]

    assert value(rows, "corpus_token_count") == len(stream)
    assert value(rows, "bytes_per_token") == len(text) / len(stream)
    assert value(rows, "fertility", "tokens / pre-tokens$") == len(stream) / len(pretokens)
    assert value(rows, "fertility", "tokens / pre-tokens that hold") == (len(stream) / len(words) if words else None)
    split = text.count(b" ") + text.count(b"\n")
    assert value(rows, "fertility", "spaces") == (len(stream) / split if split else None)
    in_words = sum(len(tokenizer.tokens(word)) for word in words)
    assert value(rows, "fertility", "those pre-tokens") == (in_words / len(words) if words else None)
    single = sum(len(tokenizer.tokens(word)) == 1 for word in words)
    assert value(rows, "single_token_word_share") == (single / len(words) if words else None)
    assert value(rows, "mean_token_length", "bytes / tokens of the text") == len(text) / len(stream)
    assert value(rows, "mean_token_length", "characters", "of the text") == len(text.decode()) / len(stream)
    lengths = [len(token) for token in tokenizer.vocabulary.tokens]
    assert value(rows, "mean_token_length", "bytes / tokens of the voc") == sum(lengths) / size
    initial = sum(token.startswith(b" ") for token in stream)
    assert value(rows, "word_initial_share", "space", "of the text") == initial / len(stream)
    assert value(rows, "word_initial_share", "marked", "of the text") is None
    assert value(rows, "unused_tokens") == size - len(used)
    assert value(rows, "unused_token_share") == (size - len(used)) / size
    assert value(rows, "single_byte_tokens_used") == sum(len(token) == 1 for token in used)
    shares = [count / len(stream) for count in used.values()]
    observed = log(len(used)) if len(used) > 1 else None
    for order in (1.5, 3.0):
        entropy = log(sum(share**order for share in shares)) / (1 - order)
        assert value(rows, f"renyi_efficiency_{order:g}", "nominal") == pytest.approx(entropy / log(size))
        expected = None if observed is None else pytest.approx(entropy / observed)
        assert value(rows, f"renyi_efficiency_{order:g}", "seen") == expected


def naive_occurrences(tokens: tuple[bytes, ...], counts: PretokenCounts) -> list[int]:
    return [
        sum(count for text, count in counts.items() for start in range(len(text)) if text.startswith(token, start))
        for token in tokens
    ]


@given(
    st.lists(st.text("ab", min_size=2, max_size=5).map(str.encode), max_size=8),
    st.lists(st.tuples(st.text("ab", min_size=1, max_size=9).map(str.encode), st.integers(1, 5)), max_size=8),
)
@settings(max_examples=60, deadline=None)
def test_substring_occurrences(tokens: list[bytes], pairs: list[tuple[bytes, int]]) -> None:
    counts, tokens_there = PretokenCounts.from_pairs(pairs), vocabulary(*tokens)
    found = substring_occurrences(tokens_there, counts)
    assert found.tolist() == naive_occurrences(tokens_there.tokens, counts)


def test_a_share_of_nothing_is_over_nothing() -> None:
    assert ratio("m", "d", 3, 0, "why") == Measurement("m", "d", None, 0, "why")
    assert ratio("m", "d", 3, 4, "why") == Measurement("m", "d", 0.75, 4)


def test_unigram_objective_by_hand() -> None:
    counts = PretokenCounts.from_pairs([(b"aab", 2), (b"b", 1)])
    rows = measure(Greedy(vocabulary(b"aa")), counts, families={"unigram_objective": Options()})
    occurrences = {"aa": 2, "a": 4, "b": 3}
    everything = sum(occurrences.values())
    expected = 2 * log(occurrences["aa"] / everything) + 3 * log(occurrences["b"] / everything)
    for cut in ("cut by the tokenizer", "greatest", "cover"):
        assert value(rows, "unigram_objective", cut) == pytest.approx(expected)


def test_unigram_objective_depends_on_how_the_text_is_cut() -> None:
    """Greedy: aab|b; cover takes bb, the lesser id, first; the likeliest is aa|bb."""
    counts = PretokenCounts.from_pairs([(b"aabb", 1), (b"aa", 9), (b"bb", 9)])
    rows = measure(Greedy(vocabulary(b"bb", b"aab", b"aa")), counts, families={"unigram_objective": Options()})
    occurrences = {"aab": 1, "aa": 10, "bb": 10, "a": 20, "b": 20}
    logarithm = {token: log(count / sum(occurrences.values())) for token, count in occurrences.items()}
    whole = 9 * (logarithm["aa"] + logarithm["bb"])
    assert value(rows, "unigram_objective", "tokenizer") == pytest.approx(whole + logarithm["aab"] + logarithm["b"])
    for cut in ("greatest", "cover"):
        assert value(rows, "unigram_objective", cut) == pytest.approx(whole + logarithm["aa"] + logarithm["bb"])


def test_every_tokenizer_yields_the_same_rows() -> None:
    counts = PretokenCounts.from_pairs([(b" the", 3), (b"\xff\xfe", 1)])
    marked = Vocabulary(BYTES + BYTES + (b" the",), continuation=np.repeat([False, True, False], [256, 256, 1]))
    cases = [
        measure(Greedy(vocabulary()), counts),
        measure(Greedy(marked), counts),
        measure(Greedy(vocabulary(b" the")), PretokenCounts.from_pairs([])),
    ]
    keys = [[(row.metric, row.definition) for row in rows] for rows in cases]
    assert keys[0] == keys[1] == keys[2]
    assert len(set(keys[0])) == len(keys[0])
    assert value(cases[1], "word_initial_share", "marked", "of the text") == 4 / 5
    assert value(cases[1], "word_initial_share", "marked", "vocabulary") == 257 / 513
    assert value(cases[1], "unigram_objective", "cover") is None
    assert value(cases[1], "covered_pairs") is None
    assert value(cases[2], "bytes_per_token") is None
    assert value(cases[2], "corpus_token_count") == 0


def test_frequencies_stay_exact_beyond_floating_point() -> None:
    counts = PretokenCounts.from_pairs([(b"a", 2**60), (b"ab", 1)])
    usage = usage_of(Greedy(vocabulary()), counts)
    assert usage.frequencies[ord("a")] == 2**60 + 1


def test_a_segmentation_that_does_not_fit_is_rejected() -> None:
    class Wrong(Greedy):
        def segment(self, counts: PretokenCounts) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
            return np.zeros(3, np.int32), np.zeros(1, np.int64)

    with pytest.raises(TokbenchError, match="segmentation of 1 pre-tokens has 1 bounds and 3 ids"):
        measure(Wrong(vocabulary()), PretokenCounts.from_pairs([(b"a", 1)]))


def test_families_are_chosen_by_name() -> None:
    counts = PretokenCounts.from_pairs([(b"ab", 1), (b"ba", 1)])
    rows = measure(Greedy(vocabulary(b"ab")), counts, families={"renyi": RenyiOptions(orders=(2.0,))}, nominal_size=300)
    assert [row.metric for row in rows] == ["renyi_efficiency_2", "renyi_efficiency_2"]
    assert [row.n for row in rows] == [300, 3]
    with pytest.raises(TokbenchError, match=r"'reny' is not a metric .* Did you mean 'renyi'"):
        measure(Greedy(vocabulary()), counts, families={"reny": Options()})
    assert {"compression", "fertility", "length", "renyi", "unigram_objective", "vocabulary"} <= set(metrics)


def test_orders_that_differ_have_names_that_differ(counts: PretokenCounts) -> None:
    """Six digits name an order where they are enough."""
    families = {"renyi": RenyiOptions(orders=(2.5, 2.50000001, 100.0))}
    names = [row.metric for row in measure(Greedy(vocabulary(b"ab")), counts, families=families)]
    assert names[::2] == names[1::2] == [f"renyi_efficiency_{order}" for order in ("2.5", "2.50000001", "100")]


def test_renyi_by_hand() -> None:
    even = np.array([5, 5, 5, 5, 0], np.int64)
    for order in (0.5, 1.0, 2.5):
        assert renyi_entropy(even, order) == pytest.approx(log(4))
        assert renyi_efficiency(even, order, 4) == pytest.approx(1.0)
    skewed = np.array([3, 1], np.int64)
    assert renyi_entropy(skewed, 1.0) == pytest.approx(log(4) - 0.75 * log(3))
    assert renyi_entropy(skewed, 2.0) == pytest.approx(-log(10 / 16))
    assert renyi_entropy(skewed, 1.0) == pytest.approx(renyi_entropy(skewed, 1.0 + 1e-7))
    assert renyi_efficiency(np.zeros(4, np.int64), 2.0, 4) is None


@given(st.sets(st.one_of(st.binary(min_size=1, max_size=5), st.text(min_size=1, max_size=3).map(str.encode))))
def test_words_are_found_pre_token_by_pre_token(tokens: set[bytes]) -> None:
    """Searching all pre-tokens at once gives the flags of searching each."""
    counts = PretokenCounts.from_pairs([(token, 1) for token in tokens | {"\u00aa\n1".encode(), b"\xc3", b"\xaa\n"}])
    each = [regex.search(r"[\p{L}\p{N}]", token.decode("utf-8", "replace")) is not None for token, _ in counts.items()]
    assert words_of_counts(counts).chosen.tolist() == each


def test_whole_words_count_pretokens_that_are_tokens() -> None:
    pairs = [(b" the", 9), (b"...", 8), (b" of", 7), (b"zebra", 1)]
    usage = usage_of(Greedy(vocabulary(b" the", b"...", b"zebra")), PretokenCounts.from_pairs(pairs))
    assert [whole_words(usage, frequent) for frequent in (1, 2, 3)] == [1, 1, 2]
    assert whole_words(usage, 3, longer=True) == 2
    assert whole_words(usage_of(Greedy(vocabulary()), PretokenCounts.from_pairs([(b"a", 2)])), 1) == 1
    assert whole_words(usage_of(Greedy(vocabulary()), PretokenCounts.from_pairs([(b"a", 2)])), 1, longer=True) == 0
    assert VocabularyOptions().frequent_words == 40_000


def test_frequent_words_come_from_the_reference_text() -> None:
    """Appendix B of "A partition cover approach to tokenization": the words of one corpus for every vocabulary."""
    own = PretokenCounts.from_pairs([(b" own", 9), (b" the", 1)])
    reference = PretokenCounts.from_pairs([(b" the", 9), (b"...", 8), (b" of", 7), (b" own", 1)])
    tokens = (b" the", b" own", "\u0120of".encode(), "\u0120".encode())
    usage = usage_of(Greedy(vocabulary(*tokens)), own, reference=reference)
    assert [whole_words(usage, frequent) for frequent in (1, 2, 3)] == [1, 2, 3]
    assert whole_words(usage_of(Greedy(vocabulary(*tokens)), own), 1) == 1

    def shares(options: VocabularyOptions, reference: PretokenCounts | None) -> list[Measurement]:
        usage = usage_of(Greedy(vocabulary(*tokens)), own, reference=reference)
        return [row for row in metrics["vocabulary"].function(usage, options) if row.metric == "whole_word_share"]

    named = VocabularyOptions(frequent_words=2, words_of="wiki")
    found = shares(named, reference)
    assert [row.value for row in found] == [2 / 260, 2 / 4]
    assert found[1].definition == (
        "tokens longer than one byte that are one of the 2 most frequent pre-tokens of wiki that hold a letter or a "
        "number / tokens longer than one byte"
    )
    assert {row.reason for row in shares(named, None)} == {
        "the words of wiki are not counted by this tokenizer's pre-tokenization"
    }
    assert "pre-tokens that hold" in shares(VocabularyOptions(frequent_words=2), None)[0].definition


def test_lengths_count_characters_of_tokens_with_partial_characters() -> None:
    tokens = vocabulary("é".encode(), "é".encode()[1:] + b"a", b"ab")
    assert character_lengths(tokens)[256:].tolist() == [1, 1, 2]
    rows = measure(
        Greedy(vocabulary(b"ab", b"abc", b"abcd")),
        PretokenCounts.from_pairs([(b"a", 1)]),
        families={"length": LengthOptions(longest=2)},
    )
    distribution = {row.definition: row.value for row in rows if row.metric == "token_length_distribution"}
    assert distribution == {
        "tokens of the vocabulary of 01 bytes": 256,
        "tokens of the vocabulary of 02 bytes": 1,
        "tokens of the vocabulary of more than 2 bytes": 2,
    }


def test_overlap_of_vocabularies() -> None:
    named = {"a": vocabulary(b"ab", b"bc"), "b": vocabulary(b"ab", b"cd", b"de"), "c": vocabulary()}
    table = overlap(named)
    assert table.select("a", "b", "size_a", "size_b", "shared").rows()[0] == ("a", "b", 258, 259, 257)
    row = table.row(0, named=True)
    assert (row["jaccard"], row["share_of_a"], row["share_of_b"]) == (257 / 260, 257 / 258, 257 / 259)
    longer = overlap(named, single_bytes=False)
    assert longer["shared"].to_list() == [1, 0, 0]
    assert longer["jaccard"].to_list() == [0.25, 0.0, 0.0]
    assert longer["share_of_b"].to_list() == [1 / 3, None, None]
    assert longer["reason"][1] == "no tokens longer than one byte in c"
    sized = {(name, 258): one for name, one in named.items()}
    at_size = overlaps_by_size(sized, {}, single_bytes=False)
    assert at_size.drop("size").equals(longer)
    assert at_size["tokens"].unique().to_list() == ["longer than one byte"]
    assert overlaps_by_size(sized)["shared"].to_list() == table["shared"].to_list()
    regions = dict(venn_regions(named).rows())
    assert regions == {"a": 1, "b": 2, "c": 0, "a & b": 1, "a & c": 0, "b & c": 0, "a & b & c": 256}
    with pytest.raises(TokbenchError, match="name two or more"):
        venn_regions({"a": vocabulary()})


def test_continuation_forms_are_tokens_of_their_own() -> None:
    marked = Vocabulary(BYTES + BYTES, continuation=np.repeat([False, True], 256))
    assert venn_regions({"plain": vocabulary(), "marked": marked})["tokens"].to_list() == [0, 256, 256]


# The released artefacts ----------------------------------------------------------------------------------------------

RUNS = {1: "pathpiecel_initbpe_firstspace_1_40960", 3: "bpe_merge_3_40960", 6: "sage_initbpe_firstspace_6_40960"}


def released_frequencies(run: str) -> NDArray[np.int64]:
    """Occurrences of each token on MiniPile, end-of-text tokens left out."""
    with gzip.open(TIMTC / f"{run}_token_counts.tsv.gz", "rt", encoding="utf-8", newline="\n") as lines:
        rows = [line.rstrip("\n").rsplit("\t", 1) for line in lines]
    return np.array([int(count) for token, count in rows if token != "<|endoftext|>"], np.int64)


def released_vocabulary(run: str) -> Vocabulary:
    if (path := TIMTC / f"{run}.vocab.gz").is_file():
        return Vocabulary(tuple(map(bytes.fromhex, gzip.decompress(path.read_bytes()).decode().split())))
    model = json.loads(gzip.decompress((TIMTC / f"{run}.json.gz").read_bytes()))["model"]
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in visible]
    byte_of = {chr(byte): byte for byte in visible} | {chr(256 + place): byte for place, byte in enumerate(hidden)}
    return Vocabulary(tuple(bytes(byte_of[letter] for letter in token) for token in model["vocab"]))


@needs_artefacts
@pytest.mark.parametrize("rank", RUNS)
def test_published_renyi_efficiency_and_token_count(rank: int) -> None:
    """Table 11, to its last digit; the denominator is the nominal 40,960, not the number of types."""
    frequencies = released_frequencies(RUNS[rank])
    table = pl.read_csv(PUBLISHED / f"{PAPER}_ctc_renyi.csv")
    row = table.row(by_predicate=(pl.col("rank") == rank) & (pl.col("vocab_size") == 40_960), named=True)
    none = np.zeros(0, np.int64)
    nothing = PretokenCounts.from_pairs([])
    usage = Usage(vocabulary(), nothing, none.astype(np.int32), none, frequencies, 40_960)
    count = value(compression(usage, Options()), "corpus_token_count")
    assert count is not None
    assert round(count / 1e9, 2) == row["corpus_token_count_billions"]
    for order in (1.5, 2.0, 2.5, 3.0, 3.5):
        efficiency = renyi_efficiency(frequencies, order, 40_960)
        assert efficiency is not None
        assert round(efficiency, 3) == row[f"renyi_{order}"], order


@needs_artefacts
def test_published_venn_diagram() -> None:
    """Figure 5 counts PathPiece's vocabulary before 463 tokens of more than 16 bytes were taken out of it.

    The four regions that such tokens cannot be in agree; 151 of them were also BPE's.
    """
    named = {"a": released_vocabulary(RUNS[3]), "b": released_vocabulary(RUNS[1]), "c": released_vocabulary(RUNS[6])}
    ours = dict(venn_regions(named).rows())
    theirs = pl.read_csv(PUBLISHED / f"{PAPER}_vocabulary_overlap.csv").row(
        by_predicate=pl.col("figure") == 5, named=True
    )
    assert ours["c"] == theirs["only_c"]
    assert ours["b & c"] == theirs["b_and_c"]
    assert ours["a & c"] == theirs["a_and_c"]
    assert ours["a & b & c"] == theirs["all"]
    removed = 40_960 - len(named["b"])
    shared = theirs["a_and_b"] - ours["a & b"]
    assert (removed, shared) == (463, 151)
    assert ours["a"] - shared == theirs["only_a"]
    assert ours["b"] + removed - shared == theirs["only_b"]
    assert max(map(len, named["b"].tokens)) == 16
    assert sum(len(token) > 16 for token in named["a"].tokens) >= shared


@given(st.lists(st.integers(0, 40), min_size=1, max_size=30), st.integers(1, 6))
def test_classes_of_frequency(frequencies: list[int], classes: int) -> None:
    found = frequency_classes(np.array(frequencies, np.int64), classes)
    lowest = [0, *(2**place for place in range(classes))]
    ends = [*lowest[1:], 10**9]
    assert found.tolist() == [
        sum(low <= occurrences < end for occurrences in frequencies) for low, end in zip(lowest, ends, strict=True)
    ]
    assert len(class_names(classes)) == len(found)


def test_frequencies_of_the_tail() -> None:
    assert class_names(4) == [
        *("0 times", "2^00 to 2^01 - 1 times", "2^01 to 2^02 - 1 times", "2^02 to 2^03 - 1 times", "2^03 times or more")
    ]
    counts = PretokenCounts.from_pairs([(bytes([letter]), letter) for letter in range(1, 256)])
    rows = measure(
        Greedy(vocabulary()), counts, families={"frequency": FrequencyOptions(classes=2, percentiles=(50, 99, 100))}
    )
    assert value(rows, "token_frequency_distribution", " 0 times") == 1
    assert value(rows, "token_frequency_distribution", "2^01 times or more") == 254
    assert [value(rows, f"token_frequency_at_{percent}") for percent in (50, 99, 100)] == [128, 2, 0]


@given(TOKENS, TEXT)
@settings(max_examples=60, deadline=None)
def test_pairs_and_bytes_agree_with_the_text_spelled_out(tokens: list[bytes], pretokens: list[bytes]) -> None:
    tokenizer = Greedy(vocabulary(*tokens))
    counts = PretokenCounts.from_pairs((token, 1) for token in pretokens)
    rows = measure(tokenizer, counts)
    pieces = [[tokenizer.vocabulary.tokens[index] for index in tokenizer.tokens(token)] for token in pretokens]
    stream = [token for piece in pieces for token in piece]
    text = b"".join(pretokens)
    joined = value(rows, "joined_pairs")
    covered = twin.covered_pairs(list(tokenizer.vocabulary.tokens), list(counts.items()))
    assert joined == sum(len(token) - 1 for token in stream)
    assert value(rows, "covered_pairs") == covered
    assert value(rows, "joined_share_of_covered_pairs") == (joined / covered if covered else None)
    lost = sum(len(token) == 1 for token in stream)
    assert value(rows, "byte_fallback", "byte$") == lost
    assert value(rows, "byte_fallback", "one byte / tokens of the text") == lost / len(stream)
    assert value(rows, "byte_fallback", "bytes of the text") == lost / len(text)
    part = sum(len(token) == 1 and token[0] > 127 for token in stream)
    assert value(rows, "byte_fallback", "longer character") == part / len(stream)
    cutting = sum("\ufffd" in token.decode("utf-8", "replace") for token in stream)
    assert value(rows, "tokens_cutting_characters", "tokens of the text") == cutting / len(stream)


@given(
    st.lists(st.text("ab", min_size=1, max_size=4).map(str.encode), max_size=6),
    st.lists(st.tuples(st.text("ab", max_size=9).map(str.encode), st.integers(1, 2**40)), max_size=6),
)
def test_covered_pairs(tokens: list[bytes], pairs: list[tuple[bytes, int]]) -> None:
    known = vocabulary(*(token for token in tokens if len(token) > 1))
    counts = PretokenCounts.from_pairs(pairs)
    found = covered_pairs(Trie(*known.flat()), counts.data, counts.offsets, counts.counts)
    assert found == twin.covered_pairs(list(known.tokens), list(counts.items()))


@given(
    st.lists(st.text("ab", min_size=2, max_size=4).map(str.encode), max_size=6),
    st.lists(st.tuples(st.integers(1, 400), st.text("ab", max_size=9)), min_size=1, max_size=3),
)
@settings(max_examples=20, deadline=None)
def test_long_tokens_occur_and_cover_as_short_ones(tokens: list[bytes], runs: list[tuple[int, str]]) -> None:
    known = vocabulary(*dict.fromkeys([*tokens, b"a" * 257, b"a" * 300 + b"b"]))
    text = b"".join(b"a" * length + other.encode() for length, other in runs)
    counts = PretokenCounts.from_pairs([(text, 3), (b"ab" + b"a" * 258, 5)])
    found = covered_pairs(Trie(*known.flat()), counts.data, counts.offsets, counts.counts)
    assert found == twin.covered_pairs(list(known.tokens), list(counts.items()))
    assert substring_occurrences(known, counts).tolist() == twin.matches(counts.items(), known.tokens)


def test_metrics_of_tokens_take_long_runs() -> None:
    """A construction from a run of one letter has tokens of half the run, a quarter, and so on."""
    run = 1_000_000
    lengths = [2**power for power in range(1, 20)]
    known = vocabulary(*(b"a" * length for length in lengths))
    counts = PretokenCounts.from_pairs([(b"a" * run, 1)])
    rows = measure(Greedy(known), counts, families={"partition_cover": Options(), "unigram_objective": Options()})
    assert value(rows, "covered_pairs") == run - 1
    assert value(rows, "unigram_objective", "cover") == value(rows, "unigram_objective", "tokenizer") < 0
    assert substring_occurrences(known, counts)[256:].tolist() == [run + 1 - length for length in lengths]


def test_removed_tokens_are_those_whose_last_event_is_a_removal() -> None:
    events = (
        Event(False, (b"h", b"e")),
        Event(False, (b" ", b"t")),
        Event(True, (b"h", b"e")),
        Event(False, (b"o", b"t")),
        Event(True, (b" ", b"t")),
        Event(True, (b"o", b"t")),
        Event(False, (b"h", b"e")),
    )
    kept = Vocabulary((*BYTES, b"he"), events=events)
    assert removed_tokens(kept) == [b" t", b"ot"]
    counts = PretokenCounts.from_pairs([(b"he", 1)])
    rows = measure(Greedy(kept), counts, families={"removed": Options()})
    assert [row.value for row in rows] == [2.0, 0.5, 2.0]
    without = measure(Greedy(vocabulary(b"he")), counts, families={"removed": Options()})
    assert [(row.value, row.n) for row in without] == [(None, 0)] * 3
    none = measure(Greedy(Vocabulary((*BYTES, b"he"), events=events[:1])), counts, families={"removed": Options()})
    assert [(row.value, row.reason is None) for row in none] == [(0.0, True), (None, False), (None, False)]


def test_parity_and_gini_compare_languages() -> None:
    parts = {"de": [(b"ab", 3)], "en": [(b"ab", 2)], "fi": [(b"ba", 4)]}
    counts = {language: PretokenCounts.from_pairs(pairs) for language, pairs in parts.items()}
    rows = measure_languages(Greedy(vocabulary(b"ab")), counts, families={})
    parity = {language: row.value for language, row in rows if row.metric == "parity"}
    assert parity == {"de": 1.5, "en": 1.0, "fi": 4.0}
    assert [(language, row.value) for language, row in rows if row.metric == "parity_range"] == [("", 4.0)]
    spread = {row.metric: (language, row.value, row.n) for language, row in rows if row.metric.startswith("parity_")}
    assert spread["parity_gini"] == ("", 24 / (2 * 3 * 13), 3)
    assert spread["parity_gini_bytes"] == ("", 2 / (2 * 3 * 2), 3)
    assert spread["parity_range_bytes"] == ("", 2.0, 3)
    assert {language for language, row in rows if row.metric == "corpus_token_count"} == set(parts)
    assert not [row for _, row in rows if row.metric == "unigram_objective"]
    named = measure_languages(Greedy(vocabulary()), counts, families={"parity": ParityOptions(reference="de")})
    assert {language: row.value for language, row in named if row.metric == "parity"}["fi"] == 8 / 6
    unknown = measure_languages(Greedy(vocabulary()), counts, families={"parity": ParityOptions(reference="sv")})
    assert [row.reason for _, row in unknown if row.metric == "parity"] == ["the text has no tokens in sv"] * 3
    assert measure_languages(Greedy(vocabulary()), {"en": counts["en"]}, families={}) == []


@pytest.mark.parametrize(
    ("costs", "value"), [((1, 2, 3), "2/9"), ((1, 3), "1/4"), ((2, 2), "0"), ((0, 0, 0, 1), "3/4")]
)
def test_gini_coefficients_by_hand(costs: tuple[int, ...], value: str) -> None:
    assert gini([Fraction(cost) for cost in costs]) == Fraction(value)


@given(st.lists(st.fractions(0, 9, max_denominator=9), max_size=8))
def test_gini_coefficient_is_that_of_all_pairs(costs: list[Fraction]) -> None:
    assert gini(costs) == (pairs_gini(costs) if any(costs) else None)
