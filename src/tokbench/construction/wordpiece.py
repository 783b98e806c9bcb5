"""WordPiece: merges of word pieces, with separate pieces for the start and the inside of a pre-token.

Schuster and Nakajima, "Japanese and Korean Voice Search" (2012), section 3, choose the merge that raises the likelihood
of a unigram model of the text most: count(ab) / (count(a) count(b)). The trainer of Hugging Face ``tokenizers``, which
built most published WordPiece vocabularies, chooses the most frequent pair instead: BPE on pieces marked ``##``.

Reference: ``train_wordpiece`` in :mod:`tokbench.reference.bpe`.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tokbench.candidates.initial import MAX_BYTES, check_bytes
from tokbench.candidates.reserved import ReservedOptions, without_reserved
from tokbench.construction import construction
from tokbench.errors import TokbenchError
from tokbench.kernels.bpe import train as train_by_frequency
from tokbench.kernels.wordpiece import train as train_by_likelihood
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer.hugging_face import spelling_ranks
from tokbench.vocabulary import BYTES, Vocabulary

ALPHABET = 2 * len(BYTES)


class WordPieceOptions(ReservedOptions):
    objective: Literal["frequency", "likelihood"] = "frequency"
    """Pair that is merged: the most frequent (``frequency``, default), or the one with the greatest count(ab) /
    (count(a) count(b))."""

    min_pair_count: int = Field(0, ge=0)
    """Smallest count of a pair that is merged. The likelihood favours rare pairs, so raise it there."""

    max_token_bytes: int | None = Field(None, ge=2)
    """Longest token, in bytes. Default: no limit."""


@construction(
    "wordpiece",
    options=WordPieceOptions,
    segmentation="longest_prefix",
    alphabet=ALPHABET,
    continuation=True,
    cites=("schuster2012",),
)
def build(
    counts: PretokenCounts, size: int, options: WordPieceOptions, *, seed: int = 0, threads: int = 1
) -> Vocabulary:
    """Merge pieces until there are ``size`` of them, including the alphabet of 512: each byte in both forms.

    The space before a word is the first byte of its pre-token like any other. If the pre-tokenization keeps it there,
    first pieces of words start with it, and ``the`` after a space differs from ``the`` at the start of a line. No text
    has an unknown piece, even if its words are long.

    Args:
        counts: pre-tokens. No merge crosses their boundaries.
        size: number of tokens wanted. Fewer are returned if no pair is left to merge.
        options: objective and limits on the merges.
        seed: not used; nothing is random.
        threads: not used; training is single-threaded.

    Returns:
        The bytes at the start of a pre-token, the bytes inside one, then pieces in order of creation, with
        ``continuation``. Ties are those of BPE, with bytes at the start of a pre-token first. Under the likelihood
        objective, the more frequent of equally scored pairs comes first.

    Raises:
        TokbenchError: ``size`` is below 512, or the unique pre-tokens have 2 GiB or more.
    """
    if size < ALPHABET:
        raise TokbenchError(f"vocabulary size {size} is below WordPiece's alphabet of {ALPHABET}; ask for more")
    check_bytes(counts, "wordpiece")
    counts = without_reserved(counts, options.reserved, "wordpiece")
    ranks = np.concatenate([spelling_ranks(), len(BYTES) + spelling_ranks()])
    text, longest = mark_inner_bytes(counts), options.max_token_bytes or MAX_BYTES
    if options.objective == "frequency":
        lengths = np.ones(ALPHABET, np.int64)
        pairs = train_by_frequency(
            text, counts.offsets, counts.counts, ranks, lengths, size, options.min_pair_count, longest
        )
    else:
        pairs = train_by_likelihood(text, counts.offsets, counts.counts, ranks, size, options.min_pair_count, longest)
    tokens = [*BYTES, *BYTES]
    inside = [False] * len(BYTES) + [True] * len(BYTES)
    for left, right in pairs.tolist():
        tokens.append(tokens[left] + tokens[right])
        inside.append(inside[left])
    return Vocabulary(tuple(tokens), continuation=np.array(inside, np.bool_))


def mark_inner_bytes(counts: PretokenCounts) -> NDArray[np.int32]:
    """Return int32 [bytes of the unique pre-tokens]: each byte, plus 256 unless it starts a pre-token."""
    text = counts.data.astype(np.int32) + len(BYTES)
    text[counts.offsets[:-1]] -= len(BYTES)
    return text
