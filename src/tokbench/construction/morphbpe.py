"""MorphBPE: BPE whose merges never join letters across a morpheme boundary of the training words.

Asgari, El Kheir and Sadraei Javaheri, "MorphBPE: A Morpho-Aware Tokenizer Bridging Linguistic Complexity for Efficient
LLM Training Across Morphologies" (2025). The boundaries constrain merges in training only; inference is that of BPE and
needs no morphemes. A merge that was learnt inside a morpheme may thus cross a boundary of another word.

Each word of the text that the gold data segment is split into its morphemes. Pairs are then counted inside these, with
the counts of their words. The paper leaves open the following rules, which are ours:

- A word is a run of letters, marks and numbers in a pre-token. Spaces and punctuation around it stay with its first and
  last morpheme.
- A word that is not in the gold data is looked up in lower case, if that has the same number of characters.
- A word without a segmentation, or with one that does not spell it, is not split.
- A word with several segmentations is split at the boundaries of all.
- Ties of pairs are those of the construction ``bpe``.

Reference: ``train_within_morphemes`` in :mod:`tokbench.reference.morphology`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Literal

import numpy as np

from tokbench.candidates.reserved import without_reserved
from tokbench.construction import bpe, construction
from tokbench.errors import TokbenchError
from tokbench.metric.segmented_words import RUNS
from tokbench.pretokens import PretokenCounts
from tokbench.resource.gold_words import GoldOptions, read_gold_words
from tokbench.vocabulary import Vocabulary


class MorphBpeOptions(GoldOptions, bpe.MergeOptions):
    """Without ``gold``, the vocabulary is that of BPE."""

    alphabet: Literal["byte", "character"] = "byte"
    """Symbols that merging starts from: the bytes, or the characters of the text, which are then built before any merge
    is learnt."""


@construction("morphbpe", options=MorphBpeOptions, segmentation="merge", cites=("asgari2025", "sennrich2016"))
def build(
    counts: PretokenCounts, size: int, options: MorphBpeOptions, *, seed: int = 0, threads: int = 1
) -> Vocabulary:
    """Split the words of the text into morphemes, then merge the most frequent pairs until there are ``size`` tokens.

    Args:
        counts: pre-tokens. No merge crosses their boundaries, or those of morphemes.
        size: number of tokens wanted, including the alphabet. Fewer are returned if no pair is left to merge.
        options: gold data, alphabet and limits on the merges.
        seed: not used; the choice of words has its own seed.
        threads: not used; training is single-threaded.

    Returns:
        Tokens in order of creation, with the merges that created them. With gold data the record has ``gold_words``,
        the distinct words with a boundary that were read; ``split_pretokens``, the pre-tokens of the text with one
        of them; and ``pretokens``, all pre-tokens of the text. Both count occurrences.

    Raises:
        TokbenchError: the gold data cannot be read, or the text has none of their words; otherwise as
            :func:`tokbench.construction.bpe.build`.
    """
    counts = without_reserved(counts, options.reserved, "morphbpe")
    limits = {key: getattr(options, key) for key in bpe.MergeOptions.model_fields if key != "reserved"}
    if options.gold is None:
        return bpe.build(counts, size, bpe.BpeOptions(**limits))
    gold = boundaries_by_word(read_gold_words(options))
    morphemes, split = split_at_morphemes(counts, gold)
    if not split:
        raise TokbenchError(
            f"{options.gold}: no word of the text has a boundary in it; check its language, gold_share and the "
            "pre-tokenization"
        )
    record = {"gold_words": len(gold), "split_pretokens": split, "pretokens": counts.total}
    return replace(bpe.build(morphemes, size, bpe.BpeOptions(**limits)), record=record)


def boundaries_by_word(words: Iterable[tuple[str, tuple[int, ...]]]) -> dict[str, frozenset[int]]:
    """Return the boundaries of all segmentations of each word, in characters; words without any are left out.

    Args:
        words: words with boundaries in bytes.
    """
    found: dict[str, frozenset[int]] = {}
    for word, cuts in words:
        data = word.encode("utf-8", "surrogatepass")
        inside = {len(data[:cut].decode("utf-8", "surrogatepass")) for cut in cuts}
        if inside:
            found[word] = found.get(word, frozenset()) | inside
    return found


def split_at_morphemes(counts: PretokenCounts, gold: Mapping[str, frozenset[int]]) -> tuple[PretokenCounts, int]:
    """Return the pre-tokens of a text, split at the boundaries inside their words, and how many of them were split.

    Args:
        counts: the pre-tokens. Bytes that are not UTF-8 are in no word.
        gold: boundaries of each gold word, in characters.

    Examples:
        >>> counts = PretokenCounts.from_pairs([(b" Making,", 2)])
        >>> dict(split_at_morphemes(counts, {"making": frozenset({3})})[0].items())
        {b' Mak': 2, b'ing,': 2}
    """
    ends: list[int] = []
    parts = np.ones(len(counts), np.int64)
    for number, (start, (pretoken, _)) in enumerate(zip(counts.offsets.tolist(), counts.items(), strict=False)):
        inside = boundaries_in(pretoken, gold)
        parts[number] += len(inside)
        ends += (start + cut for cut in inside)
    offsets = np.union1d(counts.offsets, np.array(ends, np.int64))
    pieces = PretokenCounts.merged(counts.data, offsets, np.repeat(counts.counts, parts), counts.scheme)
    return pieces, int(counts.counts[parts > 1].sum())


def boundaries_in(pretoken: bytes, gold: Mapping[str, frozenset[int]]) -> list[int]:
    """Return the boundaries inside the words of a pre-token, as ascending byte offsets."""
    text = pretoken.decode("utf-8", "surrogateescape")
    cuts = []
    for match in RUNS.finditer(text):
        word = match[0]
        if word not in gold and len(lower := word.lower()) == len(word):
            word = lower
        cuts += [match.start() + cut for cut in sorted(gold.get(word, ()))]
    return [len(text[:cut].encode("utf-8", "surrogateescape")) for cut in cuts]
