"""BPE-knockout: BPE without the merges that join letters across morpheme boundaries.

Bauwens and Delobelle, "BPE-knockout: Pruning Pre-existing BPE Tokenisers with Backwards-compatible Morphological
Semi-supervision" (2024), section 3. Gold words are encoded as pre-tokens. For each merge, N counts the positions that
it joined in the final tokens, and B those of them that are gold boundaries. Merges with a large B / N are removed with
their tokens. In other merges the parts of a removed token take its place, so that these have more than two parts.
Positions are counted in bytes, and every word counts once.

Annealing and reification are those of Bauwens and de Lhoneux, "ReBPE: Iteratively Improving the Internal Structure of a
Structured Tokeniser by Mining its Internal Structure" (2026), with the details of the authors' package `bpe-knockout
<https://github.com/bauwenst/BPE-knockout>`_: a round is a knockout and a reification, and a last knockout follows the
last reification. Here each token has one merge, a token that was removed is not made again in any way, and no more than
the wanted number of tokens are made.

Reference: ``restructure`` in :mod:`tokbench.reference.morphology`.
"""

from collections.abc import Container, Iterable, Sequence
from itertools import pairwise
from typing import Literal, Self

from pydantic import Field, model_validator

from tokbench.candidates.merge_lists import GoldWord, Parts, anneal, guilty_merges, reify, repair, rewire
from tokbench.construction import bpe, construction
from tokbench.pretokenization import Boundaries, pretokenization_of
from tokbench.pretokens import PretokenCounts
from tokbench.resource.gold_words import GoldOptions, read_gold_words
from tokbench.vocabulary import BYTES, Vocabulary


