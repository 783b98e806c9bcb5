"""Where a context ends and a choice begins, for every tokenizer.

A causal language model with a tokenizer gives probabilities to sequences of tokens, not to texts. Harnesses take a
choice's tokens to be those of the whole text after as many as the context has by itself, which holds only when
the context's own tokens open the whole's. A tokenizer that merges across spaces, or that segments by looking ahead,
breaks this: a token may straddle the boundary, and tokens before it may change too.

A choice's score is log p(tokens of context and choice) - log p(context). Where the context's own tokens open the whole
of every choice of a question, p(context) is that of these tokens, and the score is the usual one, number for number.
Otherwise p(context) is, for every choice of the question, the probability that what the model writes begins with the
context, in whatever tokens, as in :mod:`tokbench.downstream.coverings`. Other remedies are not sound: a cut at each
choice's own last common token charges some choices for the end of the context that others get free; the same cut for
all leaves that end in every score, and a score by character divides it by the length of the choice alone.

Of a tokenizer that works through another library the bytes of tokens are not known, and no covering is. There the cut
is that same one for all choices of a question: they are ordered as by p(context), which all of them would be divided
by, and so is accuracy, but where a score is divided by length, or where the context differs from choice to choice.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile

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
