"""Proofs that tokens are unreachable: by merges, scores, pre-tokens and contexts."""

from collections.abc import Iterable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.support.external_tokenizers import read
from tokbench.inspection.checks import reach
from tokbench.inspection.checks.contexts import LEFT_CONTEXTS, PretokenAutomaton, contexts, heads_of, likeness, tails_of
from tokbench.inspection.checks.subject import TokenizerUnderTest
from tokbench.inspection.checks.vocabulary import duplicates
from tokbench.options import Options
from tokbench.pretokenization import pretokenization_of, schemes
from tokbench.pretokenization.patterns.sequence import automaton_of_sequence
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary


def vocabulary(*tokens: bytes, **more: Any) -> Vocabulary:
    return Vocabulary((*BYTES, *tokens), **more)


def reached(tokenizer: Tokenizer) -> dict[bytes, reach.Reach]:
    return {one.token: one for one in reach.every_reach(TokenizerUnderTest(tokenizer)) if len(one.token) > 1}


def test_a_merge_that_is_forestalled_is_proved_unreachable() -> None:
    """abc is merged from ab and c, but the earlier merge bc uses the b before every c."""
    a, b, c = b"abc"
    merges = np.array([[b, c, 256], [a, b, 257], [257, c, 258]], np.int32)
    told = reached(Tokenizer(vocabulary(b"bc", b"ab", b"abc", merges=merges), "none", "merge"))
    assert [told[token].proof for token in (b"bc", b"ab", b"abc")] == ["alone", "alone", "segmentation"]
    assert told[b"abc"].witness == "its bytes are always split as 61|62 63"


class Rejecting(Tokenizer):
    """Tokenizer that rejects one text."""

    def encode(self, text: bytes | str, threads: int = 1) -> NDArray[np.int32]:
        if text == b"ab":
            raise ValueError("not this text")
        return super().encode(text, threads)


def test_a_token_whose_bytes_are_rejected_is_not_reached_alone() -> None:
    told = reached(Rejecting(vocabulary(b"ab", b"cd"), "none", "greedy"))
    assert (told[b"ab"].proof, told[b"cd"].proof) == ("context", "alone")


def test_a_beaten_token_is_proved_unreachable() -> None:
    scores = np.full(258, -3.0)
    scores[256], scores[257] = -7.0, -5.0
    told = reached(Tokenizer(vocabulary(b"ab", b"cd", scores=scores), "none", "likelihood"))
    assert (told[b"ab"].proof, told[b"cd"].proof) == ("segmentation", "alone")


def test_continuation_tokens_of_another_library_follow_another_token(tmp_path: Path) -> None:
    """The marks of BERT's tokens are not their bytes. ``aa`` and ``1a`` leave ##an to longer tokens before it."""
    tokens = ["[UNK]", "a", "1", "n", "aa", "1a", "word", "##a", "##n", "##an", "##!"]
    (tmp_path / "vocab.txt").write_text("\n".join(tokens))
    subject = TokenizerUnderTest(read(tmp_path / "vocab.txt", "wordpiece"))
    reaches = {tokens[one.id]: one for one in reach.every_reach(subject)}
    assert {token for token, one in reaches.items() if not one.reached} == {"##!"}
    assert (reaches["##an"].token, reaches["##an"].witness) == (b"an", b"wordan")
    assert subject.cuts_of_numbers[1]["1"] == 1
    assert duplicates(subject).passes


def test_a_token_across_pretokens_is_proved_unreachable() -> None:
    told = reached(Tokenizer(vocabulary(b"a b", b" b", b"12", "é ".encode()[1:]), "first_space_digit", "greedy"))
    assert {token: one.proof for token, one in told.items()} == {
        b"a b": "pre-tokenization", b" b": "alone", b"12": "pre-tokenization", b"\xa9 ": "context",
    }  # fmt: skip
    assert told[b"\xa9 "].witness == "\u2029 ".encode(), "the end of a blank, which a blank may follow"


def test_a_part_of_a_character_is_reached_in_its_context() -> None:
    """The last byte of é and a letter: without context it is split, because an invalid byte is not a letter."""
    token = "éa".encode()[1:]
    told = reached(Tokenizer(vocabulary(token), "gpt2", "greedy"))[token]
    assert told.proof == "context"
    assert isinstance(told.witness, bytes)
    assert token in told.witness


def test_tokens_without_merges_are_unreachable_except_as_pretokens() -> None:
    """Merges do not produce abcd, because bc comes first; it is reachable only as a complete pre-token."""
    tokens = vocabulary(b"bc", b"abcd", b"1bcd")
    fives = {"method": "regex", "pattern": "[a-z]{5}|[a-z]|[^a-z]"}
    for pattern, proofs in (
        ("[a-z]+|[^a-z]", {b"abcd": "alone", b"1bcd": "segmentation"}),
        ("x[a-z]+|[^x]+", {b"abcd": "alone", b"1bcd": "alone"}),
        ("x?[a-z]{4}|[a-z]|1[a-z]*2?|[^a-z]", {b"abcd": "alone", b"1bcd": "alone"}),
        (fives["pattern"], {b"abcd": "segmentation", b"1bcd": "segmentation"}),
    ):
        told = reached(Tokenizer(tokens, {"method": "regex", "pattern": pattern}, "ranked"))
        assert {token: told[token].proof for token in proofs} == proofs
    merges = np.array([[98, 99, 256]], np.int32)
    whole = Vocabulary(tokens.tokens, merges, ids=np.arange(len(tokens), dtype=np.int32) * 3 + 7)
    told = reached(Tokenizer(whole, fives, "whole_or_merge"))
    assert (told[b"abcd"].proof, told[b"abcd"].witness) == ("segmentation", "its bytes are always split as 61|62 63|64")
    assert (told[b"abcd"].id, told[b"bc"].proof) == (7 + 3 * 257, "search"), "abcbc has it, which none tries"


