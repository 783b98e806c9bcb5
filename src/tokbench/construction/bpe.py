"""BPE: merge the most frequent pair of adjacent tokens until the vocabulary is full.

Algorithm 1 of Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword Units" (2016), on
bytes. The choice of the pair, including ties, follows the trainer of Hugging Face ``tokenizers``: the greatest count,
then the smallest (left, right). Bytes rank by the code point of their printable character in GPT-2. Merged tokens
follow in order of creation.

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
    """Symbols that merging starts from: the bytes, or the characters of the text, which are then built before any merge
    is learnt."""

    character_coverage: float = Field(0.9995, gt=0, le=1)
    """For the character alphabet: share of the text's characters that get a token. The rarest remain bytes."""

    min_pair_count: int = Field(0, ge=0)
    """Smallest count of a pair that is merged."""

    max_token_bytes: int | None = Field(None, ge=2)
    """Longest token, in bytes. Default: no limit."""


@construction("bpe", options=BpeOptions, segmentation="merge", gives_initial=True, cites=("sennrich2016",))
def build(counts: PretokenCounts, size: int, options: BpeOptions, *, seed: int = 0, threads: int = 1) -> Vocabulary:
    """Merge the most frequent pairs until there are ``size`` tokens, including the alphabet.

    The character alphabet is the 256 bytes, then the characters of two or more bytes, by descending count, then bytes.
    Each character is built by merging its bytes from the left. These merges precede all learnt ones. A character of
    three or four bytes therefore adds its first two or three bytes as tokens, unless they already exist.

    Args:
        counts: pre-tokens. No merge crosses their boundaries.
        size: number of tokens wanted. Fewer are returned if no pair is left to merge.
        options: alphabet and limits on the merges.
        seed: not used; nothing is random.
        threads: not used; training is single-threaded.

    Returns:
        Tokens in order of creation, with the merges that created them, int32 [tokens - 256, 3].

    Raises:
        TokbenchError: the unique pre-tokens have 2 GiB or more, or the alphabet is larger than ``size``.
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
