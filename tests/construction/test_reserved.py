"""Strings that are not counted, and strings that are built first: compared with plain Python, and always kept."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokbench
from tests.conftest import TOPICS
from tokbench.construction import constructions
from tokbench.errors import TokbenchError
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.reference.bpe import continue_training, split_by
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.hugging_face import spelling_ranks

MARKS = ("<|im_start|>", "<|im_end|>", "<|im")
SCHEME = {"method": "added_tokens", "tokens": list(MARKS), "others": "gpt2"}
CHATS = [b"<|im_start|>user\n" + topic[:400] + b"<|im_end|>\n<|im " for topic in TOPICS]
METHODS = {
    "bpe": 330,
    "morphbpe": 330,
    "wordpiece": 560,
    "picky_bpe": 330,
    "scaffold_bpe": 330,
    "bpe_trimmed": 330,
    "unigram": 330,
}
"""Constructions with the option, each with a size."""


@pytest.mark.parametrize("method", METHODS)
def test_reserved_strings_are_not_counted(method: str) -> None:
    """The vocabulary is that of the counts without these strings, by plain Python."""
    counts = count_pretokens(CHATS, SCHEME)
    made = tokbench.build(method, counts, METHODS[method], reserved=MARKS)
    pieces = [
        (piece, count)
        for pretoken, count in counts.items()
        for piece in re.split(rb"<\|im_start\|>|<\|im_end\|>|<\|im", pretoken)
        if piece
    ]
    cut = tokbench.build(method, PretokenCounts.from_pairs(pieces, counts.scheme), METHODS[method])
    assert made.vocabulary.digest == cut.vocabulary.digest
    assert not [token for token in made.vocabulary.tokens for mark in MARKS if mark.encode() in token]
    without = tokbench.build(method, counts, METHODS[method])
    assert without.vocabulary.digest != made.vocabulary.digest


@pytest.mark.parametrize("method", METHODS)
def test_strings_that_a_text_does_not_have_change_nothing(method: str) -> None:
    counts = count_pretokens(TOPICS[:3], "gpt2")
    plain = tokbench.build(method, counts, METHODS[method])
    assert tokbench.build(method, counts, METHODS[method], reserved=["zq"]).vocabulary.digest == plain.vocabulary.digest
    assert {"reserved", "seeds"}.isdisjoint(plain.origin["construction"])


@given(
    st.lists(st.text("ab<> ", max_size=12), max_size=5),
    st.lists(st.sampled_from(["<a>", "<", "ab", "<<"]), max_size=3, unique=True),
)
def test_no_token_contains_a_reserved_string(texts: list[str], reserved: list[str]) -> None:
    counts = count_pretokens([*(text.encode() for text in texts), b"ab <a> abab"], "none")
    for method in ("bpe", "picky_bpe"):
        tokens = tokbench.build(method, counts, 300, reserved=reserved).vocabulary.tokens[256:]
        assert not [token for token in tokens for string in reserved if string.encode() in token]


def test_every_construction_with_the_option_is_tested() -> None:
    having = {method.name for method in constructions.methods() if "reserved" in method.options.model_fields}
    assert having == {*METHODS, "bpe_knockout"}
    assert [method.name for method in constructions.methods() if "seeds" in method.options.model_fields] == ["bpe"]


SEEDS = st.lists(
    st.one_of(st.text("abc", min_size=1, max_size=7), st.sampled_from(["\u00e9\u00e9", "\U0001f642"])),
    max_size=5,
    unique=True,
)
WORDS = st.dictionaries(st.text("abc\u00e9", min_size=1, max_size=8), st.integers(1, 9), min_size=1, max_size=8)


@given(SEEDS, WORDS, st.integers(0, 12))
def test_seeds_are_built_first(seeds: list[str], words: dict[str, int], more: int) -> None:
    """Against plain Python: merges of the seeds, then continued training."""
    tokens, merges = [bytes([byte]) for byte in range(256)], list[tuple[int, int, int]]()
    for seed in seeds:
        while len(ids := split_by(seed.encode(), merges, tokens)) > 1:
            token = tokens[ids[0]] + tokens[ids[1]]
            if token not in tokens:
                tokens.append(token)
            merges.append((ids[0], ids[1], tokens.index(token)))
    size = len(tokens) + more
    spelt = [(word.encode(), count) for word, count in words.items()]
    ranks = [*spelling_ranks().tolist(), *range(256, len(tokens))]
    expected_merges, expected = continue_training(spelt, tokens, merges, ranks, size, 0, 100)
    made = tokbench.build("bpe", PretokenCounts.from_pairs(spelt, "none"), size, seeds=seeds)
    assert list(made.vocabulary.tokens) == expected
    assert made.vocabulary.merges is not None
    assert list(map(tuple, made.vocabulary.merges.tolist())) == expected_merges
    for seed in seeds:
        assert made.tokenize(seed) == [seed]


@pytest.mark.parametrize("alphabet", ["byte", "character"])
def test_seeds_are_tokens_of_texts(alphabet: str) -> None:
    seeds = [" supercalifragilistic", "\u4e2d\u6587", "1234", " the"]
    counts = count_pretokens([*TOPICS, "\u4e2d\u6587 caf\u00e9".encode()], "gpt2")
    made = tokbench.build("bpe", counts, 400, seeds=seeds, alphabet=alphabet)
    assert len(made) == 400
    assert [token in made.tokenize(f"It is{token} of") for token in seeds] == [True] * 4
    assert made.decode(made.encode(TOPICS[0])) == TOPICS[0]
    assert made.origin["construction"]["seeds"] == seeds


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        (
            "bpe",
            {"reserved": ["<|im_start|>"]},
            r"reserved '<\|im_start\|>': the pre-tokenization gpt2 splits it into 5",
        ),
        ("unigram", {"reserved": ["a b"]}, "unigram: reserved 'a b': the pre-tokenization gpt2 splits it into 2"),
        ("bpe", {"seeds": ["two words"]}, "bpe: seeds 'two words': the pre-tokenization gpt2 splits it into 2"),
        ("bpe", {"seeds": ["abc"], "reserved": ["b"]}, "contains the reserved string 'b'"),
        ("bpe", {"seeds": ["abcd"], "max_token_bytes": 3}, r"longer than max_token_bytes \(3\)"),
        ("bpe", {"seeds": ["abcdefghijkl"]}, "267 tokens, more than the vocabulary size 260"),
        ("bpe", {"seeds": [""]}, "must have 1 or more characters"),
    ],
)
def test_strings_that_cannot_be_left_out_or_built_are_an_error(
    method: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(TokbenchError, match=message):
        tokbench.build(method, count_pretokens(TOPICS[:1], "gpt2"), 260, **options)


def test_counts_without_a_pretokenization_are_cut_at_reserved_strings() -> None:
    made: Tokenizer = tokbench.build("bpe", PretokenCounts.from_pairs([(b"ab<x>ab", 5)]), 260, reserved=["<x>"])
    assert made.vocabulary.tokens[256:] == (b"ab",)