class BpeKnockoutOptions(GoldOptions, bpe.MergeOptions):
    """Without ``gold``, nothing changes in the merges of BPE."""

    alphabet: Literal["byte", "character"] = "byte"
    """Symbols that merging starts from: the bytes, or the characters of the text, which are then built before any merge
    is learnt."""

    threshold: float = Field(0.5, gt=0, le=1)
    """Smallest B / N of a merge that is removed."""

    rounds: int = Field(1, ge=1, le=100)
    """Number of knockouts, one after the other. A round that finds nothing ends them."""

    cascade: bool = False
    """Remove all tokens that are made of a removed token, instead of merging its parts."""

    tuples_once: bool = False
    """Count a merge of several parts once for each occurrence, and not once for each position that it joins."""

    fill: bool = False
    """Start from a larger BPE vocabulary, so that exactly the wanted number of tokens remains. Default: start from the
    wanted number, as in the paper, so that fewer remain."""

    annealing: Literal["before", "after", "both"] | None = None
    """Add merges that the gold words want: before the first knockout, after the last one, or both. Default: none are
    added."""

    annealing_count: int = Field(3, ge=1)
    """Smallest number of occurrences of a pair without a gold boundary in it, for a merge to be added."""

    annealing_share: float = Field(0.8, gt=0, le=1)
    """Smallest share of these among all occurrences of the pair."""

    start_share: float = Field(1.0, gt=0, le=1)
    """Share of the wanted tokens that BPE starts with. The rest is room for merges that are added before a knockout."""

    reification: Literal["link", "make"] | None = None
    """After each knockout, replace two parts of a merge of several by their token, which an existing merge makes
    (``link``), or also a new one (``make``). Tokens that were removed are not made again. Default: merges keep their
    parts."""

    repair: bool = False
    """After each knockout, give each merge of several parts those that the merges before it leave of its token."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.fill and self.cascade:
            raise ValueError("fill and cascade exclude each other; remove one")
        if self.fill and (self.annealing or self.reification == "make" or self.start_share < 1):
            raise ValueError("fill excludes annealing, start_share and reification 'make'; remove one")
        if self.cascade and (self.reification or self.repair):
            raise ValueError("cascade leaves no merges of several parts to reify or repair; remove one")
        if self.annealing in ("before", "both") and self.start_share == 1:
            raise ValueError("annealing before a knockout needs room for its merges; set start_share below 1")
        return self


@construction(
    "bpe_knockout", options=BpeKnockoutOptions, segmentation="merge_tuples", cites=("bauwens2024", "bauwens2026")
)
def build(
    counts: PretokenCounts, size: int, options: BpeKnockoutOptions, *, seed: int = 0, threads: int = 1
) -> Vocabulary:
    """Build a BPE vocabulary and remove the merges that cross gold boundaries too often.

    Merges are removed by falling (B / N, N), then in order of rank. Each word is encoded after a space, if the
    pre-tokenization joins that space to it. The position after the space is no gold boundary.

    Args:
        counts: pre-tokens to build the BPE vocabulary from.
        size: number of tokens of the BPE vocabulary, including the 256 bytes. Fewer remain. With ``fill``, number of
            tokens that remain. With ``annealing`` or ``reification``, largest number of tokens.
        options: gold data and limits.
        seed: not used; the choice of words has its own seed.
        threads: not used.

    Returns:
        The 256 bytes, then the remaining tokens in order of creation. Their merges have two or more parts.

    Raises:
        TokbenchError: the gold data cannot be read or has no usable word, the unique pre-tokens have 2 GiB or more, or
            the alphabet is larger than ``size``.
    """
    words = [] if options.gold is None else read_gold(options, counts.scheme or "none")
    merges = _merges(counts, size, options)
    start = max(0, int(size * options.start_share) - len(BYTES))
    remaining = knock_out(merges[:start] if words else merges, words, options, most=size - len(BYTES))
    if options.fill and len(BYTES) + len(merges) == size:
        merges = _enough_merges(counts, size, options, words, merges)
        remaining = knock_out(merges, words, options, least=size - len(BYTES))
    tokens = tuple(b"".join(parts) for parts in remaining)
    return Vocabulary(BYTES + tokens, tuples=tuple(remaining))


def _enough_merges(
    counts: PretokenCounts, size: int, options: BpeKnockoutOptions, words: Sequence[GoldWord], merges: list[Parts]
) -> list[Parts]:
    """Return merges of a larger vocabulary, of which a knockout leaves ``size`` tokens or fewer.

    The vocabulary grows by the number of missing tokens until none is missing, too many remain, or the text yields no
    more.
    """
    trained = size
    while missing := size - len(BYTES) - len(knock_out(merges, words, options)):
        trained += missing
        larger = _merges(counts, trained, options)
        if len(larger) == len(merges) or len(BYTES) + len(knock_out(larger, words, options)) > size:
            break
        merges = larger
    return merges


def _merges(counts: PretokenCounts, size: int, options: BpeKnockoutOptions) -> list[Parts]:
    values = {key: getattr(options, key) for key in bpe.MergeOptions.model_fields}
    vocabulary = bpe.build(counts, size, bpe.BpeOptions(**values))
    assert vocabulary.merges is not None
    tokens = vocabulary.tokens
    return [(tokens[left], tokens[right]) for left, right, _ in vocabulary.merges.tolist()]


def read_gold(options: BpeKnockoutOptions, scheme: str) -> list[GoldWord]:
    """Read the chosen gold words once each, split into pre-tokens.

    Raises:
        TokbenchError: a file cannot be read, or no word is segmented.
    """
    split = pretokenization_of(scheme).boundaries
    words = read_gold_words(options)
    return [_in_pretokens(word.encode("utf-8", "surrogatepass"), cuts, split) for word, cuts in words]


def _in_pretokens(word: bytes, cuts: Iterable[int], split: Boundaries) -> GoldWord:
    text = b" " + word
    edges = split(text).tolist()
    starts = edges if edges[1] > 1 or not word else edges[1:]
    gold = [cut + 1 for cut in cuts]
    pieces = list(pairwise(starts))
    return GoldWord(
        tuple(text[start:end] for start, end in pieces),
        tuple(frozenset(cut - start for cut in gold if start < cut < end) for start, end in pieces),
    )


def knock_out(
    merges: Sequence[Parts], words: Sequence[GoldWord], options: BpeKnockoutOptions, *, least: int = 0, most: int = 0
) -> list[Parts]:
    """Return the merges after all rounds, in order of rank, with rewired parts.

    Args:
        merges: parts of each merge, in order of rank. Each token has one merge.
        words: the gold words; without any, nothing changes.
        options: threshold, rounds, annealing and reification.
        least: number of merges that remain at least. Default: 0.
        most: number of merges up to which annealing and reification add some. Default: 0, so that they add none.

    Reference: ``knock_out`` in :mod:`tokbench.reference.morphology`, without annealing and reification.
    """
    if not words:
        return list(merges)
    remaining = _anneal(merges, words, options, "before", most)
    removed_tokens: set[bytes] = set()
    new = False
    for _ in range(options.rounds):
        guilty = guilty_merges(remaining, words, options.threshold, options.tuples_once)
        removed = set(guilty[: max(0, len(remaining) - least)])
        removed_tokens.update(b"".join(remaining[rank]) for rank in removed)
        remaining = rewire(remaining, removed, options.cascade)
        remaining, new = _reify(remaining, removed_tokens, options, most)
        if not removed and not new:
            break
    if new:
        guilty = guilty_merges(remaining, words, options.threshold, options.tuples_once)
        remaining = rewire(remaining, set(guilty[: max(0, len(remaining) - least)]), options.cascade)
    return _anneal(remaining, words, options, "after", most)


def _anneal(
    merges: Sequence[Parts],
    words: Sequence[GoldWord],
    options: BpeKnockoutOptions,
    when: Literal["before", "after"],
    most: int,
) -> list[Parts]:
    if options.annealing not in (when, "both"):
        return list(merges)
    return anneal(merges, words, options.annealing_count, options.annealing_share, most)


def _reify(
    merges: list[Parts], disqualified: Container[bytes], options: BpeKnockoutOptions, most: int
) -> tuple[list[Parts], bool]:
    """Return the merges, repaired and reified as the options say, and whether any has changed."""
    repaired = repair(merges) if options.repair else merges
    if options.reification is None:
        return repaired, repaired != merges
    reified, new = reify(repaired, disqualified, options.reification == "make", most)
    return reified, new or repaired != merges
