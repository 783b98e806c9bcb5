"""BPE: merge the most frequent pair of adjacent tokens until the vocabulary is full.

Algorithm 1 of Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword Units" (2016), on
bytes. The choice of the pair, including ties, follows the trainer of Hugging Face ``tokenizers``: the greatest count,
then the smallest (left, right). Bytes rank by the code point of their printable character in GPT-2. Merged tokens
follow in order of creation.

With ``alphabet: grapheme`` it is "grapheme pair encoding" of Velayuthan and Sarveswaran, "Egalitarian Language
Representation in Language Models: It All Begins with Tokenizers" (2025): merging starts from the extended
grapheme clusters of Unicode Standard Annex 29. The paper takes all clusters of the text (``character_coverage: 1``) and
has no token for others; here these begin with smaller clusters of the alphabet, at last with bytes.

Reference: :mod:`tokbench.reference.bpe`.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from tokbench.candidates.alphabet import character_merges, covering_clusters, cut_by_longest_match
from tokbench.candidates.initial import MAX_BYTES, check_alphabet, check_bytes
from tokbench.candidates.reserved import ReservedOptions, String, require_pretokens, without_reserved
from tokbench.construction import construction
from tokbench.errors import TokbenchError
from tokbench.kernels.bpe import train
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer.hugging_face import spelling_ranks
from tokbench.vocabulary import BYTES, Vocabulary


class MergeOptions(ReservedOptions):
    alphabet: Literal["byte", "character", "grapheme"] = "byte"
    """Symbols that merging starts from: the bytes; the characters of the text, which are then built before any merge is
    learnt; or its extended grapheme clusters, which no merge builds and which need the segmentation
    ``merge_alphabet``."""

    character_coverage: float = Field(0.9995, gt=0, le=1)
    """For alphabets of characters or grapheme clusters: share of the text's characters or clusters that get a token.
    The rarest remain bytes, or smaller clusters."""

    min_pair_count: int = Field(0, ge=0)
    """Smallest count of a pair that is merged."""

    max_token_bytes: int | None = Field(None, ge=2)
    """Longest token, in bytes. Default: no limit."""


class BpeOptions(MergeOptions):
    seeds: tuple[String, ...] = ()
    """Strings that must be tokens. They are built by merges that precede all others, in the given order, so a seed may
    need tokens for its parts. Default: none."""

    @property
    def own_segmentation(self) -> str | None:
        """Default segmentation, if it is not that of the construction."""
        return "merge_alphabet" if self.alphabet == "grapheme" else None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.seeds and self.alphabet == "grapheme":
            raise ValueError(
                "seeds are built from bytes, and alphabet 'grapheme' has none to merge; remove one of them"
            )
        return self


@construction("bpe", options=BpeOptions, segmentation="merge", gives_initial=True, cites=("sennrich2016",))
def build(counts: PretokenCounts, size: int, options: BpeOptions, *, seed: int = 0, threads: int = 1) -> Vocabulary:
    """Merge the most frequent pairs until there are ``size`` tokens, including the alphabet.

    The character alphabet is the 256 bytes, then the characters of two or more bytes, by descending count, then bytes.
    Each character is built by merging its bytes from the left. These merges precede all learnt ones. A character of
    three or four bytes therefore adds its first two or three bytes as tokens, unless they already exist.

    The grapheme alphabet is the 256 bytes, then the clusters of two or more bytes, in the same order. No merge builds
    them. Pre-tokens are split from the left into the longest symbols of the alphabet, in training and by the
    segmentation ``merge_alphabet``. Where all clusters of a text are in the alphabet, these are the clusters.

    Seeds follow the alphabet. While the merges so far split a seed, its first two parts are merged. The pre-tokens are
    split by these merges, and training continues as in :mod:`tokbench.construction.bpe_continued`.

    Args:
        counts: pre-tokens. No merge crosses their boundaries.
        size: number of tokens wanted. Fewer are returned if no pair is left to merge.
        options: alphabet and limits on the merges.
        seed: not used; nothing is random.
        threads: not used; training is single-threaded.

    Returns:
        Tokens in order of creation, with the merges that created them, int32 [tokens - alphabet, 3]. The alphabet is
        the 256 bytes, and the clusters if it is ``grapheme``.

    Raises:
        TokbenchError: the unique pre-tokens have 2 GiB or more, the alphabet is larger than ``size``, or a reserved
            string or a seed cannot be one.
    """
    # Symbols of the text: bytes, or tokens of another alphabet.
    check_bytes(counts, "bpe")
    counts = without_reserved(counts, options.reserved, "bpe")
    tokens, merges = list(BYTES), np.empty((0, 2), np.int32)
    text, offsets = counts.data.astype(np.int32), counts.offsets
    if options.alphabet == "character":
        tokens, merges = character_merges(counts, options.character_coverage)
        text, offsets = cut_by_longest_match(counts, tokens)
    elif options.alphabet == "grapheme":
        tokens += covering_clusters(counts, options.character_coverage)
        text, offsets = cut_by_longest_match(counts, tokens)
    check_alphabet(tokens, size, "bpe")
    # Merges.
    if options.seeds:
        return _from_seeds(counts, size, options, Vocabulary(tuple(tokens), merges=_with_results(merges, len(tokens))))
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
    return Vocabulary(tuple(tokens), merges=_with_results(np.concatenate([merges, pairs]), len(tokens)))


def _with_results(pairs: NDArray[np.int32], size: int) -> NDArray[np.int32]:
    """Return merges as int32 [m, 3]: the pairs make the last tokens of a vocabulary of this size, in order."""
    return np.column_stack([pairs, np.arange(size - len(pairs), size, dtype=np.int32)])


def _from_seeds(counts: PretokenCounts, size: int, options: BpeOptions, alphabet: Vocabulary) -> Vocabulary:
    """Build the seeds by merges, and continue training.

    Raises:
        TokbenchError: a seed contains a reserved string, is split by the pre-tokenization or is longer than the limit,
            or the seeds need more than ``size`` tokens.
    """
    from tokbench.construction.bpe_continued import continue_merges

    seeds = options.seeds
    require_pretokens(counts, seeds, "bpe", "seeds")
    longest = options.max_token_bytes or MAX_BYTES
    for seed in seeds:
        if inside := [string for string in options.reserved if string in seed]:
            raise TokbenchError(f"bpe: seeds '{seed}': contains the reserved string '{inside[0]}'; leave one out")
        if len(seed.encode()) > longest:
            raise TokbenchError(f"bpe: seeds '{seed}': longer than max_token_bytes ({longest}); raise it")
    parent = with_seeds(alphabet, [seed.encode() for seed in seeds])
    if len(parent) > size:
        raise TokbenchError(
            f"bpe: the alphabet, the seeds and their parts are {len(parent):,} tokens, more than the vocabulary size "
            f"{size:,}; raise it, or give fewer seeds"
        )
    return continue_merges(counts, size, parent, options.min_pair_count, longest)


def with_seeds(vocabulary: Vocabulary, seeds: Sequence[bytes]) -> Vocabulary:
    """Return a vocabulary with further merges, after which each seed is one token.

    While the merges so far split a seed, its first two parts are merged.

    Args:
        vocabulary: tokens with merges.
        seeds: the seeds, in the order in which they are built.
    """
    assert vocabulary.merges is not None
    tokens, rows = list(vocabulary.tokens), vocabulary.merges.tolist()
    ids = {token: index for index, token in enumerate(tokens)}
    ranks = {(left, right): (rank, result) for rank, (left, right, result) in enumerate(rows)}
    for seed in seeds:
        while len(parts := _split(seed, ranks)) > 1:
            token = tokens[parts[0]] + tokens[parts[1]]
            if token not in ids:
                ids[token] = len(tokens)
                tokens.append(token)
            ranks[parts[0], parts[1]] = len(rows), ids[token]
            rows.append([parts[0], parts[1], ids[token]])
    return Vocabulary(tuple(tokens), merges=np.array(rows, np.int32).reshape(-1, 3))


def _split(seed: bytes, ranks: Mapping[tuple[int, int], tuple[int, int]]) -> list[int]:
    """Return the ids of a seed after all merges: of adjacent pairs the one with the lowest rank, from the left.

    Args:
        seed: the seed. The ids of its bytes are their values.
        ranks: rank and resulting id of each merge.
    """
    parts = list(seed)
    while merges := [
        (ranks[pair][0], place, ranks[pair][1]) for place, pair in enumerate(pairwise(parts)) if pair in ranks
    ]:
        _, place, result = min(merges)
        parts[place : place + 2] = [result]
    return parts
