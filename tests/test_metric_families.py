"""Families of metrics beside the basic ones: frequencies, pairs, bytes, removed tokens, languages beside each other."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.measuring import TEXT, TOKENS, Greedy, value, vocabulary
from tokbench.intrinsic.measure import measure, measure_languages
from tokbench.kernels.covered import covered_pairs
from tokbench.kernels.trie import Trie
from tokbench.metric.frequency import FrequencyOptions, class_names, frequency_classes
from tokbench.metric.parity import ParityOptions
from tokbench.metric.removed import removed_tokens
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.reference import covered as twin
from tokbench.vocabulary import BYTES, Event, Vocabulary


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


def test_languages_beside_each_other() -> None:
    parts = {"de": [(b"ab", 3)], "en": [(b"ab", 2)], "fi": [(b"ba", 4)]}
    counts = {language: PretokenCounts.from_pairs(pairs) for language, pairs in parts.items()}
    rows = measure_languages(Greedy(vocabulary(b"ab")), counts, families={})
    parity = {language: row.value for language, row in rows if row.metric == "parity"}
    assert parity == {"de": 1.5, "en": 1.0, "fi": 4.0}
    assert [(language, row.value) for language, row in rows if row.metric == "parity_range"] == [("", 4.0)]
    assert {language for language, row in rows if row.metric == "corpus_token_count"} == set(parts)
    assert not [row for _, row in rows if row.metric == "unigram_objective"]
    named = measure_languages(Greedy(vocabulary()), counts, families={"parity": ParityOptions(reference="de")})
    assert {language: row.value for language, row in named if row.metric == "parity"}["fi"] == 8 / 6
    unknown = measure_languages(Greedy(vocabulary()), counts, families={"parity": ParityOptions(reference="sv")})
    assert [row.reason for _, row in unknown if row.metric == "parity"] == ["the text has no tokens in sv"] * 3
    assert measure_languages(Greedy(vocabulary()), {"en": counts["en"]}, families={}) == []
