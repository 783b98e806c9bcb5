"""The probability that a text begins as a context does, in whatever tokens.

A covering of a context is a sequence of tokens that spells it and of which the last ends at the context's end or
beyond it. The probability that what a model writes begins with the context is the sum over all coverings that the
tokenizer could have written (Phan et al., "Exact byte-level probabilities from tokenized language models for FIM-tasks
and model ensembles", 2024). Theirs are the context's own tokens, and for each of its places the tokens of what stands
before the place and one token more that begins with the rest and is longer. Not all of these are written: merges may
join that token's beginning to what stands before it. So each is tried. A text that ends with it is encoded, and it
counts where the text's tokens are these; what the text is covered by instead counts too.

Where the first tokens of any text are the tokens of what they spell, as those of merges, longest matches and best paths
are while the pre-tokenization does not look ahead, the coverings that count are all that are ever written, and those
that do not count are written never. Of other tokenizers all that count are written, and others may be.

Where a context ends and a choice begins, for every tokenizer.

A causal language model with a tokenizer gives probabilities to sequences of tokens, not to texts. Harnesses take a
choice's tokens to be those of the whole text after as many as the context has by itself, which holds only when
the context's own tokens open the whole's. A tokenizer that merges across spaces, or that segments by looking ahead,
breaks this: a token may straddle the boundary, and tokens before it may change too.

A choice's score is log p(tokens of context and choice) - log p(context). Where the context's own tokens open the whole
of every choice of a question, p(context) is that of these tokens, and the score is the usual one, number for number.
Otherwise p(context) is, for every choice of the question, the probability that what the model writes begins with the
context, in whatever tokens, as in :mod:`tokbench.models.evaluation.coverings`. Other remedies are not sound: a cut at
each choice's own last common token charges some choices for the end of the context that others get free; the same cut
for all leaves that end in every score, and a score by character divides it by the length of the choice alone.

Of a tokenizer that works through another library the bytes of tokens are not known, and no covering is. There the cut
is that same one for all choices of a question: they are ordered as by p(context), which all of them would be divided
by, and so is accuracy, but where a score is divided by length, or where the context differs from choice to choice.

Other draws of a tokenizer that draws at random, for scores that are means over draws.
"""

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.elementary import exponentials_of, logs_of
from tokbench.kernels.exact import exact_sum
from tokbench.tokenizer import Tokenizer

Encode = Callable[[str | bytes], Sequence[int]]
Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class EncodedChoices:
    """The choices that follow one context, in tokens.

    Attributes:
        alone: ids of the context by itself, without white space at its end.
        wholes: for each choice, ids of the context with it.
        straddling: for each choice, whether the context's own tokens do not open the whole's.
    """

    alone: Ids
    wholes: list[Ids]
    straddling: list[bool]


def encode_choices(encode: Encode, context: str, choices: Sequence[str]) -> EncodedChoices:
    """Encode the choices that follow one context.

    White space that ends the context counts with the choices, as in lm-eval: models write it before the next word.

    Args:
        encode: text to ids, without special tokens.
        context: may be empty.
        choices: texts that follow, with the space before them.
    """
    alone = tuple(encode(context.rstrip()))
    wholes = [tuple(encode(context + choice)) for choice in choices]
    return EncodedChoices(alone, wholes, [whole[: len(alone)] != alone for whole in wholes])


def common_prefix(sequences: Sequence[Ids]) -> int:
    """How many tokens all sequences have in common from the start; one at least is given."""
    pairs = zip(min(sequences), max(sequences), strict=False)  # What these two share, those between them share.
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


LogProbabilities = NDArray[np.float64]
"""[positions, vocabulary]: row i of the token after the first i, in nats."""
Coverings = dict[Ids, list[int]]
"""Tokens before the last -> the tokens that may be last, ascending."""


class Spellings:
    """The tokens of a vocabulary by their bytes."""

    def __init__(self, tokens: Sequence[bytes]) -> None:
        """Sort the tokens.

        Args:
            tokens: bytes of each id; none of ids that no text gives. Special tokens that come after them are left out.
        """
        self.tokens = tokens
        self.longest = max(map(len, tokens), default=0)
        self._ids = sorted(filter(tokens.__getitem__, range(len(tokens))), key=tokens.__getitem__)
        self._ordered = [tokens[id] for id in self._ids]

    def length(self, ids: Iterable[int]) -> int:
        """Bytes that a sequence of tokens spells."""
        return sum(len(self.tokens[id]) for id in ids)

    def within(self, ids: Sequence[int], length: int) -> int:
        """How many first tokens of a sequence end within so many bytes."""
        for count, id in enumerate(ids):
            length -= len(self.tokens[id])
            if length < 0:
                return count
        return len(ids)

    def beginning(self, text: bytes) -> list[int]:
        """Ids of the tokens that begin with a text, itself included, in the order of their bytes."""
        first = last = bisect_left(self._ordered, text)
        while last < len(self._ordered) and self._ordered[last].startswith(text):
            last += 1
        return self._ids[first:last]

    def beyond(self, text: bytes) -> list[int]:
        """Ids of the tokens that begin with a text and are longer."""
        return [id for id in self.beginning(text) if len(self.tokens[id]) > len(text)]

    def agreeing(self, text: bytes) -> list[int]:
        """Ids of the tokens that begin with a text, or that it begins with."""
        return self.opening(text[:-1]) + self.beginning(text)

    def opening(self, text: bytes) -> list[int]:
        """Ids of the tokens that a text begins with, the shortest first."""
        openings = (text[:length] for length in range(1, min(len(text), self.longest) + 1))
        return [id for part in openings for id in self._spelling(part)]

    def _spelling(self, text: bytes) -> list[int]:
        return self._ids[bisect_left(self._ordered, text) : bisect_right(self._ordered, text)]


