"""Segmentation by events and with post-removal against their twins; events on disk; rejections."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import ODD, TOPICS
from tokbench.construction import bpe, bpe_trimmed, scaffold_bpe
from tokbench.construction.bpe_trimmed import BpeTrimmedOptions
from tokbench.construction.picky_bpe import AlphabetOptions, PickyBpeOptions, build
from tokbench.errors import TokbenchError
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.reference import segmentation as twins
from tokbench.segmentation.events import events as by_events
from tokbench.segmentation.post_removal import PostRemovalOptions, post_removal
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Event, Vocabulary

ALPHABETS = {"ab": ("a", "b"), "abc": ("a", "b", "c"), "aé▁": ("a", "é", "▁"), "▁◁🦀": ("▁", "◁", "🦀")}
REMOVES_HE = (Event(False, (b"h", b"e")), Event(True, (b"h", b"e")), Event(False, (b"e", b"r")))


@st.composite
def histories(draw: st.DrawFn) -> tuple[str, list[bytes], list[Event]]:
    """An alphabet, its name, and any events on it: merges of two tokens, removals in favour of any tokens."""
    name = draw(st.sampled_from(sorted(ALPHABETS)))
    alphabet = [symbol.encode() for symbol in ALPHABETS[name]]
    present = list(alphabet)
    made: list[bytes] = []
    happened: list[Event] = []
    for remove in draw(st.lists(st.booleans(), max_size=25)):
        removable = [token for token in made if token in present]
        if remove and removable:
            token = draw(st.sampled_from(removable))
            present.remove(token)
            parts: list[bytes] = []
            while b"".join(parts) != token:
                rest = token[len(b"".join(parts)) :]
                parts.append(draw(st.sampled_from([part for part in present if rest.startswith(part)])))
            happened.append(Event(True, tuple(parts)))
        else:
            pair = draw(st.tuples(st.sampled_from(present), st.sampled_from(present)))
            happened.append(Event(False, pair))
            made.append(b"".join(pair))
            present = list(dict.fromkeys([*present, made[-1]]))
    return name, alphabet, happened


def vocabulary_of(alphabet: list[bytes], happened: list[Event]) -> Vocabulary:
    """Tokens that remain after the events; the alphabet's longer symbols follow the bytes."""
    last = {event.token: event.split for event in happened}
    kept = [*alphabet, *(token for token, removed in last.items() if not removed)]
    return Vocabulary(tuple(dict.fromkeys([*BYTES, *kept])), events=tuple(happened))


def check(vocabulary: Vocabulary, alphabet: list[bytes], text: bytes) -> None:
    """Both segmentations of a text against their twins."""
    tokens, symbols = set(vocabulary.tokens), dict.fromkeys([*BYTES, *alphabet])
    happened = vocabulary.events or ()
    found = [
        [
            vocabulary.tokens[index]
            for index in segmenter.segment(np.frombuffer(text, np.uint8), np.array([0, len(text)]))[0]
        ]
        for segmenter in (
            by_events(vocabulary, Options()),
            post_removal(vocabulary, PostRemovalOptions(whole_tokens=False)),
            post_removal(vocabulary, PostRemovalOptions()),
        )
    ]
    assert found[0] == twins.by_events(text, tokens, symbols, happened)
    assert found[1] == twins.post_removal(text, tokens, symbols, happened)
    assert found[2] == ([text] if text in tokens else found[1])


@settings(max_examples=300)
@given(histories(), st.data())
def test_twins_on_any_history(history: tuple[str, list[bytes], list[Event]], data: st.DataObject) -> None:
    name, alphabet, happened = history
    text = "".join(data.draw(st.lists(st.sampled_from([*ALPHABETS[name], "a"]), min_size=1, max_size=60))).encode()
    check(vocabulary_of(alphabet, happened), alphabet, text * data.draw(st.integers(1, 3)))


