"""BPE-WP: the vocabulary of BPE in WordPiece's forms, for inference by longest prefix.

The second baseline of "ByteSpan: Information-Driven Subword Tokenisation", section 3: what its seeding method learns
with no seeds. Tokens that start a pre-token are kept apart from those inside it, and the base vocabulary has every byte
three times.

Reference: :mod:`tokbench.reference.bytespan`, in its function ``bpe``.
"""

from collections.abc import Sequence

import numpy as np
from pydantic import Field

from tokbench.candidates.alphabet import cut_by_longest_match
from tokbench.candidates.initial import MAX_BYTES, check_bytes
from tokbench.construction import construction
from tokbench.errors import TokbenchError
from tokbench.kernels.bpe import train
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.vocabulary import BYTES, Vocabulary

Form = tuple[bytes, bool]
"""The bytes of a token, and whether it stands inside a pre-token."""

ALPHABET: tuple[Form, ...] = (
    *((byte, False) for byte in BYTES),
    *((byte, True) for byte in BYTES),
    *((b" " + byte, False) for byte in BYTES),
)
"""The base vocabulary: each byte plain, as continuation, and after a word's space."""


class BpeWpOptions(Options):
    min_pair_count: int = Field(20, ge=0)
    """Pairs seen less often than this are not merged."""

    max_token_bytes: int | None = Field(None, ge=2)
    """Longest token, in bytes; no limit when absent."""


@construction(
    "bpe_wp",
    options=BpeWpOptions,
    segmentation="longest_prefix",
    alphabet=len(ALPHABET),
    continuation=True,
    cites=("goriely2025",),
)
def build(counts: PretokenCounts, size: int, options: BpeWpOptions, *, seed: int = 0, threads: int = 1) -> Vocabulary:
    """The base vocabulary of 768, then the merges of BPE until there are ``size`` tokens.

    A pre-token starts as bytes in their forms, its space and first letter together. Of equal counts the pair of the
    lowest ids is merged. Fewer tokens come back when no pair is left that is frequent enough. ``seed`` and ``threads``
    are not used.

    Raises:
        TokbenchError: ``size`` is below 768, or the unique pre-tokens come to 2 GiB or more.
    """
    check_size(size)
    return vocabulary_of(merged(counts, ALPHABET, size, options.min_pair_count, options.max_token_bytes))


def check_size(size: int) -> None:
    """Reject a size that the base vocabulary alone exceeds.

    Raises:
        TokbenchError: ``size`` is below 768.
    """
    if size < len(ALPHABET):
        raise TokbenchError(f"vocabulary size {size} is below ByteSpan's base vocabulary; ask for 768 or more")


def merged(
    counts: PretokenCounts, forms: Sequence[Form], size: int, min_pair_count: int, max_token_bytes: int | None = None
) -> list[Form]:
    """Go on with BPE from a vocabulary: pre-tokens cut into its forms by longest prefix, then merged.

    Raises:
        TokbenchError: the unique pre-tokens come to 2 GiB or more.
    """
    check_bytes(counts, "bpe_wp")
    grown = list(forms)
    start = vocabulary_of(grown)
    text, offsets = cut_by_longest_match(counts, start.tokens, start.continuation)
    pairs = train(
        text,
        offsets,
        counts.counts,
        np.arange(len(start), dtype=np.int64),
        np.array([len(token) for token in start.tokens], np.int64),
        size,
        min_pair_count,
        max_token_bytes or MAX_BYTES,
    )
    for left, right in pairs.tolist():
        (text_left, inside), (text_right, _) = grown[left], grown[right]
        grown.append((text_left + text_right, inside))
    return grown


def vocabulary_of(forms: Sequence[Form]) -> Vocabulary:
    """Forms as a vocabulary, in their order."""
    return Vocabulary(
        tuple(text for text, _ in forms), continuation=np.array([inside for _, inside in forms], np.bool_)
    )
