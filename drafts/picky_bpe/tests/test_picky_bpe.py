"""Picky BPE against its twin, the published example and vanilla BPE; trimmed BPE and Scaffold-BPE."""

import gzip
import pydoc_data.topics
import re
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.twins.picky_bpe import train as twin
from tokbench.pretokens import PretokenCounts
from tokbench.registry import TokbenchError
from tokbench.tokenizer import Tokenizer
from tokbench.tokens import BYTES, Vocabulary
from tokbench.vocabulary import bpe, bpe_trimmed, picky_bpe, scaffold_bpe
from tokbench.vocabulary.bpe import byte_ranks
from tokbench.vocabulary.bpe_trimmed import BpeTrimmedOptions
from tokbench.vocabulary.picky_bpe import PickyBpeOptions, Training, alphabet_ranks, build, character_alphabet

UN = Path(__file__).parents[1].parent / "shared" / "data" / "english" / "un"
EXAMPLE = {"the": 19, "he": 5, "hen": 34, "then": 32, "tot": 25, "hot": 28, "not": 4, "ten": 10}

words = st.dictionaries(
    st.one_of(
        st.text("ab", min_size=1, max_size=20).map(str.encode),
        st.text("aé▁", min_size=1, max_size=12).map(str.encode),
        st.binary(min_size=1, max_size=6),
    ),
    st.integers(1, 9),
    max_size=8,
)
thresholds = st.sampled_from([0.1, 0.3, 0.5, 0.6, 0.75, 0.9, 1.0])


@pytest.fixture(scope="module")
def prose() -> PretokenCounts:
    text = "".join(pydoc_data.topics.topics.values())[:200_000]
    return PretokenCounts.from_pairs((word.encode(), 1) for word in re.findall(r" ?\S+", text))


def plain(vocabulary: Vocabulary) -> list[tuple[bool, tuple[bytes, ...]]]:
    assert vocabulary.events is not None
    return [tuple(event) for event in vocabulary.events]


@settings(max_examples=200)
@given(words, st.integers(256, 290), thresholds)
def test_twin_on_bytes(counted: dict[bytes, int], size: int, threshold: float) -> None:
    counts = PretokenCounts.from_pairs(counted.items())
    vocabulary = build(counts, size, PickyBpeOptions(threshold=threshold))
    spelt = [([chr(byte) for byte in word], count) for word, count in counts.items()]
    alphabet = sorted(map(chr, range(256)), key=lambda byte: byte_ranks()[ord(byte)])
    tokens, events, frequencies = twin(spelt, alphabet, size, threshold)
    assert [token.decode("latin-1") for token in vocabulary.tokens[256:]] == tokens[256:]
    assert plain(vocabulary) == [(split, tuple(part.encode("latin-1") for part in parts)) for split, parts in events]
    training = Training(counts.data.astype("int32"), counts.offsets, counts.counts, alphabet_ranks(256), threshold)
    training.run(size)
    present, occurrences = training.state()
    assert occurrences[present].tolist() == [
        frequencies[token.decode("latin-1")] for token in vocabulary.tokens
    ]


@settings(max_examples=100)
@given(words, st.integers(0, 30), thresholds, st.sampled_from([0.5, 0.8, 0.95, 1.0]))
def test_twin_on_characters(counted: dict[bytes, int], more: int, threshold: float, coverage: float) -> None:
    counts = PretokenCounts.from_pairs(counted.items())
    alphabet, _, _ = character_alphabet(counts, coverage)
    covered = character_twin(counts, coverage)
    assert list(alphabet[256:]) == sorted(c.encode() for c in covered if c > "\x7f")
    options = PickyBpeOptions(threshold=threshold, alphabet="character", coverage=coverage)
    vocabulary = build(counts, len(alphabet) + more, options)
    spelt = [
        ([c if c in covered else "" for c in word.decode("utf-8", "surrogateescape")], count)
        for word, count in counts.items()
    ]
    ascii_by_rank = sorted(map(chr, range(128)), key=lambda c: byte_ranks()[ord(c)])
    symbols = ascii_by_rank + [token.decode() for token in alphabet[256:]]
    tokens, events, _ = twin(spelt, symbols, len(symbols) + more, threshold)
    assert [token.decode() for token in vocabulary.tokens[len(alphabet) :]] == tokens[len(symbols) :]
    assert plain(vocabulary) == [(split, tuple(part.encode() for part in parts)) for split, parts in events]


def character_twin(counts: PretokenCounts, coverage: float) -> set[str]:
    """The covered characters, by the rule as it is written."""
    occurrences: dict[str, int] = {}
    for word, count in counts.items():
        for c in word.decode("utf-8", "surrogateescape"):
            if not 0xD800 <= ord(c) <= 0xDFFF:
                occurrences[c] = occurrences.get(c, 0) + count
    total = sum(occurrences.values())
    budget = total - round(coverage * total)
    seen, kept = 0, set()
    for c in sorted(occurrences, key=lambda c: (occurrences[c], -ord(c))):
        seen += occurrences[c]
        if seen >= budget:
            kept.add(c)
    return kept