PATTERNS = ("gpt2", "cl100k", "superbpe_2", "deepseek_v3", {"method": "regex", "pattern": "ab(?=c)|a|[^a]{2,3}"})


@cache
def pieces_of(setting: str) -> PretokenAutomaton:
    splits = pretokenization_of(setting).splits
    assert splits is not None
    return PretokenAutomaton(automaton_of_sequence(splits))


@pytest.mark.parametrize("setting", PATTERNS)
@given(st.text(st.sampled_from([*"asé \n1½!'漢bc"]), min_size=1, max_size=4), st.data())
def test_tokens_proved_unreachable_occur_in_no_text(setting: Any, token: str, data: st.DataObject) -> None:
    """No text has a token within a pre-token, or as one, if the automaton proves that this is impossible."""
    scheme = pretokenization_of(setting)
    pieces = pieces_of(scheme.text)
    around = st.text(st.sampled_from([*"asé \n1½!'漢bc"]), max_size=5).map(str.encode)
    own = token.encode()[data.draw(st.integers(0, 1)) :]
    before, after = data.draw(around), data.draw(around)
    bounds = set(scheme.boundaries(before + own + after).tolist())
    start, end = len(before), len(before) + len(own)
    inside = not bounds & set(range(start + 1, end))
    assert pieces.fits_pretoken(own) or not inside
    assert pieces.is_pretoken(own) or not (inside and {start, end} <= bounds)


def test_automata_find_tokens_that_a_pattern_always_splits() -> None:
    cl100k, superbpe = (
        PretokenAutomaton(automaton_of_sequence(schemes[name].cut(Options()).splits))
        for name in ("cl100k", "superbpe_2")
    )
    assert [cl100k.fits_pretoken(token) for token in (b"1234", b"a1", b" 12", b"a b", b"123", b" ab", b"!a")] == [
        False
    ] * 4 + [True] * 3
    assert [cl100k.is_pretoken(token) for token in (b"\n a", b"'ll", b"ll", b"\xa9a")] == [False, True, True, True]
    assert [superbpe.fits_pretoken(token) for token in (b"a1", b"a b", b"a..")] == [False, True, True]


CHARACTERS = st.sampled_from(["a", "s", "l", "é", " ", "\n", "\u3000", "1", "½", "!", "'", "\ufffd", "漢", "\u0301"])


def kept(scheme: str, before: str, token: str, after: str) -> bool:
    bounds = schemes[scheme].function((before + token + after).encode()).tolist()
    start = len(before.encode())
    return not any(start < bound < start + len(token.encode()) for bound in bounds)


@pytest.mark.parametrize("scheme", ["space", "digit", "space_digit", "first_space", "first_space_digit", "gpt2"])
@given(st.text(CHARACTERS, min_size=2, max_size=4), st.text(CHARACTERS, max_size=4), st.text(CHARACTERS, max_size=4))
def test_tried_contexts_represent_all_contexts(scheme: str, token: str, before: str, after: str) -> None:
    """If any context keeps a token in one pre-token, a tried context does; the same is true of its representative."""
    if kept(scheme, before, token, after):
        tried = [(lead.decode(), rest.decode()) for lead, rest in contexts(token.encode())]
        assert any(kept(scheme, lead, token, rest) for lead, rest in tried)
        alike = likeness(token.encode()).decode()
        assert any(kept(scheme, lead, alike, rest) for lead, rest in tried)
    assert LEFT_CONTEXTS[0] == b""


def test_representative_of_a_token_keeps_letters_of_contractions() -> None:
    assert likeness("Abc'def éfg 12½\n漢".encode()) == "Aba'dea aaa 11½\na".encode()
    assert likeness(b"ab\xff") == b"ab\xff"


def kinds(characters: Iterable[bytes]) -> set[str]:
    return set(likeness(b"ab" + b"".join(characters)).decode()[2:])


def whole(parts: Iterable[bytes]) -> set[bytes]:
    """Return the byte strings that are one character."""
    return {
        one for one in parts if len(one.decode(errors="replace")) == 1 and "\ufffd" not in one.decode(errors="replace")
    }


@pytest.mark.parametrize(
    ("head", "missing"),
    [("c3", 1), ("e0", 2), ("e4", 2), ("e4b8", 1), ("ed", 2), ("eda0", 1), ("f09f", 2), ("f490", 2)],
)
def test_few_characters_of_every_class_complete_a_head(head: str, missing: int) -> None:
    start = bytes.fromhex(head)
    every = whole(start + bytes(rest) for rest in product(range(0x80, 0xC0), repeat=missing))
    chosen = {start + rest for rest in tails_of(start)}
    assert chosen <= every
    assert kinds(chosen) == kinds(every)
    assert chosen == every if missing == 1 else len(chosen) <= 30


@pytest.mark.parametrize("tail", ["80", "8080", "b8ad", "988080", "808080"])
def test_few_characters_of_every_class_complete_a_tail(tail: str) -> None:
    end = bytes.fromhex(tail)
    between = [bytes(some) for number in range(4 - len(end)) for some in product(range(0x80, 0xC0), repeat=number)]
    every = whole(bytes([lead]) + some + end for lead in range(0xC2, 0xF5) for some in between)
    chosen = {head + end for head in heads_of(end)}
    assert chosen <= every
    assert kinds(chosen) == kinds(every)
    assert len(chosen) <= 30
