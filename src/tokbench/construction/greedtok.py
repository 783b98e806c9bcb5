"""GreedTok: repeatedly choose the substring that joins the most bytes of the text.

Lim, Choo and Lauw, "A partition cover approach to tokenization" (2025), section 4.3 and appendix D. A pre-token starts
as its bytes, with a cut between every two. A token covers a place if there are cuts at both ends. It removes the cuts
inside, each counted as often as the pre-token occurs. Of overlapping places the first one is covered. The paper does
not define ties. Here the shorter token comes first, then byte order, which reproduces its tokens per word.

Reference: :mod:`tokbench.reference.greedtok`.
"""

from collections.abc import Callable
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tokbench.candidates.initial import MAX_BYTES, check_bytes, check_size
from tokbench.construction import construction
from tokbench.errors import TokbenchError
from tokbench.kernels.greedtok import choose
from tokbench.kernels.substrings import distinct_substrings, occurrences_of
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.vocabulary import BYTES, Vocabulary, read_tokens

Choice = Callable[..., NDArray[np.int64]]
"""A kernel's ``choose`` function."""


class GreedTokOptions(Options):
    max_token_bytes: int | None = Field(None, ge=2)
    """Longest token, in bytes. Default: no limit. Set it if long pre-tokens are similar: time grows with their bytes
    times the longest substring that they share, which may be a full document."""

    min_word_count: int = Field(1, ge=1)
    """Smallest count of a pre-token that is used."""

    candidates: Path | None = None
    """File of candidate tokens, one per line in hexadecimal. Default: all substrings of the pre-tokens."""


@construction("greedtok", options=GreedTokOptions, segmentation="cover", cites=("lim2025",))
def build(
    counts: PretokenCounts, size: int, options: GreedTokOptions, *, seed: int = 0, threads: int = 1
) -> Vocabulary:
    """Choose substrings with cuts at both ends until there are ``size`` tokens, including the 256 bytes.

    Args:
        counts: pre-tokens. No token crosses their boundaries.
        size: number of tokens wanted. Fewer are returned if nothing more can be joined.
        options: candidates and limits.
        seed: not used; nothing is random.
        threads: number of threads. The result does not depend on it.

    Returns:
        The 256 bytes, then the tokens in order of choice. Segmentation applies them in this order.

    Raises:
        TokbenchError: ``size`` is below 256, the unique pre-tokens have 2 GiB or more, or the candidates file is
            unreadable.
    """
    return Vocabulary(BYTES + choose_tokens(counts, size, options, choose, threads)[0])


def choose_tokens(
    counts: PretokenCounts, size: int, options: GreedTokOptions, choose: Choice, threads: int = 1
) -> tuple[tuple[bytes, ...], NDArray[np.int64]]:
    """Choose the tokens after the 256 bytes with GreedTok's kernel or another of the same signature.

    Returns:
        The tokens in order of choice, and int64 [tokens], the number of tokens that each one saves in the text.

    Raises:
        TokbenchError: see :func:`build`.
    """
    check_size(size)
    check_bytes(counts, "greedtok")
    limit = options.max_token_bytes or MAX_BYTES
    data, offsets, weights = frequent(counts, options.min_word_count)
    if options.candidates is None:
        suffixes, groups = distinct_substrings(data, offsets, limit, threads)
    else:
        candidates = sorted({token for token in read_tokens(options.candidates) if 1 < len(token) <= limit})
        ends = np.fromiter(chain([0], map(len, candidates)), np.int64).cumsum()
        suffixes, _ = distinct_substrings(data, offsets, max(map(len, candidates), default=1), threads)
        groups = occurrences_of(data, offsets, suffixes, np.frombuffer(b"".join(candidates), np.uint8), ends)
    if len(groups) > MAX_BYTES:
        raise TokbenchError(f"greedtok: more than {MAX_BYTES} groups of substrings to choose from; set max_token_bytes")
    rows = choose(data, offsets, weights, suffixes, groups, size - len(BYTES), threads)
    text = data.tobytes()
    return tuple(text[start:end] for start, end, _ in rows.tolist()), rows[:, 2]


def frequent(counts: PretokenCounts, least: int) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """Return data, offsets and counts of the pre-tokens that occur at least ``least`` times."""
    is_frequent = counts.counts >= least
    if is_frequent.all():
        return counts.data, counts.offsets, counts.counts
    lengths = np.diff(counts.offsets)
    offsets = np.concatenate([[0], lengths[is_frequent].cumsum()])
    return counts.data[np.repeat(is_frequent, lengths)], offsets, counts.counts[is_frequent]