@settings(max_examples=200)
@given(histories(), st.data())
def test_twins_on_broken_characters(history: tuple[str, list[bytes], list[Event]], data: st.DataObject) -> None:
    _, alphabet, happened = history
    pieces = st.sampled_from([b"a", b"b", b"\xe2", b"\x96", b"\x81", b"\xe2\x97", b"\xc3", *alphabet, "▂🦁".encode()])
    check(vocabulary_of(alphabet, happened), alphabet, b"".join(data.draw(st.lists(pieces, min_size=1, max_size=30))))


@settings(max_examples=100)
@given(
    st.dictionaries(
        st.text("abé▁", min_size=1, max_size=16).map(str.encode), st.integers(1, 9), min_size=1, max_size=8
    ),
    st.sampled_from([0.3, 0.5, 0.7, 0.9]),
    st.sampled_from(["byte", "character"]),
    st.text("abé▁ü", min_size=1, max_size=90).map(str.encode),
)
def test_twins_on_picky_bpe(counted: dict[bytes, int], threshold: float, alphabet: str, text: bytes) -> None:
    options = PickyBpeOptions(threshold=threshold, alphabet=alphabet, character_coverage=1)
    vocabulary = build(PretokenCounts.from_pairs(counted.items()), 290, options)
    made = {event.token for event in vocabulary.events or ()}
    check(vocabulary, [token for token in vocabulary.tokens[256:] if token not in made], text)


def test_twins_on_prose() -> None:
    """A text without pre-tokens, and long runs."""
    vocabulary = build(count_pretokens(TOPICS, "gpt2"), 500, PickyBpeOptions(threshold=0.6))
    check(vocabulary, [], TOPICS[0][:800])
    check(vocabulary, [], ODD)
    runs = build(PretokenCounts.from_pairs([(b"a" * 40, 3), (b"ab" * 9, 5)]), 270, PickyBpeOptions(threshold=0.6))
    check(runs, [], b"ab" * 100 + b"a" * 300)


def test_twins_where_much_is_overtaken() -> None:
    """A removal that is due late, beside tokens that come and go: the queue fills up and is made anew."""
    first, second = Event(False, (b"a", b"a")), Event(False, (b"bb", b"aa"))
    often = 20 * [first, second, second._replace(split=True), first._replace(split=True)]
    late = [Event(False, (b"bbaa", b"bbaa")), Event(True, (b"b", b"b"))]
    check(vocabulary_of([], [Event(False, (b"b", b"b")), *often, first, second, *late]), [], b"bbaa" * 40)


def test_published_example() -> None:
    """Appendix A: h+e is merged, removed and out of the way of e+r; merges by rank are not aware of that."""
    vocabulary = vocabulary_of([], list(REMOVES_HE))
    cuts = []
    for name in ("events", "post_removal"):
        tokenizer = Tokenizer(vocabulary, "none", name)
        cuts.append([tokenizer.decode([index]) for index in tokenizer.encode(b"there")])
    assert cuts == [[b"t", b"h", b"er", b"e"], [b"t", b"h", b"e", b"r", b"e"]]


def test_without_removals_all_are_merging() -> None:
    """At a threshold of 1 events, post-removal and merges are the same, and every token is cut as itself."""
    counts = count_pretokens(TOPICS, "gpt2")
    merged = Tokenizer(bpe.build(counts, 900, bpe.BpeOptions()), "gpt2", "merge")
    ours = build(counts, 900, PickyBpeOptions(threshold=1))
    for name in ("events", "post_removal"):
        assert Tokenizer(ours, "gpt2", name).encode(TOPICS[4]).tolist() == merged.encode(TOPICS[4]).tolist()


@pytest.mark.parametrize("alphabet", ["byte", "character"])
def test_other_constructions(alphabet: str) -> None:
    """If removals follow all merges, keeping complete tokens changes nothing."""
    counts = count_pretokens([*TOPICS, ODD], "gpt2")
    options = AlphabetOptions(alphabet=alphabet, character_coverage=0.99)
    trimmed = bpe_trimmed.build(counts, 800, BpeTrimmedOptions(extra=90, **options.model_dump()))
    for vocabulary in (trimmed, scaffold_bpe.build(counts, 800, options)):
        whole, split = (
            post_removal(vocabulary, PostRemovalOptions(whole_tokens=whole)).segment(counts.data, counts.offsets)
            for whole in (True, False)
        )
        assert np.array_equal(whole[0], split[0])
        assert np.array_equal(whole[1], split[1])


