"""Picky BPE against its twin, the published example and figures, and BPE; trimmed BPE and Scaffold-BPE."""

import pydoc_data.topics
import re
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.external_tokenizers import DATA, skip_without
from tokbench.candidates import initial
from tokbench.construction import bpe, bpe_trimmed, picky_bpe, scaffold_bpe
from tokbench.construction.bpe_trimmed import BpeTrimmedOptions
from tokbench.construction.picky_bpe import AlphabetOptions, PickyBpeOptions, build, cut_into_characters, train
from tokbench.errors import TokbenchError
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.files import read_word_list
from tokbench.reference.bpe import train_picky_bpe as twin
from tokbench.reference.bpe import train_scaffold_bpe as scaffold_twin
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.hugging_face import spelling_ranks
from tokbench.vocabulary import BYTES, Event, Vocabulary

UN = DATA / "english" / "un"
EXAMPLE = {"▁the": 19, "▁he": 5, "▁hen": 34, "▁then": 32, "▁tot": 25, "▁hot": 28, "▁not": 4, "▁ten": 10}
EXAMPLE_SIZE = 256 + 1 + 6
"""The bytes, ▁, and 6 tokens; published as 16: 4 special tokens, 6 characters, 6 tokens."""
EXAMPLE_OPTIONS = PickyBpeOptions(threshold=0.7, alphabet="character", character_coverage=1)

words = st.dictionaries(
    st.one_of(
        st.text("ab", min_size=1, max_size=20).map(str.encode),
        st.text("aé▁", min_size=1, max_size=12).map(str.encode),
        st.binary(min_size=1, max_size=6),
        st.tuples(st.sampled_from([b"a", b"ab", b"aab"]), st.integers(1, 12)).map(lambda run: run[0] * run[1]),
    ),
    st.integers(1, 9),
    max_size=8,
)
thresholds = st.sampled_from([0.1, 0.3, 0.5, 0.6, 0.75, 0.9, 1.0])
BYTES_BY_RANK = sorted(map(chr, range(256)), key=lambda byte: spelling_ranks()[ord(byte)])


@pytest.fixture(scope="module")
def prose() -> PretokenCounts:
    text = "".join(pydoc_data.topics.topics.values())[:200_000]
    return PretokenCounts.from_pairs((word.encode(), 1) for word in re.findall(r" ?\S+", text))


def in_latin(events: Iterable[tuple[bool, tuple[str, ...]]]) -> tuple[Event, ...]:
    """A twin's events in bytes, where its characters are the bytes of the same code point."""
    return tuple(Event(split, tuple(part.encode("latin-1") for part in parts)) for split, parts in events)


def spelt_in_bytes(counts: PretokenCounts) -> list[tuple[list[str], int]]:
    return [([chr(byte) for byte in word], count) for word, count in counts.items()]


@settings(max_examples=200)
@given(words, st.integers(256, 300), thresholds)
def test_twin_on_bytes(counted: dict[bytes, int], size: int, threshold: float) -> None:
    counts = PretokenCounts.from_pairs(counted.items())
    options = PickyBpeOptions(threshold=threshold)
    vocabulary = build(counts, size, options)
    tokens, events, frequencies = twin(spelt_in_bytes(counts), BYTES_BY_RANK, size, threshold)
    assert vocabulary.tokens[:256] == BYTES
    assert [token.decode("latin-1") for token in vocabulary.tokens[256:]] == tokens[256:]
    assert vocabulary.events == in_latin(events)
    present, occurrences = train(counts, size, options, threshold, "")[1].state()
    assert occurrences[present].tolist() == [frequencies[token.decode("latin-1")] for token in vocabulary.tokens]
    assert not occurrences[~present].any()


@settings(max_examples=200)
@given(words, st.integers(256, 300), thresholds)
def test_twin_with_an_inclusive_threshold(counted: dict[bytes, int], size: int, threshold: float) -> None:
    counts = PretokenCounts.from_pairs(counted.items())
    vocabulary = build(counts, size, PickyBpeOptions(threshold=threshold, inclusive=True))
    tokens, events, _ = twin(spelt_in_bytes(counts), BYTES_BY_RANK, size, threshold, inclusive=True)
    assert [token.decode("latin-1") for token in vocabulary.tokens[256:]] == tokens[256:]
    assert vocabulary.events == in_latin(events)


