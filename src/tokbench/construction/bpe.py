"""BPE: merge the most frequent pair of adjacent tokens until the vocabulary is full.

Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword Units" (2016), algorithm 1, on
bytes. Which pair is merged, ties included, is what the trainer of Hugging Face ``tokenizers`` decides: the greatest
count, then the smallest (left, right), where the bytes rank by the code point of their printable character in GPT-2
and merged tokens follow in order of creation.

Reference: :mod:`tokbench.reference.bpe`.
"""

from typing import Literal

import numpy as np
from pydantic import Field

from tokbench.candidates.alphabet import character_merges, cut_by_longest_match
from tokbench.candidates.initial import MAX_BYTES, check_alphabet, check_bytes
from tokbench.construction import construction
from tokbench.kernels.bpe import train
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer.hugging_face import spelling_ranks
from tokbench.vocabulary import BYTES, Vocabulary


class BpeOptions(Options):
    alphabet: Literal["byte", "character"] = "byte"
    """What merging starts from: the bytes, or the characters of the text, made before anything is learnt."""

    character_coverage: float = Field(0.9995, gt=0, le=1)
    """For the character alphabet: share of the text's characters that are made whole; the rarest are left in bytes."""

    min_pair_count: int = Field(0, ge=0)
    """Pairs seen less often than this are not merged."""

    max_token_bytes: int | None = Field(None, ge=2)
    """Longest token, in bytes; no limit when absent."""


@construction("bpe", options=BpeOptions, segmentation="merge", gives_initial=True, cites=("sennrich2016",))
def build(counts: PretokenCounts, size: int, options: BpeOptions, *, seed: int = 0, threads: int = 1) -> Vocabulary:
    """Merge the most frequent pairs until there are ``size`` tokens, the alphabet included.

    The character alphabet is the 256 bytes, then the characters of two bytes or more, by count descending, then
    bytes. Each is made by merges of its bytes from the left, which stand before all that are learnt, so a character
    of three or four bytes brings its first two or three bytes as tokens too, where they are not there yet.

    Args:
        counts: pre-tokens; no merge crosses them.
        size: tokens wanted. Fewer are returned when no pair is left to merge.
        options: the alphabet, and limits on what is merged.
        seed: not used; nothing is random.
        threads: not used; training takes one thread.

    Returns:
        Tokens in order of creation, with the merges that made them, int32 [tokens - 256, 3].

    Raises:
        TokbenchError: the unique pre-tokens come to 2 GiB or more, or the alphabet is larger than ``size``.
    """
    check_bytes(counts, "bpe")
    tokens, merges = list(BYTES), np.empty((0, 2), np.int32)
    text, offsets = counts.data.astype(np.int32), counts.offsets
    if options.alphabet == "character":
        tokens, merges = character_merges(counts, options.character_coverage)
        text, offsets = cut_by_longest_match(counts, tokens)
    check_alphabet(tokens, size, "bpe")
    pairs = train(
        text,
        offsets,
        counts.counts,
        np.concatenate([spelling_ranks(), np.arange(256, len(tokens))]),
        np.array([len(token) for token in tokens], np.int64),
        size,
        options.min_pair_count,
        options.max_token_bytes or MAX_BYTES,
    )
    for left, right in pairs.tolist():
        tokens.append(tokens[left] + tokens[right])
    made = np.concatenate([merges, pairs])
    return Vocabulary(tuple(tokens), merges=np.column_stack([made, np.arange(256, 256 + len(made), dtype=np.int32)]))
