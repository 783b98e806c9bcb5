"""The boundary between context and choice, for every tokenizer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokbench.downstream.boundary import encode_choices
from tokbench.downstream.coverings import Spellings, log_covering
from tokbench.downstream.coverings import log_probability as log_probability_of

TOKENS = sorted({"a", "b", " ", "ab", " a", "a b", "ba", "b a", " b ", "aab"}, key=len, reverse=True)
IDS = {token: number for number, token in enumerate(TOKENS)}


def greedy(text: str) -> list[int]:
    """Longest match from the left, with tokens that straddle spaces."""
    ids = []
    while text:
        token = next(token for token in TOKENS if text.startswith(token))
        ids.append(IDS[token])
        text = text[len(token) :]
    return ids


def backward(text: str) -> list[int]:
    """Longest match from the right: one more letter can change every token before it."""
    ids = []
    while text:
        token = next(token for token in TOKENS if text.endswith(token))
        ids.append(IDS[token])
        text = text[: -len(token)]
    return ids[::-1]


def log_probability(ids: list[int], begin: int = 0) -> float:
    """A toy bigram model: the sum from ``begin`` on."""
    previous = [len(IDS), *ids]
    return sum(-1.0 - (7 * previous[i] + 3 * ids[i]) % 11 for i in range(begin, len(ids)))


texts = st.text(alphabet="ab ", min_size=1, max_size=8)


@pytest.mark.parametrize("encode", [greedy, backward])
@given(context=st.text(alphabet="ab ", max_size=12), choices=st.lists(texts, min_size=2, max_size=4))
def test_scores_differ_as_the_probabilities_of_whole_texts(encode, context: str, choices: list[str]) -> None:
    encoded = encode_choices(encode, context, choices)
    wholes = [encode(context + choice) for choice in choices]
    assert [encoded.context + continuation for continuation in encoded.continuations] == wholes
    assert all(encoded.continuations)
    cut = len(encoded.context)
    scores = [log_probability(whole, cut) for whole in wholes]
    for score, whole in zip(scores, wholes, strict=True):
        assert score - scores[0] == pytest.approx(log_probability(whole) - log_probability(wholes[0]))
    alone = encode(context.rstrip())
    assert encoded.straddling == [whole[: len(alone)] != alone for whole in wholes]
    if not any(encoded.straddling):
        assert encoded.context == alone


def test_a_straddling_token_moves_the_cut_of_every_choice() -> None:
    def spelt(ids: list[int]) -> list[str]:
        return [TOKENS[number] for number in ids]

    usual = encode_choices(greedy, "ba", [" b", "b"])
    assert (spelt(usual.context), usual.straddling) == (["ba"], [False, False])
    straddled = encode_choices(greedy, "a", [" b", "  b"])
    assert (spelt(straddled.context), straddled.straddling) == ([], [True, False])
    assert [spelt(ids) for ids in straddled.continuations] == [["a b"], ["a", " ", " ", "b"]]


def every_spelling(text: bytes, tokens: list[bytes]) -> list[list[int]]:
    """All coverings of a text: sequences of tokens that spell it and whose last may reach beyond its end."""
    if not text:
        return [[]]
    found = []
    for id, token in enumerate(tokens):
        if token.startswith(text) and len(token) > len(text):
            found.append([id])
        elif text.startswith(token):
            found += [[id, *rest] for rest in every_spelling(text[len(token) :], tokens)]
    return found


@given(context=st.text(alphabet="ab ", min_size=1, max_size=6), choice=st.text(alphabet="ab ", min_size=1, max_size=4))
@pytest.mark.parametrize("encode", [greedy, backward])
def test_coverings_are_among_all_and_hold_the_whole(encode, context: str, choice: str) -> None:
    tokens = [token.encode() for token in TOKENS]
    table = np.log(np.random.default_rng(len(context)).dirichlet(np.ones(len(tokens)), len(tokens) + 1))

    def given_of(ids: list[int]) -> np.ndarray:
        return table[[len(tokens), *ids[:-1]]]

    alone, whole = encode(context), encode(context + choice)
    found = log_covering(Spellings(tokens), alone, whole, given_of(alone), given_of(whole))
    everything = [log_probability_of(ids, given_of(ids)) for ids in every_spelling(context.encode(), tokens)]
    assert log_probability_of(whole, given_of(whole)) <= found + 1e-12
    assert log_probability_of(alone, given_of(alone)) <= found + 1e-12
    assert found <= np.logaddexp.reduce(everything) + 1e-12


def test_bytes_alone_have_one_covering() -> None:
    tokens = [b"a", b"b", b" "]
    table = np.log(np.full((2, 3), 1 / 3))
    assert log_covering(Spellings(tokens), [0, 1], [0, 1, 2], table, np.log(np.full((3, 3), 1 / 3))) == pytest.approx(
        2 * np.log(1 / 3)
    )