def test_longer_texts_take_longer_in_proportion() -> None:
    """A run of one character, the worst case for merging, in tokens that come and go."""
    happened = [Event(False, (b"a", b"a")), Event(False, (b"aa", b"a")), Event(True, (b"aa", b"a"))]
    vocabulary = vocabulary_of([], [*happened, Event(False, (b"aa", b"aa"))])
    text = np.full(1_000_001, ord("a"), np.uint8)
    ids, _ = by_events(vocabulary, Options()).segment(text, np.array([0, len(text)]))
    assert [vocabulary.tokens[index] for index in ids[[0, 1, -2, -1]]] == [b"aaaa", b"aaaa", b"aaaa", b"a"]


# Files


def test_events_on_disk(tmp_path: Path) -> None:
    vocabulary = vocabulary_of([], [*REMOVES_HE, Event(False, (b"er", b"e")), Event(True, (b"er", b"e"))])
    vocabulary.write(tmp_path)
    assert (tmp_path / "events.tsv").read_text().splitlines() == [
        *("M\t68\t65", "S\t6865\t68\t65", "M\t65\t72", "M\t6572\t65", "S\t657265\t6572\t65"),
    ]
    assert Vocabulary.read(tmp_path).events == vocabulary.events
    Vocabulary(BYTES, events=()).write(tmp_path)
    assert Vocabulary.read(tmp_path).events == ()


@pytest.mark.parametrize(
    "line", ["X\t61\t62", "M\t61", "M\t61\t62\t63", "M\t61\t", "M\t6g\t61", "S\t6162", "S\t6162\t61\t63"]
)
def test_damaged_events(tmp_path: Path, line: str) -> None:
    Vocabulary(BYTES, events=()).write(tmp_path)
    (tmp_path / "events.tsv").write_text(f"M\t61\t62\n{line}\n")
    with pytest.raises(TokbenchError, match=r"events\.tsv:2: invalid line; build the tokenizer again"):
        Vocabulary.read(tmp_path)


# Rejections


@pytest.mark.parametrize(
    ("tokens", "happened", "message"),
    [
        ([], None, "has no events; use 'greedy'"),
        ([], [Event(False, (b"a", b"bc"))], "event 0 needs the token 6263, which does not exist"),
        ([], [Event(True, (b"a", b"b"))], "event 0 needs the token 6162, which does not exist"),
        (["é"], [Event(True, (b"\xc3", b"\xa9"))], "event 0 removes c3a9, which no merge makes"),
        ([], [Event(False, (b"a", b"b")), Event(True, (b"ab",))], "event 1 has 1 parts, and a merge has two"),
        ([], [Event(False, (b"a", b"b", b"c"))], "event 0 has 3 parts, and a merge has two"),
        ([], [Event(False, (b"a", b"b"))], "do not result in the vocabulary's tokens .6162 is in one of the two"),
        (["ab"], [], "no event makes the token 6162, which is not a single character"),
    ],
)
@pytest.mark.parametrize("cut", [by_events, post_removal])
def test_rejections(cut: object, tokens: list[str], happened: list[Event] | None, message: str) -> None:
    every = BYTES + tuple(map(str.encode, tokens))
    vocabulary = Vocabulary(every, events=None if happened is None else tuple(happened))
    with pytest.raises(TokbenchError, match=message):
        cut(vocabulary, PostRemovalOptions())  # type: ignore[operator]
    with pytest.raises(TokbenchError, match="forms"):
        cut(Vocabulary(every, continuation=np.zeros(len(every), np.bool_)), PostRemovalOptions())  # type: ignore[operator]


def test_a_tokenizer_needs_events() -> None:
    with pytest.raises(TokbenchError, match="segmentation 'events' needs events, which this vocabulary does not have"):
        Tokenizer(Vocabulary(BYTES), "none", "events")