def example() -> Vocabulary:
    """The published example: 12 tokens beside the reference's 4 special ones, 7 of them characters."""
    counts = PretokenCounts.from_pairs((f"▁{word}".encode(), count) for word, count in EXAMPLE.items())
    return build(counts, 257 + 6, PickyBpeOptions(threshold=0.7, alphabet="character", coverage=1))


def test_published_events() -> None:
    spelt = [("S " if split else "") + "+".join(part.decode() for part in parts) for split, parts in plain(example())]
    assert spelt == [
        *("h+e", "▁+t", "he+n", "S h+e", "o+t", "▁+hen", "▁+h", "▁t+hen", "S h+e+n", "▁h+ot", "S ▁+h", "▁t+ot"),
        *("S o+t", "h+e"),
    ]


def test_published_encodings() -> None:
    tokenizer = Tokenizer(example(), "none", "events")
    published = {"the": "▁t he", "he": "▁ he", "ten": "▁t e n", "thenot": "▁then o t", "not": "▁ n o t"}
    for word, cut in published.items():
        ids = tokenizer.encode(f"▁{word}")
        assert " ".join(tokenizer.decode([index]).decode() for index in ids) == cut


def test_published_frequencies() -> None:
    counts = PretokenCounts.from_pairs((f"▁{word}".encode(), count) for word, count in EXAMPLE.items())
    alphabet, text, offsets = character_alphabet(counts, 1)
    training = Training(text, offsets, counts.counts, alphabet_ranks(len(alphabet)), 0.7)
    training.run(257 + 6)
    present, frequencies = training.state()
    found = dict(zip(example().tokens, frequencies[present].tolist(), strict=True))
    published = "▁9 t4 h0 e10 n14 o4 he24 ▁t29 ▁hen34 ▁then32 ▁hot28 ▁tot25"
    for token, count in (re.fullmatch(r"(\D+)(\d+)", entry).groups() for entry in published.split()):  # type: ignore[union-attr]
        assert found.pop(token.encode()) == int(count)
    assert set(found.values()) == {0}


@pytest.mark.parametrize("size", [300, 3000])
def test_threshold_of_one_is_vanilla(prose: PretokenCounts, size: int) -> None:
    ours = build(prose, size, PickyBpeOptions(threshold=1))
    vanilla = bpe.build(prose, size, bpe.BpeOptions())
    assert ours.tokens == vanilla.tokens
    assert [event.token for event in ours.events or ()] == list(vanilla.tokens[256:])


def test_size_counts_present_tokens_once(prose: PretokenCounts) -> None:
    for threshold in (0.9, 0.6, 0.3):
        vocabulary = build(prose, 2000, PickyBpeOptions(threshold=threshold))
        assert len(vocabulary) == len(set(vocabulary.tokens)) == 2000
        last = {event.token: event.split for event in vocabulary.events or ()}
        assert {token for token, removed in last.items() if not removed} == set(vocabulary.tokens[256:])


def test_alphabet_larger_than_size(prose: PretokenCounts) -> None:
    counts = PretokenCounts.from_pairs([("éü".encode(), 1)])
    with pytest.raises(TokbenchError, match="the alphabet has 258 tokens, the size is 257"):
        build(counts, 257, PickyBpeOptions(alphabet="character", coverage=1))


def test_too_much_text(monkeypatch: pytest.MonkeyPatch, prose: PretokenCounts) -> None:
    monkeypatch.setattr(picky_bpe, "MAX_BYTES", 3)
    for method in (picky_bpe, bpe_trimmed):
        with pytest.raises(TokbenchError, match="the limit is 3"):
            method.build(prose, 300, picky_bpe.PickyBpeOptions() if method is picky_bpe else BpeTrimmedOptions())


def test_counts_beyond_32_bits() -> None:
    huge = PretokenCounts.from_pairs([(b"ab", 2**40), (b"bc", 2**40 + 1), (b"cab", 2**33)])
    assert build(huge, 259, PickyBpeOptions()).tokens[256:] == (b"ab", b"bc", b"cab")


# Trimmed BPE