@pytest.mark.parametrize(("inclusive", "removed"), [(False, False), (True, True)])
def test_a_share_that_equals_the_threshold(inclusive: bool, removed: bool) -> None:
    """``ab`` occurs four times, three of them in ``abc``: an IoS of .75, exactly the threshold."""
    counts = PretokenCounts.from_pairs([(b"abc", 3), (b"abd", 1)])
    vocabulary = build(counts, 258, PickyBpeOptions(threshold=0.75, inclusive=inclusive))
    assert [event.parts for event in vocabulary.events or () if event.split] == [(b"a", b"b")] * removed
    assert b"abc" in vocabulary.tokens


@settings(max_examples=150)
@given(words, st.integers(0, 30), thresholds, st.sampled_from([0.5, 0.8, 0.95, 1.0]))
def test_twin_on_characters(counted: dict[bytes, int], more: int, threshold: float, coverage: float) -> None:
    counts = PretokenCounts.from_pairs(counted.items())
    covered = covered_characters(counts, coverage)
    wide = [character for character in covered if character > "\x7f"]
    options = PickyBpeOptions(threshold=threshold, alphabet="character", character_coverage=coverage)
    vocabulary = build(counts, 256 + len(wide) + more, options)
    spelt = [
        ([c if c in covered else "" for c in word.decode("utf-8", "surrogateescape")], count)
        for word, count in counts.items()
    ]
    symbols = BYTES_BY_RANK[:94] + [c for c in BYTES_BY_RANK if c < "\x80" and c not in BYTES_BY_RANK[:94]] + wide
    tokens, events, _ = twin(spelt, symbols, len(symbols) + more, threshold)
    assert vocabulary.tokens == BYTES + tuple(token.encode() for token in [*wide, *tokens[len(symbols) :]])
    assert vocabulary.events == tuple(Event(split, tuple(map(str.encode, parts))) for split, parts in events)


def covered_characters(counts: PretokenCounts, coverage: float) -> list[str]:
    """The characters of the alphabet, the most frequent first, by the rule as it is written."""
    occurrences: dict[str, int] = {}
    for word, count in counts.items():
        for character in word.decode(errors="ignore"):
            occurrences[character] = occurrences.get(character, 0) + count
    total = sum(occurrences.values())
    seen, kept = 0, []
    for character in sorted(occurrences, key=lambda c: (occurrences[c], -ord(c))):
        seen += occurrences[character]
        if seen >= total - round(coverage * total):
            kept.append(character)
    return kept[::-1]


# The published example


@pytest.fixture(scope="module")
def example() -> PretokenCounts:
    return PretokenCounts.from_pairs((word.encode(), count) for word, count in EXAMPLE.items())


def test_published_events(example: PretokenCounts) -> None:
    vocabulary = build(example, EXAMPLE_SIZE, EXAMPLE_OPTIONS)
    found = [
        ("S " if event.split else "") + "+".join(part.decode() for part in event.parts)
        for event in vocabulary.events or ()
    ]
    assert found == [
        *("h+e", "▁+t", "he+n", "S h+e", "o+t", "▁+hen", "▁+h", "▁t+hen", "S h+e+n", "▁h+ot", "S ▁+h", "▁t+ot"),
        *("S o+t", "h+e"),
    ]


def test_published_encodings(example: PretokenCounts) -> None:
    tokenizer = Tokenizer(build(example, EXAMPLE_SIZE, EXAMPLE_OPTIONS), "none", "events")
    published = {"the": "▁t he", "he": "▁ he", "ten": "▁t e n", "thenot": "▁then o t", "not": "▁ n o t"}
    for word, cut in published.items():
        ids = tokenizer.encode(f"▁{word}")
        assert " ".join(tokenizer.decode([index]).decode() for index in ids) == cut


def test_published_frequencies(example: PretokenCounts) -> None:
    present, frequencies = train(example, EXAMPLE_SIZE, EXAMPLE_OPTIONS, 0.7, "")[1].state()
    tokens = build(example, EXAMPLE_SIZE, EXAMPLE_OPTIONS).tokens
    found = dict(zip(tokens, frequencies[present].tolist(), strict=True))
    published = "▁9 t4 h0 e10 n14 o4 he24 ▁t29 ▁hen34 ▁then32 ▁hot28 ▁tot25"
    for token, count in re.findall(r"(\D+?)(\d+) ?", published):
        assert found.pop(token.encode()) == int(count)
    assert set(found.values()) == {0}


