"""Probability that a text begins with a context, summed over tokenizations; scores of choices for every tokenizer.

A causal language model with a tokenizer assigns probabilities to token sequences, not to texts. Evaluation harnesses
take the tokens of a choice to be those of the full text after the number of tokens of the context. This is correct only
if the context's own tokens are a prefix of those of the full text. It fails for a tokenizer that merges across spaces
or segments by looking ahead: a token may straddle the boundary, and earlier tokens may change, too.

The score of a choice is log p(tokens of context and choice) - log p(context). If the context's own tokens are a prefix
for every choice of a question, p(context) is the probability of these tokens, and the score equals the usual one
exactly. Otherwise p(context) is, for every choice of the question, the summed probability of all coverings of the
context. Other remedies are not sound. A cut at each choice's own last common token charges only some choices for the
end of the context. One cut for all choices includes that end in every score, and a score per character divides it by
the length of the choice only.

A covering of a context is a token sequence that begins with the context's text and whose last token ends at the
context's end or beyond it. The sum is over all coverings that the tokenizer could produce (Phan et al., "Exact
byte-level probabilities from tokenized language models for FIM-tasks and model ensembles", 2024). Their coverings are
the context's own tokens and, for each position in it, the tokens of the text before the position, followed by a longer
token that begins with the rest. The tokenizer does not produce all of these, because merges may join the beginning of
that token to the text before it. Each one is therefore tested: a text that ends with it is encoded, and it counts if
the result equals it. The covering that the result contains counts as well.

For merges, longest matches and best paths without look-ahead in the pre-tokenization, the first tokens of any text are
the tokens of what they spell. For such tokenizers the counted coverings are exactly the possible ones. For other
tokenizers all counted coverings are possible, but some may be missing.

The bytes of the tokens of an external tokenizer library are unknown, so it has no coverings. There one cut is used for
all choices of a question. The order of choices, and accuracy, are then as with p(context), unless scores are divided by
length or the context differs between choices.

Scores of a stochastic tokenizer are means over draws.
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
LogProbabilities = NDArray[np.float64]
"""[positions, vocabulary] in nats: row i for the token after the first i tokens."""
Coverings = dict[Ids, list[int]]
"""Tokens before the last one -> possible last tokens, ascending."""
DRAWS = 8
"""Number of draws that scores are averaged over if a choice straddles the end of its context."""


@dataclass(frozen=True, slots=True)
class EncodedChoices:
    """Choices after one context, as tokens.

    Attributes:
        alone: ids of the context without trailing white space.
        wholes: ids of the context with each choice.
        straddling: for each choice, True if the context's own tokens are not a prefix of these ids.
    """

    alone: Ids
    wholes: list[Ids]
    straddling: list[bool]


def encode_choices(encode: Encode, context: str, choices: Sequence[str]) -> EncodedChoices:
    """Encode the choices after one context.

    Trailing white space of the context belongs to the choices, as in lm-eval: models predict it before the next word.

    Args:
        encode: function from text to ids, without special tokens.
        context: the context, which may be empty.
        choices: texts that follow, including the space before them.
    """
    alone = tuple(encode(context.rstrip()))
    wholes = [tuple(encode(context + choice)) for choice in choices]
    return EncodedChoices(alone, wholes, [whole[: len(alone)] != alone for whole in wholes])


def common_prefix(sequences: Sequence[Ids]) -> int:
    """Return the length of the longest common prefix of one or more sequences."""
    pairs = zip(min(sequences), max(sequences), strict=False)  # Sequences between these two share their common prefix.
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


class Spellings:
    """Tokens of a vocabulary, searchable by their bytes.

    Attributes:
        tokens: bytes of each id.
        longest: length of the longest token in bytes.
        ordered: all tokens with bytes, sorted.
        ids: their ids.
    """

    def __init__(self, tokens: Sequence[bytes]) -> None:
        """Sort the tokens.

        Args:
            tokens: bytes of each id; empty for ids that no text yields. Special tokens after them are left out.
        """
        self.tokens = tokens
        self.longest = max(map(len, tokens), default=0)
        self.ids = sorted(filter(tokens.__getitem__, range(len(tokens))), key=tokens.__getitem__)
        self.ordered = [tokens[id] for id in self.ids]

    def length(self, ids: Iterable[int]) -> int:
        """Return the number of bytes that a token sequence spells."""
        return sum(len(self.tokens[id]) for id in ids)

    def within(self, ids: Sequence[int], length: int) -> int:
        """Return the number of initial tokens that end within ``length`` bytes."""
        for count, id in enumerate(ids):
            length -= len(self.tokens[id])
            if length < 0:
                return count
        return len(ids)

    def beginning(self, text: bytes) -> list[int]:
        """Return the ids of tokens that begin with a text, including the text, in byte order."""
        first = last = bisect_left(self.ordered, text)
        while last < len(self.ordered) and self.ordered[last].startswith(text):
            last += 1
        return self.ids[first:last]

    def beyond(self, text: bytes) -> list[int]:
        """Return the ids of tokens that begin with a text and are longer."""
        return [id for id in self.beginning(text) if len(self.tokens[id]) > len(text)]

    def agreeing(self, text: bytes) -> list[int]:
        """Return the ids of tokens that begin with a text or are a prefix of it."""
        return self.opening(text[:-1]) + self.beginning(text)

    def opening(self, text: bytes) -> list[int]:
        """Return the ids of tokens that are a prefix of a text, shortest first."""
        openings = (text[:length] for length in range(1, min(len(text), self.longest) + 1))
        return [id for part in openings for id in self._spelling(part)]

    def _spelling(self, text: bytes) -> list[int]:
        return self.ids[bisect_left(self.ordered, text) : bisect_right(self.ordered, text)]


def coverings(
    spellings: Spellings, encode: Encode, context: bytes, wholes: Iterable[Ids], settled: int = 0
) -> tuple[Coverings, Coverings]:
    """Return the coverings of a context that some encoded text has, and the theoretical ones that none has.

    Args:
        spellings: the vocabulary.
        encode: function from text to ids.
        context: the context. An empty one has no coverings.
        wholes: tokens of texts that begin with the context.
        settled: position in the context at which a token ends for every continuation. Texts before and after it can be
            encoded separately. Default: 0, which is always valid.

    Returns:
        Each as tokens before the last one -> possible last tokens, ascending.
    """
    written: defaultdict[Ids, set[int]] = defaultdict(set)
    tried: defaultdict[Ids, set[int]] = defaultdict(set)
    if not context:
        return {}, {}
    head = tuple(encode(context[:settled]))
    for whole in (tuple(encode(context)), *wholes):
        count = spellings.within(whole, len(context) - 1)
        written[whole[:count]].add(whole[count])
    for place in range(max(settled, len(context) - spellings.longest + 1), len(context)):
        opening = context[settled:place]
        before = (*head, *encode(opening))
        for last in spellings.beyond(context[place:]):
            tried[before].add(last)
            ids = tuple(encode(opening + spellings.tokens[last]))
            count = spellings.within(ids, len(context) - settled - 1)
            written[*head, *ids[:count]].add(ids[count])
    unwritten = {before: last - written.get(before, set()) for before, last in tried.items()}
    return _ordered(written), _ordered(unwritten)


def _ordered(lasts: Mapping[Ids, set[int]]) -> Coverings:
    return {before: sorted(last) for before, last in lasts.items() if last}


def log_covered(ways: Mapping[Ids, list[int]], given: Callable[[Ids], LogProbabilities]) -> float:
    """Return the logarithm of the summed probability of some coverings; minus infinity for none.

    Args:
        ways: coverings in the form of :func:`coverings`.
        given: function to the next token's log-probabilities after each prefix of a sequence, including all of it.
    """
    terms = [
        log_probability(before, given(before)) + log_sum(given(before)[len(before), last])
        for before, last in ways.items()
    ]
    return log_sum(np.array(terms)) if terms else -math.inf


def log_sum(logs: NDArray[np.float64]) -> float:
    """Return the logarithm of the sum of one or more numbers that are given by their logarithms."""
    largest = float(logs.max())
    return largest + float(logs_of(exact_sum(exponentials_of(logs - largest)))) if np.isfinite(largest) else largest


def log_probability(ids: Ids, given: LogProbabilities) -> float:
    """Return the logarithm of the probability of a token sequence."""
    return math.fsum(float(given[position, token]) for position, token in enumerate(ids))


def greedy(spellings: Spellings, context: bytes, cut: int, whole: Ids, given: LogProbabilities) -> bool:
    """Return True if greedy decoding yields the tokens of the full text from the cut on.

    Until the end of the context, only tokens that agree with it may be chosen. Without straddling this is lm-eval's
    rule.

    Args:
        spellings: the vocabulary.
        context: the known bytes.
        cut: number of known tokens of the full text.
        whole: the tokens of the full text.
        given: the next token's log-probabilities after each prefix of ``whole``.
    """
    known = context[spellings.length(whole[:cut]) :]
    for position in range(cut, len(whole)):
        allowed = spellings.agreeing(known) if known else np.arange(given.shape[1])
        if allowed[int(given[position, allowed].argmax())] != whole[position]:
            return False
        known = known[len(spellings.tokens[whole[position]]) :]
    return True


def resampled(tokenizer: Tokenizer) -> list[Tokenizer]:
    """Return the tokenizer with other seeds, :data:`DRAWS` - 1 times; an empty list if it is deterministic."""
    options = tokenizer.__getstate__().get("options")
    if options is None or "seed" not in type(options).model_fields:
        return []
    if getattr(options, "ties", "random") != "random" or getattr(options, "dropout", 0.5) in (0, 1):
        return []
    state = tokenizer.__getstate__()
    seeds = ((options.seed + number) % 2**64 for number in range(1, DRAWS))
    return [Tokenizer(**state | {"options": options.model_copy(update={"seed": seed})}) for seed in seeds]