@given(words, st.integers(256, 275), st.integers(0, 12))
def test_trimming_drops_the_rarest(counted: dict[bytes, int], size: int, extra: int) -> None:
    counts = PretokenCounts.from_pairs(counted.items())
    vocabulary = bpe_trimmed.build(counts, size, BpeTrimmedOptions(extra=extra))
    spelt = [([chr(byte) for byte in word], count) for word, count in counts.items()]
    alphabet = sorted(map(chr, range(256)), key=lambda byte: byte_ranks()[ord(byte)])
    tokens, _, frequencies = twin(spelt, alphabet, size + extra, 1.0)
    made = tokens[256:]
    by_rarity = sorted(made, key=lambda token: (frequencies[token], -made.index(token)))
    dropped = set(by_rarity[: max(0, len(tokens) - size)])
    assert [token.decode("latin-1") for token in vocabulary.tokens[256:]] == [t for t in made if t not in dropped]
    assert {event.token.decode("latin-1") for event in vocabulary.events or () if event.split} == dropped


def test_trimming_as_much_as_picky(prose: PretokenCounts) -> None:
    picky = build(prose, 2000, PickyBpeOptions(threshold=0.7))
    removed = sum({event.token: event.split for event in picky.events or ()}.values())
    trimmed = bpe_trimmed.build(prose, 2000, BpeTrimmedOptions(threshold=0.7))
    assert len(trimmed) == 2000
    assert sum(event.split for event in trimmed.events or ()) == removed > 0


# Scaffold-BPE


def scaffold_twin(words: list[tuple[bytes, int]], size: int) -> tuple[list[bytes], set[bytes]]:
    """Scaffold-BPE on vanilla merges counted anew; the tokens, and the scaffolds among all that were merged."""
    merges = [event.token for event in build_all(words)]
    steps = [([c for c in map(lambda b: bytes([b]), word)], times) for word, times in words]
    frequency: dict[bytes, int] = {}
    scaffolds: set[bytes] = set()
    every = build_all(words)
    counts = []
    replaced = []
    for event in every:
        pair = event.parts
        counts.append(sum(t * sum(p == pair for p in zip(w, w[1:], strict=False)) for w, t in steps))
        done = []
        for word, times in steps:
            at, new = 0, []
            while at < len(word):
                found = tuple(word[at : at + 2]) == pair
                new.append(b"".join(pair) if found else word[at])
                at += 2 if found else 1
            done.append((new, times))
        replaced.append(sum((len(a) - len(b)) * t for (a, t), (b, _) in zip(steps, done, strict=True)))
        steps = done
    done_merges = 0
    for place, event in enumerate(every):
        if 256 + done_merges - len(scaffolds) >= size:
            break
        done_merges += 1
        following = counts[place + 1] if place + 1 < len(every) else 0
        frequency[event.token] = replaced[place]
        for part in event.parts:
            if part in frequency:
                frequency[part] -= replaced[place]
        for part in dict.fromkeys(event.parts):
            if part in frequency and part not in scaffolds:
                if frequency[part] < max([following, *(frequency[token] for token in scaffolds)]):
                    scaffolds.add(part)
        while scaffolds and 256 + done_merges - len(scaffolds) < size:
            best = max(scaffolds, key=lambda token: (frequency[token], -merges.index(token)))
            if frequency[best] <= following:
                break
            scaffolds.discard(best)
    return [token for token in merges[:done_merges] if token not in scaffolds], scaffolds


def build_all(words: list[tuple[bytes, int]]) -> tuple[picky_bpe.Event, ...]:
    return build(PretokenCounts.from_pairs(words), 10_000, PickyBpeOptions(threshold=1)).events or ()


@given(words, st.integers(256, 275))
def test_scaffold_twin(counted: dict[bytes, int], size: int) -> None:
    counts = PretokenCounts.from_pairs(counted.items())
    vocabulary = scaffold_bpe.build(counts, size, scaffold_bpe.Options())
    tokens, scaffolds = scaffold_twin(list(counts.items()), size)
    assert list(vocabulary.tokens[256:]) == tokens
    assert {event.token for event in vocabulary.events or () if event.split} == scaffolds


def test_scaffolds_of_prose(prose: PretokenCounts) -> None:
    vocabulary = scaffold_bpe.build(prose, 2000, scaffold_bpe.Options())
    scaffolds = [event for event in vocabulary.events or () if event.split]
    assert len(vocabulary) == 2000
    assert len(scaffolds) > 50
    assert all(set(event.parts) <= set(vocabulary.tokens) for event in scaffolds)


# The UN corpus


@pytest.fixture(scope="module")
def united_nations() -> PretokenCounts:
    """Words that start with the mark of a space, spelt in the byte-level characters, as in the published runs."""
    if not UN.exists():
        pytest.skip(f"{UN} is absent")
    spelt = gzip.decompress((UN / "words_un.txt.gz").read_bytes()).decode().split(" ")
    times = map(int, gzip.decompress((UN / "counts_un.txt.gz").read_bytes()).split())
    chosen = [(word.encode(), count) for word, count in zip(spelt, times, strict=False) if word.startswith("Ġ")]
    assert len(chosen) == 70_164
    return PretokenCounts.from_pairs(chosen)
