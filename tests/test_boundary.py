"""The boundary between context and choice, for every tokenizer."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokbench
from tokbench.downstream.boundary import common_prefix, encode_choices
from tokbench.downstream.coverings import Spellings, coverings, greedy, log_covered, log_probability
from tokbench.tokenizer import Tokenizer

TOKENS = sorted({b"a", b"b", b" ", b"ab", b" a", b"a b", b"ba", b"b a", b" b ", b"aab"}, key=len, reverse=True)
IDS = {token: number for number, token in enumerate(TOKENS)}
MERGES = [(b"a", b"b"), (b" ", b"a"), (b"b", b"a"), (b" ", b"b"), (b"a", b" b"), (b"b", b" a"), (b"a", b"ab")]


def bytes_of(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def forward(text: str | bytes) -> list[int]:
    """Longest match from the left, with tokens that straddle spaces."""
    text, ids = bytes_of(text), []
    while text:
        token = next(token for token in TOKENS if text.startswith(token))
        ids.append(IDS[token])
        text = text[len(token) :]
    return ids


def backward(text: str | bytes) -> list[int]:
    """Longest match from the right: one more letter can change every token before it."""
    text, ids = bytes_of(text), []
    while text:
        token = next(token for token in TOKENS if text.endswith(token))
        ids.append(IDS[token])
        text = text[: -len(token)]
    return ids[::-1]


def merged(text: str | bytes) -> list[int]:
    """Merges in the order of their ranks."""
    parts = [bytes([value]) for value in bytes_of(text)]
    for pair in (pair for pair in MERGES if pair[0] + pair[1] in IDS):
        place = 0
        while place < len(parts) - 1:
            if (parts[place], parts[place + 1]) == pair:
                parts[place : place + 2] = [pair[0] + pair[1]]
            place += 1
    return [IDS[part] for part in parts]


ENCODERS = pytest.mark.parametrize("encode", [forward, backward, merged])


def spelt(ids: tuple[int, ...]) -> list[bytes]:
    return [TOKENS[number] for number in ids]


@ENCODERS
@given(context=st.text("ab ", max_size=12), choices=st.lists(st.text("ab ", min_size=1, max_size=8), min_size=1))
def test_what_straddles(encode, context: str, choices: list[str]) -> None:
    encoded = encode_choices(encode, context, choices)
    assert [b"".join(spelt(whole)) for whole in encoded.wholes] == [(context + choice).encode() for choice in choices]
    assert b"".join(spelt(encoded.alone)) == context.rstrip().encode()
    for whole, straddles in zip(encoded.wholes, encoded.straddling, strict=True):
        assert straddles == (common_prefix([encoded.alone, whole]) < len(encoded.alone))


def test_a_token_across_the_end_and_one_that_moves_another() -> None:
    assert encode_choices(forward, "ba", [" b", "b"]).straddling == [False, False]
    across = encode_choices(forward, "a ", [" b", "b"])
    assert (spelt(across.alone), across.straddling) == ([b"a"], [False, True])
    assert [spelt(whole) for whole in across.wholes] == [[b"a", b" ", b" ", b"b"], [b"a b"]]
    moved = encode_choices(backward, "aba", ["b"])
    assert (spelt(moved.alone), spelt(moved.wholes[0])) == ([b"a", b"ba"], [b"ab", b"ab"])


def exact_model(encode, seed: int) -> tuple[dict[bytes, float], Callable[[tuple[int, ...]], np.ndarray]]:
    """Texts of seven letters with their probabilities, and the only right model of their tokens.

    The model gives the logarithm of the next token's probability after each of the first tokens of a sequence.
    """
    texts = [bytes(letters) for letters in product(b"ab ", repeat=7)]
    shares = dict(zip(texts, np.random.default_rng(seed).dirichlet(np.full(len(texts), 0.2)), strict=True))
    masses: dict[tuple[int, ...], float] = {}
    for text, share in shares.items():
        ids = tuple(encode(text))
        for length in range(len(ids) + 1):
            masses[ids[:length]] = masses.get(ids[:length], 0) + share

    def after(ids: tuple[int, ...]) -> np.ndarray:
        rows = []
        for length in range(len(ids) + 1):
            opening = ids[:length]
            mass = masses.get(opening, 0)
            rows.append([masses.get((*opening, token), 0) / mass if mass else 0 for token in range(len(TOKENS))])
        with np.errstate(divide="ignore"):
            return np.log(rows)

    return shares, after


MODELS = {encode: exact_model(encode, seed) for seed, encode in enumerate((forward, backward, merged))}
beginnings = st.integers(0, 3**7 - 1), st.integers(1, 4), st.integers(1, 2)


@ENCODERS
@given(beginnings[0], *beginnings[1:])
def test_coverings_have_the_probability_of_the_texts_that_begin_so(encode, number: int, length: int, more: int) -> None:
    """By brute force: the probability of every text that begins with the context, added up."""
    shares, after = MODELS[encode]
    text = list(shares)[number]
    context, whole = text[:length], tuple(encode(text[: length + more]))
    found, unwritten = coverings(Spellings(TOKENS), encode, context, [whole])
    assert all(not set(last) & set(found.get(before, ())) for before, last in unwritten.items())
    sequences = [spelt((*before, id)) for before, last in found.items() for id in last]
    assert len({tuple(sequence) for sequence in sequences}) == len(sequences)
    for *before, last in sequences:
        assert len(b"".join(before)) < len(context) <= len(b"".join([*before, last]))
        assert b"".join([*before, last]).startswith(context)
    covered = log_covered(found, after)
    assert np.exp(covered) == pytest.approx(sum(share for text, share in shares.items() if text.startswith(context)))
    assert log_probability(whole, after(whole)) <= covered + 1e-9


@ENCODERS
@given(st.text("ab ", min_size=1, max_size=5))
def test_coverings_that_count_are_written_and_of_some_tokenizers_all_that_are(encode, opening: str) -> None:
    """By brute force: the coverings of all texts that begin so and have up to two letters more, as tokens reach."""
    context, spellings = opening.encode(), Spellings(TOKENS)
    written = set()
    for more in range(3):
        for letters in product(b"ab ", repeat=more):
            ids = tuple(encode(context + bytes(letters)))
            written.add(ids[: spellings.within(ids, len(context) - 1) + 1])
    found, unwritten = coverings(spellings, encode, context, [])
    kept = {(*before, last) for before, every in found.items() for last in every}
    left_out = {(*before, last) for before, every in unwritten.items() for last in every}
    assert kept <= written
    if encode is not backward:
        assert kept == written
        assert all(tuple(encode(b"".join(spelt(ids)))) != ids for ids in left_out)


def test_a_covering_whose_tokens_would_be_merged_does_not_count() -> None:
    """After "a" the token "b a" is in no text: "ab" is merged before it."""
    found, unwritten = coverings(Spellings(TOKENS), merged, b"ab", [])
    assert (IDS[b"a"],) not in {before for before, last in found.items() if IDS[b"b a"] in last}
    assert IDS[b"b a"] in unwritten[IDS[b"a"],]


@given(st.text("ab ", min_size=1, max_size=6), st.text("ab ", min_size=1, max_size=6))
def test_what_is_settled_need_not_be_cut_again(head: str, opening: str) -> None:
    """A tokenizer that always cuts after a full stop."""

    def encode(text: str | bytes) -> list[int]:
        return [
            id for part in bytes_of(text).partition(b".") for id in ([len(TOKENS)] if part == b"." else merged(part))
        ]

    spellings = Spellings([*TOKENS, b"."])
    context = f"{head}.{opening}".encode()
    apart = coverings(spellings, encode, context, [], settled=len(head) + 1)
    assert apart[0] == coverings(spellings, encode, context, [])[0]


@pytest.fixture(scope="module")
def closed() -> dict[str, Tokenizer]:
    """Tokenizers of which the first tokens of a text are the tokens of what they spell."""
    counts = tokbench.count([b"abba ab baab a bab aab " * 3, b"ba b ab aabb abab b a" * 2], "none")
    bpe, unigram = (tokbench.build(method, counts, 290) for method in ("bpe", "unigram"))
    others = ("greedy", "longest_prefix", "shortest_path")
    return {name: Tokenizer(bpe.vocabulary, "none", name) for name in others} | {"merge": bpe, "likelihood": unigram}


@given(text=st.text("ab ", max_size=24))
@pytest.mark.parametrize("segmentation", ["merge", "greedy", "longest_prefix", "shortest_path", "likelihood"])
def test_first_tokens_are_the_tokens_of_what_they_spell(
    closed: dict[str, Tokenizer], segmentation: str, text: str
) -> None:
    tokenizer = closed[segmentation]
    assert tokenizer.segmentation == segmentation
    ids = tokenizer.encode(text).tolist()
    for count in range(len(ids)):
        assert tokenizer.encode(tokenizer.decode(ids[:count])).tolist() == ids[:count]


def test_an_empty_context_has_no_covering_and_bytes_alone_have_one() -> None:
    assert coverings(Spellings(TOKENS), forward, b"", [(0,)]) == ({}, {})
    assert log_covered({}, MODELS[forward][1]) == -np.inf
    single = Spellings([b"a", b"b", b" "])
    found, unwritten = coverings(single, lambda text: [b"ab ".index(value) for value in text], b"ab", [(0, 1, 2)])
    assert (found, unwritten) == ({(0,): [1]}, {})


def test_a_completion_is_greedy_among_tokens_that_agree_with_the_context() -> None:
    spellings = Spellings([b"a", b"b", b" ", b"a b", b"ab"])
    given = np.full((1, 6), -9.0)
    given[0, [1, 5]] = -0.1, -0.01  # "b" and the special token would be likelier, but the context says "a".
    given[0, 3] = -1.0
    assert greedy(spellings, b"a", 0, (3,), given)
    given[0, 0] = -0.5
    assert not greedy(spellings, b"a", 0, (3,), given)
    assert not greedy(spellings, b"", 0, (3,), given)
