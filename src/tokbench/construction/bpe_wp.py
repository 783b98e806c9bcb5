"""BPE-WP: a BPE vocabulary in WordPiece's forms, for inference by longest prefix.

The second baseline of "ByteSpan: Information-Driven Subword Tokenisation", section 3. It equals ByteSpan's seeding
method without seeds. Tokens at the start of a pre-token are distinct from those inside one. The base vocabulary
contains every byte three times.

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
"""Bytes of a token, and True if it occurs inside a pre-token, False if at its start."""

ALPHABET: tuple[Form, ...] = (
    *((byte, False) for byte in BYTES),
    *((byte, True) for byte in BYTES),
    *((b" " + byte, False) for byte in BYTES),
)
"""Base vocabulary: each byte at the start of a pre-token, inside one, and after a word's space."""


class BpeWpOptions(Options):
    min_pair_count: int = Field(20, ge=0)
    """Smallest count of a pair that is merged."""

    max_token_bytes: int | None = Field(None, ge=2)
    """Longest token, in bytes. Default: no limit."""


@construction(
    "bpe_wp",
    options=BpeWpOptions,
    segmentation="longest_prefix",
    alphabet=len(ALPHABET),
    continuation=True,
    cites=("goriely2025",),
)
def build(counts: PretokenCounts, size: int, options: BpeWpOptions, *, seed: int = 0, threads: int = 1) -> Vocabulary:
    """Extend the base vocabulary of 768 tokens by BPE merges until there are ``size`` tokens.

    A pre-token starts as bytes in their forms, with its space and first letter joined. Of equally frequent pairs the
    one with the lowest ids is merged. Fewer than ``size`` tokens are returned if no pair is frequent enough. ``seed``
    and ``threads`` are not used.

    Raises:
        TokbenchError: ``size`` is below 768, or the unique pre-tokens have 2 GiB or more.
    """
    check_size(size)
    return vocabulary_of(continue_merges(counts, ALPHABET, size, options.min_pair_count, options.max_token_bytes))


def check_size(size: int) -> None:
    """Reject a size that is smaller than the base vocabulary.

    Raises:
        TokbenchError: ``size`` is below 768.
    """
    if size < len(ALPHABET):
        raise TokbenchError(f"vocabulary size {size} is below ByteSpan's base vocabulary; ask for 768 or more")


def continue_merges(
    counts: PretokenCounts, forms: Sequence[Form], size: int, min_pair_count: int, max_token_bytes: int | None = None
) -> list[Form]:
    """Continue BPE from a given vocabulary: split pre-tokens into its forms by longest prefix, then merge pairs.

    Returns:
        The given forms, then the merged ones in order of creation, at most ``size`` in total.

    Raises:
        TokbenchError: the unique pre-tokens have 2 GiB or more.
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
    """Return the forms as a vocabulary in the same order."""
    return Vocabulary(
        tuple(text for text, _ in forms), continuation=np.array([inside for _, inside in forms], np.bool_)
    )
