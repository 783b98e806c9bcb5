"""Gap of a tokenizer to the lower bound on tokens for any vocabulary of its size."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tokbench.metric.measurement import Measurement
from tokbench.metric.usage import no_pretokens
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer import Tokenizer

DEFINITION = (
    "tokens / those that any vocabulary of the size needs at least for the same pre-tokens, however they are cut "
    "(proven), minus 1"
)
NORMALISED = "it normalises texts, so its pre-tokens are those of another text"


@dataclass(frozen=True)
class LowerBound:
    """A lower bound on the tokens of a text.

    Attributes:
        tokens: tokens that any vocabulary needs at least.
        left_out: count by pre-token, for pre-tokens too long for the bound, which excludes their tokens (default:
            empty).
    """

    tokens: int
    left_out: Mapping[bytes, int] = field(default_factory=dict)

    @classmethod
    def from_result(cls, result: Mapping[str, Any]) -> "LowerBound":
        """Return the bound in a result of ``tokbench bound``.

        Raises:
            ValueError, TypeError: a pre-token is not hexadecimal, or a count is not a number.
        """
        left_out = {bytes.fromhex(word): int(count) for word, count in result["left_out"]["counts"].items()}
        return cls(result["bound"], left_out)

    def tokens_left_out(self, tokenizer: Tokenizer) -> int:
        """Return the tokens that a tokenizer needs for the pre-tokens that are left out."""
        if not self.left_out:
            return 0
        counts = PretokenCounts.from_pairs(self.left_out.items())
        _, bounds = tokenizer.segment(counts)
        return int(np.diff(bounds) @ counts.counts)

    def bytes_left_out(self) -> int:
        """Return the bytes of the pre-tokens that are left out."""
        return sum(len(pretoken) * count for pretoken, count in self.left_out.items())


def gap_of(tokens: float | None, size: int, tokenizer: Tokenizer, bound: LowerBound | None) -> Measurement:
    """Return the relative excess of a text's tokens over the bound; no value but a reason if they are not comparable.

    Args:
        tokens: tokens of the text with the tokenizer; may be None.
        size: vocabulary size of the bound.
        tokenizer: the tokenizer.
        bound: the proven bound; None if there is none.
    """
    if tokenizer.segments_documents:
        return Measurement("gap", DEFINITION, None, 0, no_pretokens(tokenizer))
    if tokenizer.normalization:
        return Measurement("gap", DEFINITION, None, 0, NORMALISED)
    longer = sum(len(token) > 1 for token in tokenizer.vocabulary.tokens)
    reason = None
    if tokenizer.vocabulary.continuation is not None:
        reason = (
            "tokens inside a word count apart from the same letters at its beginning (“##ing” beside “ing”), so that a "
            "vocabulary of this size has fewer different strings than the bound allows for"
        )
    elif bound is None:
        reason = f"no lower bound was proven for pre-tokens by “{tokenizer.scheme.label}” at this size"
    elif longer > max(size - 256, 0):
        reason = (
            f"the vocabulary has {longer:,} tokens of two bytes or more, as it lacks some single bytes; the bound was "
            f"proven for {max(size - 256, 0):,} of them at most"
        )
    elif tokens is None or not bound.tokens:
        reason = "the text has no tokens"
    if reason is not None or bound is None or tokens is None:
        return Measurement("gap", DEFINITION, None, 0, reason)
    counted = tokens - bound.tokens_left_out(tokenizer)
    return Measurement("gap", DEFINITION, counted / bound.tokens - 1, bound.tokens)