# Relations to BPE


@pytest.mark.parametrize("size", [300, 3000])
def test_threshold_of_one_is_bpe(prose: PretokenCounts, size: int) -> None:
    ours = build(prose, size, PickyBpeOptions(threshold=1))
    merged = bpe.build(prose, size, bpe.BpeOptions())
    assert ours.tokens == merged.tokens
    assert [event.token for event in ours.events or ()] == list(merged.tokens[256:])


@pytest.mark.parametrize("threshold", [0.9, 0.6, 0.3])
def test_size_counts_present_tokens_once(prose: PretokenCounts, threshold: float) -> None:
    vocabulary = build(prose, 2000, PickyBpeOptions(threshold=threshold))
    assert len(vocabulary) == len(set(vocabulary.tokens)) == 2000
    last = {event.token: event.split for event in vocabulary.events or ()}
    assert {token for token, removed in last.items() if not removed} == set(vocabulary.tokens[256:])
    assert any(event.split for event in vocabulary.events or ())


# Limits


METHODS: list[tuple[Callable[..., Vocabulary], AlphabetOptions]] = [
    (picky_bpe.build, PickyBpeOptions(alphabet="character", character_coverage=1)),
    (bpe_trimmed.build, BpeTrimmedOptions(alphabet="character", character_coverage=1)),
    (scaffold_bpe.build, AlphabetOptions(alphabet="character", character_coverage=1)),
]


@pytest.mark.parametrize(("method", "options"), METHODS)
def test_alphabet_larger_than_size(method: Callable[..., Vocabulary], options: AlphabetOptions) -> None:
    counts = PretokenCounts.from_pairs([("éü".encode(), 1)])
    with pytest.raises(TokbenchError, match="the alphabet of 258 bytes and characters exceeds the vocabulary size 257"):
        method(counts, 257, options)
    assert method(counts, 258, options).tokens[256:] == ("é".encode(), "ü".encode())


