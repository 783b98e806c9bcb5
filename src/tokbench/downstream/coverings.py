"""The probability that a text begins as a context does, where a token may reach beyond the context's end.

A covering of a text is a sequence of tokens that spells it and whose last token ends at its end or beyond it. The
probability that what a model writes begins with the text is the sum over all coverings (Phan et al., "Exact byte-level
probabilities from tokenized language models", 2024). Here the sum is over those that a tokenizer which writes one text
in one way makes use of: its own tokens of the text, these with the last few replaced by one token that reaches beyond
the end, and the tokens that it chose for the whole of which the text is the beginning. A conditional probability of the
whole given the text is then never above 1.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

LogProbabilities = NDArray[np.float64]
"""[positions, vocabulary]: row i of the token after the i-th, in nats."""


class Spellings:
    """The tokens of a vocabulary by their bytes."""

    def __init__(self, tokens: Sequence[bytes] | Mapping[int, bytes]) -> None:
        """Sort the tokens.

        Args:
            tokens: bytes of each id; special tokens, which spell nothing, are left out.
        """
        pairs = tokens.items() if isinstance(tokens, Mapping) else enumerate(tokens)
        self.of = dict(pairs)
        ordered = sorted((token, id) for id, token in self.of.items() if token)
        self._bytes = [token for token, _ in ordered]
        self._ids = np.array([id for _, id in ordered], np.int64)
        self._longest = max(map(len, self._bytes), default=0)

    def text(self, ids: Sequence[int]) -> bytes:
        """The bytes of a sequence of tokens."""
        return b"".join(self.of[id] for id in ids)

    def reach(self, shared: Sequence[int], tail: Sequence[int]) -> int:
        """How many of the first tokens of ``shared`` no token could replace and reach beyond the end of the tail."""
        left = len(self.text(shared)) + len(self.text(tail))
        for count, id in enumerate(shared):
            if left < self._longest:
                return count
            left -= len(self.of[id])
        return len(shared)

    def beginning(self, text: bytes) -> NDArray[np.int64]:
        """Ids of the tokens that begin with a text, itself included, in the order of their bytes."""
        first = bisect_left(self._bytes, text)
        last = first
        while last < len(self._bytes) and self._bytes[last].startswith(text):
            last += 1
        return self._ids[first:last]

    def beyond(self, text: bytes) -> NDArray[np.int64]:
        """Ids of the tokens that begin with a text and are longer."""
        return np.array([id for id in self.beginning(text) if len(self.of[int(id)]) > len(text)], np.int64)

    def agreeing(self, text: bytes) -> NDArray[np.int64]:
        """Ids of the tokens that begin with a text, or that it begins with; all tokens for an empty text."""
        openings = [text[:length] for length in range(1, len(text))]
        shorter = [id for opening in openings for id in self.beginning(opening) if self.of[int(id)] == opening]
        return np.array([*shorter, *self.beginning(text)], np.int64)


def log_covering(
    spellings: Spellings,
    alone: Sequence[int],
    whole: Sequence[int],
    alone_given: LogProbabilities,
    whole_given: LogProbabilities,
) -> float:
    """Natural logarithm of the probability that a text begins with the context.

    Args:
        spellings: the vocabulary.
        alone: the context's own tokens.
        whole: tokens of a text that begins with the context.
        alone_given: the next token's log-probabilities after each proper prefix of ``alone``, the empty one first.
        whole_given: the same of ``whole``.
    """
    rest = spellings.text(alone)
    terms, before = [], 0.0
    for position, token in enumerate(alone):
        reaching = spellings.beyond(rest)
        if len(reaching):
            terms.append(before + float(np.logaddexp.reduce(alone_given[position, reaching])))
        before += float(alone_given[position, token])
        rest = rest[len(spellings.of[token]) :]
    terms.append(before)
    covering = _covering(spellings, whole, len(spellings.text(alone)))
    if list(covering[:-1]) != list(alone[: len(covering) - 1]):
        terms.append(log_probability(covering, whole_given))
    return float(np.logaddexp.reduce(terms))


def log_probability(ids: Sequence[int], given: LogProbabilities) -> float:
    """Natural logarithm of the probability of a sequence of tokens."""
    return math.fsum(float(given[position, token]) for position, token in enumerate(ids))


def greedy(spellings: Spellings, context: bytes, cut: int, whole: Sequence[int], given: LogProbabilities) -> bool:
    """Whether greedy decoding gives the whole's tokens from the cut on.

    As long as the context's end has not been reached only tokens that agree with it may be chosen. Where nothing
    straddles this is lm-eval's rule.

    Args:
        spellings: the vocabulary.
        context: the bytes that are known.
        cut: tokens of the whole that are known.
        whole: the tokens.
        given: after each prefix of ``whole``, the next token's log-probabilities.
    """
    known = context[len(spellings.text(whole[:cut])) :]
    for position in range(cut, len(whole)):
        allowed = spellings.agreeing(known) if known else np.arange(given.shape[1])
        if allowed[np.argmax(given[position, allowed])] != whole[position]:
            return False
        known = known[len(spellings.of[whole[position]]) :]
    return True


def _covering(spellings: Spellings, whole: Sequence[int], length: int) -> Sequence[int]:
    """The fewest first tokens of a sequence that spell so many bytes or more."""
    count = spelt = 0
    while spelt < length:
        spelt += len(spellings.of[whole[count]])
        count += 1
    return whole[:count]