def coverings(
    spellings: Spellings, encode: Encode, context: bytes, wholes: Iterable[Ids], settled: int = 0
) -> tuple[Coverings, Coverings]:
    """The coverings of a context that some text has, and those of the theory that no text which was tried has.

    Args:
        spellings: the vocabulary.
        encode: text to ids.
        context: none for an empty one.
        wholes: tokens of texts that begin with the context.
        settled: a place in the context at which a token ends whatever follows the context, and before and after which
            texts can be encoded apart; 0 is one always.

    Returns:
        Each as tokens before the last -> the tokens that may be last, ascending.
    """
    found: defaultdict[Ids, set[int]] = defaultdict(set)
    tried: defaultdict[Ids, set[int]] = defaultdict(set)
    if not context:
        return {}, {}
    head = tuple(encode(context[:settled]))
    for whole in (tuple(encode(context)), *wholes):
        count = spellings.within(whole, len(context) - 1)
        found[whole[:count]].add(whole[count])
    for place in range(max(settled, len(context) - spellings.longest + 1), len(context)):
        opening = context[settled:place]
        before = (*head, *encode(opening))
        for last in spellings.beyond(context[place:]):
            tried[before].add(last)
            ids = tuple(encode(opening + spellings.tokens[last]))
            count = spellings.within(ids, len(context) - settled - 1)
            found[*head, *ids[:count]].add(ids[count])
    unwritten = {before: last - found.get(before, set()) for before, last in tried.items()}
    return _ordered(found), _ordered(unwritten)


def _ordered(found: Mapping[Ids, set[int]]) -> Coverings:
    return {before: sorted(last) for before, last in found.items() if last}


def log_covered(found: Mapping[Ids, list[int]], given: Callable[[Ids], LogProbabilities]) -> float:
    """Natural logarithm of the probability of any of some coverings; that of 0 for none.

    Args:
        found: as :func:`coverings` has them.
        given: the next token's log-probabilities after each of the first tokens of a sequence, the last included.
    """
    terms = [
        log_probability(before, given(before)) + log_sum(given(before)[len(before), last])
        for before, last in found.items()
    ]
    return log_sum(np.array(terms)) if terms else -math.inf


def log_sum(logs: NDArray[np.float64]) -> float:
    """Natural logarithm of the sum of numbers, one or more, that are given by their logarithms."""
    largest = float(logs.max())
    return largest + float(logs_of(exact_sum(exponentials_of(logs - largest)))) if np.isfinite(largest) else largest


def log_probability(ids: Ids, given: LogProbabilities) -> float:
    """Natural logarithm of the probability of a sequence of tokens."""
    return math.fsum(float(given[position, token]) for position, token in enumerate(ids))


def greedy(spellings: Spellings, context: bytes, cut: int, whole: Ids, given: LogProbabilities) -> bool:
    """Whether greedy decoding gives the whole's tokens from the cut on.

    As long as the context's end has not been reached only tokens that agree with it may be chosen. Where nothing
    straddles this is lm-eval's rule.

    Args:
        spellings: the vocabulary.
        context: the bytes that are known.
        cut: tokens of the whole that are known.
        whole: the tokens.
        given: after each of the first tokens of ``whole``, the next token's log-probabilities.
    """
    known = context[spellings.length(whole[:cut]) :]
    for position in range(cut, len(whole)):
        allowed = spellings.agreeing(known) if known else np.arange(given.shape[1])
        if allowed[int(given[position, allowed].argmax())] != whole[position]:
            return False
        known = known[len(spellings.tokens[whole[position]]) :]
    return True


DRAWS = 8
"""Draws over which scores are averaged where a choice straddles the end of its context."""


def drawn_anew(tokenizer: Tokenizer) -> list[Tokenizer]:
    """The tokenizer with other seeds, so that there are :data:`DRAWS` with it; none of one that does not draw."""
    options = vars(tokenizer).get("options")
    if options is None or "seed" not in type(options).model_fields:
        return []
    if getattr(options, "ties", "random") != "random" or getattr(options, "dropout", 0.5) in (0, 1):
        return []
    state = tokenizer.__getstate__()
    seeds = ((options.seed + number) % 2**64 for number in range(1, DRAWS))
    return [Tokenizer(**state | {"options": options.model_copy(update={"seed": seed})}) for seed in seeds]
