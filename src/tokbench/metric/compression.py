"""Compression: token count of a text, and bytes per token."""

from tokbench.metric import Shown, metric
from tokbench.metric.measurement import Measurement, ratio
from tokbench.metric.usage import EncodedText, Usage

NO_TOKENS = "the text has no tokens"


@metric(
    "compression",
    per_language=True,
    of_ids=True,
    cites=("schmidt2024",),
    better={
        "corpus_token_count": "lowest",
        "relative_corpus_token_count": "lowest",
        "gap": "lowest",
        "bytes_per_token": "highest",
    },
    over_the_same=("gap",),
    shown=(
        Shown("corpus_token_count", "compression", "tokens"),
        Shown("relative_corpus_token_count", "compression", "tokens / baseline's"),
        Shown("gap", "compression", "gap to the optimum"),
        Shown("bytes_per_token", "compression", "bytes per token"),
    ),
)
def compression(usage: Usage | EncodedText, options: object) -> list[Measurement]:
    """Return corpus token count, and bytes per token.

    The corpus token count (CTC; "Tokenization Is More Than Compression", section 3) excludes end-of-text tokens.
    """
    total = usage.total
    return [
        Measurement("corpus_token_count", "tokens of the text, without end-of-text tokens", float(total), total),
        ratio("bytes_per_token", "bytes of the text / tokens", usage.total_bytes, total, NO_TOKENS),
    ]
