"""Continued BPE: take the merges of an existing tokenizer and go on merging on the counts of another text.

Purason, Chizhov, Yamshchikov and Fishel, "Teaching Old Tokenizers New Words: Efficient Tokenizer Adaptation for
Pre-trained Models" (2025), section 3. The pre-tokens are first split by the existing merges. Training then continues
as in :mod:`tokbench.construction.bpe`, so every new token can be reached by merges. Old tokens keep their ids.

Reference: ``continue_training`` in :mod:`tokbench.reference.bpe`.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tokbench.adapters.forms import read_form
from tokbench.adapters.forms.parsed import ReadOptions
from tokbench.candidates.initial import MAX_BYTES, check_bytes
from tokbench.construction import construction
from tokbench.errors import TokbenchError, on_one_line
from tokbench.kernels.bpe import train
from tokbench.kernels.merge import MergeSegmenter
from tokbench.options import FILE_OR_FOLDER, Options
from tokbench.pretokens import PretokenCounts
from tokbench.segmentation.merge import replay_merges
from tokbench.tokenizer import SETTINGS, Tokenizer
from tokbench.tokenizer.hugging_face import spelling_ranks
from tokbench.vocabulary import BYTES, Vocabulary

WITHOUT_PATTERN = ("tiktoken", "tokens")
"""Forms of files that need a pattern to be read. Any does, since only tokens and merges are used."""


class ParentOptions(Options):
    tokenizer: Annotated[Path | None, FILE_OR_FOLDER] = None
    """Existing tokenizer: the folder of a tokenizer of Tokbench, or a file or folder that ``tokbench import`` reads. It
    needs merges, or ranks as in ``tiktoken``."""


class BpeContinuedOptions(ParentOptions):
    """Without ``tokenizer``, merging starts from the 256 bytes, which is BPE."""

    min_pair_count: int = Field(0, ge=0)
    """Smallest count of a pair that is merged."""

    max_token_bytes: int | None = Field(None, ge=2)
    """Longest new token, in bytes. Default: no limit."""


@construction("bpe_continued", options=BpeContinuedOptions, segmentation="merge", cites=("purason2025", "sennrich2016"))
def build(
    counts: PretokenCounts, size: int, options: BpeContinuedOptions, *, seed: int = 0, threads: int = 1
) -> Vocabulary:
    """Split the pre-tokens by the existing merges, then merge the most frequent pairs until there are ``size`` tokens.

    Of equally frequent pairs the smallest (left, right) is merged: bytes in the order of
    :mod:`tokbench.construction.bpe`, then the other existing tokens by index, then new ones in order of creation. The
    pre-tokenization is that of the counts. A new merge can result in an existing token that no merge made before. The
    merge then leads to that token and adds none.

    Args:
        counts: pre-tokens. No merge crosses their boundaries.
        size: number of tokens wanted, including the existing ones. Fewer are returned if no pair is left to merge.
        options: existing tokenizer and limits on the merges.
        seed: not used; nothing is random.
        threads: not used; training is single-threaded.

    Returns:
        The existing tokens in their order, then the new ones. Existing tokens of an external tokenizer keep their ids,
        and new ids follow the largest one.

    Raises:
        TokbenchError: the tokenizer cannot be read or has no merges, it has more than ``size`` tokens, or the unique
            pre-tokens have 2 GiB or more.
    """
    check_bytes(counts, "bpe_continued")
    parent = read_parent(options.tokenizer)
    if len(parent) > size:
        raise TokbenchError(
            f"bpe_continued: {options.tokenizer} has {len(parent):,} tokens, more than the vocabulary size {size:,}; "
            "raise the size, or use bpe_pruned"
        )
    return continue_merges(counts, size, parent, options.min_pair_count, options.max_token_bytes or MAX_BYTES)


def continue_merges(counts: PretokenCounts, size: int, parent: Vocabulary, min_count: int, longest: int) -> Vocabulary:
    """Split the pre-tokens by the merges of a vocabulary, then merge until there are ``size`` tokens.

    Args:
        counts: pre-tokens.
        size: number of tokens wanted, not below that of the vocabulary.
        parent: the vocabulary, with merges.
        min_count: smallest count of a pair that is merged.
        longest: longest new token, in bytes.
    """
    assert parent.merges is not None
    text, offsets = MergeSegmenter(*replay_merges(parent, "merge")).segment(counts.data, counts.offsets)
    old = {token: index for index, token in enumerate(parent.tokens)}
    lengths = np.array([len(token) for token in parent.tokens], np.int64)
    ranks = ranks_of(parent.tokens)
    # A merge may make an existing token, so more merges than missing tokens may be needed.
    symbols = size
    while True:
        pairs = train(text, offsets, counts.counts, ranks, lengths, symbols, min_count, longest)
        tokens, merges = spell(parent.tokens, old, pairs)
        if len(tokens) == size or len(parent) + len(pairs) < symbols:
            break
        symbols += size - len(tokens)
    # New tokens have ids after the existing ones.
    added = len(tokens) - len(parent)
    ids = None
    if parent.ids is not None:
        ids = np.concatenate([parent.ids, np.arange(parent.id_limit, parent.id_limit + added, dtype=np.int32)])
    merges = np.concatenate([parent.merges, merges])
    return replace(parent, tokens=tokens, merges=merges, scores=None, events=None, ids=ids)


def ranks_of(tokens: Sequence[bytes]) -> NDArray[np.int64]:
    """Return the rank of each token for ties, int64 [tokens]: bytes as in BPE first, then the others by index."""
    spelt = spelling_ranks()
    keys = [(0, spelt[token[0]]) if len(token) == 1 else (1, index) for index, token in enumerate(tokens)]
    order = sorted(range(len(tokens)), key=keys.__getitem__)
    ranks = np.empty(len(tokens), np.int64)
    ranks[order] = np.arange(len(tokens))
    return ranks


def spell(
    parent: tuple[bytes, ...], old: dict[bytes, int], pairs: NDArray[np.int32]
) -> tuple[tuple[bytes, ...], NDArray[np.int32]]:
    """Return all tokens, and the new merges as int32 [m, 3], for pairs of symbols by the kernel.

    The existing tokens are the first symbols, and pair number k makes symbol number ``len(parent) + k``.
    """
    tokens = list(parent)
    index_of = list(range(len(parent)))
    rows = []
    for left, right in pairs.tolist():
        token = tokens[index_of[left]] + tokens[index_of[right]]
        index = old.get(token, len(tokens))
        if index == len(tokens):
            tokens.append(token)
        index_of.append(index)
        rows.append((index_of[left], index_of[right], index))
    return tuple(tokens), np.array(rows, np.int32).reshape(-1, 3)


def read_parent(path: Path | None) -> Vocabulary:
    """Read the vocabulary and the merges of an existing tokenizer; without a path, return the 256 bytes.

    Args:
        path: folder of a tokenizer of Tokbench, or a file or folder that ``tokbench import`` reads.

    Raises:
        TokbenchError: there is no tokenizer, it is damaged, or it has neither merges nor ranks.
    """
    if path is None:
        return Vocabulary(BYTES, merges=np.empty((0, 3), np.int32))
    vocabulary, segmentation = _read_vocabulary(path)
    if vocabulary.added is not None or segmentation in ("merge_alphabet", "merge_characters", "merge_scores"):
        raise TokbenchError(
            f"{path}: its merges begin with an alphabet or leave out added tokens; name one that merges bytes only"
        )
    if vocabulary.continuation is None and vocabulary.merges is not None:
        return vocabulary
    if segmentation != "ranked":
        raise TokbenchError(
            f"{path}: a tokenizer with the segmentation '{segmentation}' and without merges; name one by BPE"
        )
    return replace(vocabulary, merges=merges_of_ranks(vocabulary.tokens))


def _read_vocabulary(path: Path) -> tuple[Vocabulary, str]:
    if (path / SETTINGS).is_file():
        tokenizer = Tokenizer.load(path)
        if tokenizer.library_name:
            raise TokbenchError(
                f"{path}: works through {tokenizer.library_name}, so its merges are not known; name another tokenizer"
            )
        return tokenizer.vocabulary, tokenizer.segmentation
    from tokbench.adapters.forms.transformers import detect_format

    if not path.exists():
        raise TokbenchError(f"{path}: no such file or folder; name that of a tokenizer")
    form = detect_format(path)
    if form == "python":
        raise TokbenchError(f"{path}: a Python function has no merges; name a file of a tokenizer")
    parsed = read_form(path, form, ReadOptions(pattern="none" if form in WITHOUT_PATTERN else None))
    if parsed.native is None:
        raise TokbenchError(f"{path}: its merges cannot be used ({on_one_line(parsed.reason)}); name another tokenizer")
    return parsed.native.vocabulary, parsed.native.segmentation


def merges_of_ranks(tokens: Sequence[bytes]) -> NDArray[np.int32]:
    """Return the merges of tokens in order of rank, int32 [m, 3].

    A token's merge joins the two parts that the tokens of lower rank split it into. A token that they split into more
    parts has no merge.
    """
    ids = {token: index for index, token in enumerate(tokens)}
    rows = []
    for rank, token in enumerate(tokens):
        parts = [bytes([byte]) for byte in token]
        while len(parts) > 2:
            joined = [ids.get(left + right, rank) for left, right in pairwise(parts)]
            lowest = min(joined)
            if lowest >= rank:
                break
            place = joined.index(lowest)
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        if len(parts) == 2:
            rows.append((ids[parts[0]], ids[parts[1]], rank))
    return np.array(rows, np.int32).reshape(-1, 3)
