"""The encodings that OpenAI publishes, told by their ranks: which special tokens they have, as no file of ranks says.

Ids and checksums are those that its package ``tiktoken`` 0.14 names. By the pattern alone no encoding is told: other
people's ranks are cut by the same patterns.
"""

import base64
import hashlib
from collections.abc import Mapping
from typing import NamedTuple

END, PROMPT = "<|endoftext|>", "<|endofprompt|>"
FILL = "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"


class Ranks(NamedTuple):
    """A file of ranks.

    Attributes:
        size: how many.
        sha256: of its lines.
    """

    size: int
    sha256: str


R50K = Ranks(50256, "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930")
P50K = Ranks(50280, "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069")
CL100K = Ranks(100256, "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7")
O200K = Ranks(199998, "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d")
RANKS = {
    "gpt2": R50K,
    "r50k_base": R50K,
    "p50k_base": P50K,
    "p50k_edit": P50K,
    "cl100k_base": CL100K,
    "o200k_base": O200K,
    "o200k_harmony": O200K,
}
"""Encodings by name; of those with equal ranks the one first whose special tokens the others have, too."""


def special_tokens_of(encoding: str) -> dict[str, int]:
    """The special tokens of an encoding, with their ids."""
    names = {
        "gpt2": {50256: END},
        "r50k_base": {50256: END},
        "p50k_base": {50256: END},
        "p50k_edit": {50256: END, **dict(enumerate(FILL, 50281))},
        "cl100k_base": {100257: END, **dict(enumerate(FILL, 100258)), 100276: PROMPT},
        "o200k_base": {199999: END, 200018: PROMPT},
        "o200k_harmony": _harmony(),
    }
    return {name: number for number, name in names[encoding].items()}


def _harmony() -> dict[int, str]:
    """Those of gpt-oss: what has no meaning yet is reserved."""
    told = {199998: "startoftext", 199999: "endoftext", 200002: "return", 200003: "constrain", 200005: "channel"}
    told |= {200006: "start", 200007: "end", 200008: "message", 200012: "call", 200018: "endofprompt"}
    return {one: f"<|{told.get(one, f'reserved_{one}')}|>" for one in range(199998, 201088)}


def encoding_of(ranks: Mapping[bytes, int], pattern: str | None) -> str | None:
    """The encoding whose ranks these are; None where they are none of these.

    Args:
        ranks: tokens with their ranks, by rank.
        pattern: the name of a pattern, which tells apart encodings of equal ranks.
    """
    if len(ranks) not in {known.size for known in RANKS.values()}:
        return None
    lines = b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items())
    found = Ranks(len(ranks), hashlib.sha256(lines).hexdigest())
    names = [name for name, known in RANKS.items() if known == found]
    return pattern if pattern in names else next(iter(names), None)
