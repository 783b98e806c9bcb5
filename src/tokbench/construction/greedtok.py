"""GreedTok: take, again and again, the substring that joins the most bytes of the text.

Lim, Choo and Lauw, "A partition cover approach to tokenization" (2025), section 4.3 and appendix D. A pre-token starts
as its bytes, with a cut between every two. A token takes a place where cuts stand at both ends and clears the cuts
inside, each as often as the pre-token occurs; of places that overlap the first is taken. Ties, which the paper leaves
open, go to the shorter token, then to the lesser bytes: that gives its tokens per word.

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
"""A kernel's ``choose``."""


class GreedTokOptions(Options):
    max_token_bytes: int | None = Field(None, ge=2)
    """Longest token, in bytes; no limit when absent. Set it where long pre-tokens are alike: the time grows with
    their bytes times the longest substring that they share, and a whole document is a substring, too."""

    min_word_count: int = Field(1, ge=1)
    """Pre-tokens seen less often than this are left out of account."""

    candidates: Path | None = None
    """File of the tokens to choose from, one in hexadecimal a line; all substrings of the pre-tokens when absent."""


@construction("greedtok", options=GreedTokOptions, segmentation="cover", cites=("lim2025",))
def build(
    counts: PretokenCounts, size: int, options: GreedTokOptions, *, seed: int = 0, threads: int = 1
) -> Vocabulary:
    """Choose substrings where cuts stand at both their ends, until there are ``size`` tokens, the 256 bytes included.

    Args:
        counts: pre-tokens; no token crosses them.
        size: tokens wanted. Fewer are returned when nothing more can be joined.
        options: what to choose from.
        seed: not used; nothing is random.
        threads: threads to use; the result does not depend on them.

    Returns:
        The 256 bytes, then the tokens in order of choice, which is the order in which segmentation applies them.

    Raises:
        TokbenchError: ``size`` is below 256, the unique pre-tokens come to 2 GiB or more, or the file of candidates
            cannot be read.
    """
    return Vocabulary(BYTES + choose_tokens(counts, size, options, choose, threads)[0])


def choose_tokens(
    counts: PretokenCounts, size: int, options: GreedTokOptions, choose: Choice, threads: int = 1
) -> tuple[tuple[bytes, ...], NDArray[np.int64]]:
    """The tokens beside the 256 bytes that are chosen by GreedTok's kernel, or by another of the same form.

    Returns:
        The tokens in order of choice; int64 [tokens], the tokens fewer that each leaves of the text.

    Raises:
        TokbenchError: as :func:`build`.
    """
    check_size(size)
    check_bytes(counts, "greedtok")
    limit = options.max_token_bytes or MAX_BYTES
    data, offsets, weights = frequent(counts, options.min_word_count)
    if options.candidates is None:
        suffixes, groups = distinct_substrings(data, offsets, limit, threads)
    else:
        wanted = sorted({token for token in read_tokens(options.candidates) if 1 < len(token) <= limit})
        ends = np.fromiter(chain([0], map(len, wanted)), np.int64).cumsum()
        suffixes, _ = distinct_substrings(data, offsets, max(map(len, wanted), default=1), threads)
        groups = occurrences_of(data, offsets, suffixes, np.frombuffer(b"".join(wanted), np.uint8), ends)
    if len(groups) > MAX_BYTES:
        raise TokbenchError(f"greedtok: more than {MAX_BYTES} groups of substrings to choose from; set max_token_bytes")
    rows = choose(data, offsets, weights, suffixes, groups, size - len(BYTES), threads)
    text = data.tobytes()
    return tuple(text[start:end] for start, end, _ in rows.tolist()), rows[:, 2]


def frequent(counts: PretokenCounts, least: int) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """Data, offsets and counts of the pre-tokens that occur at least ``least`` times."""
    kept = counts.counts >= least
    if kept.all():
        return counts.data, counts.offsets, counts.counts
    lengths = np.diff(counts.offsets)
    offsets = np.concatenate([[0], lengths[kept].cumsum()])
    return counts.data[np.repeat(kept, lengths)], offsets, counts.counts[kept]