@pytest.mark.parametrize(("method", "options"), METHODS)
def test_too_much_text(
    method: Callable[..., Vocabulary], options: AlphabetOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(initial, "MAX_BYTES", 3)
    with pytest.raises(TokbenchError, match="unique pre-tokens come to 4 bytes, the limit is 3"):
        method(PretokenCounts.from_pairs([(b"abcd", 1)]), 300, options)


@pytest.mark.parametrize(("method", "options"), METHODS)
def test_no_text(method: Callable[..., Vocabulary], options: AlphabetOptions) -> None:
    vocabulary = method(PretokenCounts.from_pairs([]), 300, options)
    assert vocabulary.tokens == BYTES
    assert vocabulary.events == ()


def test_the_last_of_the_narrow_characters_is_its_byte() -> None:
    counts = PretokenCounts.from_pairs([("\x7f\x80".encode(), 5)])
    options = PickyBpeOptions(alphabet="character", character_coverage=1)
    assert picky_bpe.build(counts, 258, options).tokens[256:] == ("\x80".encode(), "\x7f\x80".encode())


def test_counts_beyond_32_bits() -> None:
    huge = PretokenCounts.from_pairs([(b"ab", 2**40), (b"bc", 2**40 + 1), (b"cab", 2**33)])
    assert build(huge, 259, PickyBpeOptions()).tokens[256:] == (b"ab", b"bc", b"cab")


# Trimmed BPE


@given(words, st.integers(256, 275), st.integers(0, 12))
def test_trimming_drops_the_rarest(counted: dict[bytes, int], size: int, extra: int) -> None:
    counts = PretokenCounts.from_pairs(counted.items())
    vocabulary = bpe_trimmed.build(counts, size, BpeTrimmedOptions(extra=extra))
    tokens, merges, frequencies = twin(spelt_in_bytes(counts), BYTES_BY_RANK, size + extra, 1.0)
    made = tokens[256:]
    by_rarity = sorted(made, key=lambda token: (frequencies[token], -made.index(token)))
    dropped = set(by_rarity[: max(0, len(tokens) - size)])
    assert [token.decode("latin-1") for token in vocabulary.tokens[256:]] == [t for t in made if t not in dropped]

    def parts(token: str) -> tuple[str, ...]:
        [halves] = [halves for _, halves in merges if "".join(halves) == token]
        return sum((parts(half) if half in dropped else (half,) for half in halves), ())

    assert vocabulary.events == in_latin([*merges, *((True, parts(token)) for token in made if token in dropped)])


def test_trimming_as_much_as_picky(prose: PretokenCounts) -> None:
    picky = build(prose, 2000, PickyBpeOptions(threshold=0.7))
    removed = sum({event.token: event.split for event in picky.events or ()}.values())
    trimmed = bpe_trimmed.build(prose, 2000, BpeTrimmedOptions(threshold=0.7))
    assert len(trimmed) == 2000
    assert sum(event.split for event in trimmed.events or ()) == removed > 0


# Scaffold-BPE


@settings(max_examples=150)
@given(words, st.integers(256, 280))
def test_scaffold_twin(counted: dict[bytes, int], size: int) -> None:
    counts = PretokenCounts.from_pairs(counted.items())
    vocabulary = scaffold_bpe.build(counts, size, AlphabetOptions())
    tokens, scaffolds = scaffold_twin(spelt_in_bytes(counts), BYTES_BY_RANK, size)
    assert [token.decode("latin-1") for token in vocabulary.tokens[256:]] == tokens
    assert [event.token.decode("latin-1") for event in vocabulary.events or () if event.split] == scaffolds


def test_scaffolds_of_prose(prose: PretokenCounts) -> None:
    vocabulary = scaffold_bpe.build(prose, 2000, AlphabetOptions())
    scaffolds = [event for event in vocabulary.events or () if event.split]
    assert len(vocabulary) == 2000
    assert len(scaffolds) > 50
    assert all(set(event.parts) <= set(vocabulary.tokens) for event in scaffolds)
    fewest = Tokenizer(vocabulary, "none", "shortest_path")
    assert all(len(fewest.encode(event.token)) == len(event.parts) for event in scaffolds)


# The UN corpus


@pytest.fixture(scope="module")
def united_nations() -> PretokenCounts:
    """The words that begin with the mark of a space, which is then their start mark."""
    skip_without(UN)
    every = [
        (word.decode(), count)
        for word, count in read_word_list(UN / "words_un.txt.gz", UN / "counts_un.txt.gz").items()
    ]
    chosen = [("▁" + word[1:], count) for word, count in every if re.fullmatch(r"Ġ\S+", word)]
    assert len(chosen) == 70_164
    return PretokenCounts.from_pairs((word.encode(), count) for word, count in chosen)


@pytest.mark.parametrize(
    ("size", "threshold", "merges", "removals", "initial", "length", "per_word"),
    [
        (2000, 0.9, 2102, 176, 64.8, 5.14, 1.4256),
        (8192, 1.0, 8118, 0, 77.2, 6.61, 1.0911),
        (8192, 0.9, 9180, 1062, 81.1, 6.87, 1.0788),
        (8192, 0.6, 11509 + 4, 3391, 83.6, 7.11, 1.0725),
    ],
)
def test_published_figures(
    united_nations: PretokenCounts,
    size: int,
    threshold: float,
    merges: int,
    removals: int,
    initial: float,
    length: float,
    per_word: float,
) -> None:
    """Published sizes count 4 special tokens and the 70 characters; 4 tokens of the last row were counted twice."""
    characters, text, _ = cut_into_characters(united_nations, 0.9999)
    assert len(np.unique(text[text >= 0])) == 70
    options = PickyBpeOptions(threshold=threshold, alphabet="character")
    vocabulary = build(united_nations, len(characters) + size - 74, options)
    assert [sum(event.split is split for event in vocabulary.events or ()) for split in (False, True)] == [
        merges,
        removals,
    ]
    used = {characters[index] for index in np.unique(text[text >= 0]).tolist()}
    tokens = [token.decode() for token in [*used, *vocabulary.tokens[len(characters) :]]]
    assert round(100 * np.mean([token.startswith("▁") for token in tokens]), 1) == initial
    assert round(float(np.mean([len(token) for token in tokens])), 2) == length
    ids, bounds = Tokenizer(vocabulary, "none", "events").segment(united_nations)
    counted = (ids < 0x80) | (ids >= 0xC0)  # one for each byte that begins a character: what is unknown there
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(counted)])
    assert np.diff(ends[bounds]) @ united_nations.counts / united_nations.total == pytest.approx(per_word, abs=2e-4)
