"""Which end of an intrinsic metric is the better one, where the field agrees that one is.

Rényi efficiency, token lengths, shares of words and the like have none here: whether more of them is better is what
experiments are to find out.
"""

from typing import Literal

End = Literal["highest", "lowest"]

_ENDS: dict[str, End] = {
    "corpus_token_count": "lowest",
    "relative_corpus_token_count": "lowest",
    "bytes_per_token": "highest",
    "fertility": "lowest",
    "byte_fallback": "lowest",
    "unused_tokens": "lowest",
    "unused_token_share": "lowest",
    "tokens_cutting_characters": "lowest",
    "undertrained_tokens": "lowest",
    "partition_cover_ratio": "highest",
    "parity_range": "lowest",
    "morphological_alignment": "highest",
    "morphological_precision": "highest",
    "morphological_recall": "highest",
    "cognitive_plausibility": "highest",
}


def better_end(metric: str) -> End | None:
    """``highest`` or ``lowest``; None where neither end is better by itself."""
    return _ENDS.get(metric)
