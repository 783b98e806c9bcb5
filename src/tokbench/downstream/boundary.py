"""Where a context ends and a choice begins, for every tokenizer.

A causal language model with a tokenizer gives probabilities to sequences of tokens, not to texts. Harnesses take a
choice's tokens to be those of the whole text after as many as the context has by itself, which holds only when
the context's own tokens open the whole's. A tokenizer that merges across spaces, or that segments by looking ahead,
breaks this: a token may straddle the boundary, and tokens before it may change too.

**Choices after one context.** What is sound for any tokenizer is to compare the choices of a question by the
probability of the whole text as the tokenizer writes it, p(tokens of context + choice): by Bayes' rule it ranks the
choices as p(choice | context) does, the context being common. Tokens that open every choice's sequence alike cancel
out, so it is enough to score what comes after them. This module therefore cuts **all** choices of a question after the
same tokens: the longest run that opens the context's own tokens and every choice's whole sequence. Differences between
scores are then exactly log p(whole) differences. Where nothing straddles this is the usual score, number for number; a
cut at each choice's own last common token would instead charge some choices for context tokens that others get free.

**Contexts that differ, or a single choice** (Winograd schemas scored by their endings; LAMBADA). Here the context's
probability does not cancel out. If something straddles in such a question, every one of its choices is scored by
log p(whole) - log p(text begins with the context), the latter summed over the ways of writing the context that end at
its end or in a token that reaches beyond it, as in :mod:`tokbench.downstream.coverings`. If nothing does, the usual
score stands.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile

Encode = Callable[[str], Sequence[int]]


@dataclass(frozen=True, slots=True)
class EncodedChoices:
    """The choices that follow one context, in tokens.

    Attributes:
        alone: ids of the context by itself, without white space at its end.
        context: ids that open every choice's sequence; the condition.
        continuations: for each choice, the ids that are scored; never empty for a choice that is not.
        straddling: for each choice, whether the context's own tokens do not open the whole's.
    """

    alone: list[int]
    context: list[int]
    continuations: list[list[int]]
    straddling: list[bool]


def encode_choices(encode: Encode, context: str, choices: Sequence[str]) -> EncodedChoices:
    """Encode the choices that follow one context, cut so that their scores compare.

    White space that ends the context counts with the choices, as in lm-eval: models write it before the next word.

    Args:
        encode: text to ids, without special tokens.
        context: may be empty.
        choices: texts that follow, with the space before them.
    """
    alone = list(encode(context.rstrip()))
    wholes = [list(encode(context + choice)) for choice in choices]
    common = [common_prefix(alone, whole) for whole in wholes]
    cut = min(common)
    straddling = [length < len(alone) for length in common]
    return EncodedChoices(alone, alone[:cut], [whole[cut:] for whole in wholes], straddling)


def common_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    """How many tokens two sequences have in common from the start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))
