"""BPE-knockout: BPE without the merges that join letters across morpheme boundaries.

Bauwens and Delobelle, "BPE-knockout: Pruning Pre-existing BPE Tokenisers with Backwards-compatible Morphological
Semi-supervision" (2024), section 3. Gold words are encoded as pre-tokens. For each merge, N counts the positions that
it joined in the final tokens, and B those of them that are gold boundaries. Merges with a large B / N are removed with
their tokens. In other merges the parts of a removed token take its place, so that these have more than two parts.
Positions are counted in bytes, and every word counts once.

The words are split by a seeded hash, so that alignment can be measured on the other words: set ``left_out`` and
``left_out_seed`` of a resource to the same values as ``gold_share`` and ``gold_seed``.

Reference: ``knock_out`` in :mod:`tokbench.reference.morphology`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, pairwise
from pathlib import Path
from typing import Self

import numpy as np
from pydantic import Field, model_validator

from tokbench.construction import bpe, construction
from tokbench.errors import TokbenchError, unknown
from tokbench.metric.words import boundaries
from tokbench.options import Seed
from tokbench.pretokenization import Boundaries, pretokenization_of
from tokbench.pretokens import PretokenCounts
from tokbench.resource import is_drawn, resource_types
from tokbench.segmentation.merge_tuples import merge_tuples
from tokbench.vocabulary import BYTES, Vocabulary


class BpeKnockoutOptions(bpe.BpeOptions):
    """Without ``gold``, nothing is knocked out."""

    gold: Path | None = None
    """File of gold data with segmented words."""

    gold_type: str | None = None
    """Type of the gold data, as in ``resources`` (``morphynet`` and others)."""

    gold_languages: list[str] | None = None
    """Read only words with these language tags. Default: all."""

    gold_share: float = Field(0.5, gt=0, le=1)
    """Share of the words that are read. Which words depends on ``gold_seed``."""

    gold_seed: Seed = 0
    """Seed of the choice of words."""

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

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if (self.gold is None) != (self.gold_type is None):
            raise ValueError("gold and gold_type belong together; set both or neither")
        known = [method.name for method in resource_types.methods() if method.gold == "segmentations"]
        if self.gold_type is not None and self.gold_type not in known:
            raise ValueError(unknown(self.gold_type, "type of resource with segmented words", known))
        if self.fill and self.cascade:
            raise ValueError("fill and cascade exclude each other; remove one")
        return self


@dataclass(frozen=True)
class GoldWord:
    """A word as pre-tokens.

    Attributes:
        pretokens: bytes of each pre-token.
        cuts: gold boundaries inside each pre-token, as byte offsets.
    """

    pretokens: tuple[bytes, ...]
    cuts: tuple[frozenset[int], ...]


Parts = tuple[bytes, ...]
"""Parts of a merge; joined, they are its token."""


@construction("bpe_knockout", options=BpeKnockoutOptions, segmentation="merge_tuples", cites=("bauwens2024",))
def build(
    counts: PretokenCounts, size: int, options: BpeKnockoutOptions, *, seed: int = 0, threads: int = 1
) -> Vocabulary:
    """Build a BPE vocabulary and remove the merges that cross gold boundaries too often.

    Merges are removed by falling (B / N, N), then in order of rank. Each word is encoded after a space, if the
    pre-tokenization joins that space to it. The position after the space is no gold boundary.

    Args:
        counts: pre-tokens to build the BPE vocabulary from.
        size: number of tokens of the BPE vocabulary, including the 256 bytes. Fewer remain. With ``fill``, number of
            tokens that remain.
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
    remaining = knock_out(merges, words, options)
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
    values = {key: getattr(options, key) for key in bpe.BpeOptions.model_fields}
    vocabulary = bpe.build(counts, size, bpe.BpeOptions(**values))
    assert vocabulary.merges is not None
    tokens = vocabulary.tokens
    return [(tokens[left], tokens[right]) for left, right, _ in vocabulary.merges.tolist()]


def read_gold(options: BpeKnockoutOptions, scheme: str) -> list[GoldWord]:
    """Read the chosen gold words once each, split into pre-tokens.

    Raises:
        TokbenchError: a file cannot be read, or no word is segmented.
    """
    assert options.gold is not None
    assert options.gold_type is not None
    kind = resource_types[options.gold_type]
    split = pretokenization_of(scheme).boundaries
    found: dict[tuple[str, tuple[int, ...]], None] = {}
    for language, word, segments in kind.function(options.gold, "", kind.options()):
        cuts = boundaries(word, segments)
        wanted = options.gold_languages is None or language in options.gold_languages
        if wanted and cuts is not None and is_drawn(word, options.gold_share, options.gold_seed):
            found[word, tuple(cuts)] = None
    if not found:
        raise TokbenchError(
            f"{options.gold}: no segmented word of a resource of type '{options.gold_type}' is among those chosen; "
            "check the file, gold_languages and gold_share"
        )
    return [_in_pretokens(word.encode("utf-8", "surrogatepass"), cuts, split) for word, cuts in found]


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


@dataclass(frozen=True)
class Joint:
    """An occurrence of a merge in a token.

    Attributes:
        rank: rank of the merge.
        start: offset of its first byte in the token.
        end: offset after its last byte.
    """

    rank: int
    start: int
    end: int


def joints_of(merges: Sequence[Parts]) -> dict[bytes, list[Joint]]:
    """Return, for each token and each position inside it, the occurrence of the merge that joins it there."""
    joints: dict[bytes, list[Joint]] = {byte: [] for byte in BYTES}
    for rank, parts in enumerate(merges):
        token = b"".join(parts)
        own = Joint(rank, 0, len(token))
        found: list[Joint] = []
        for place, part in enumerate(parts):
            found += [own] * (place > 0)
            start = len(found)
            found += (Joint(joint.rank, joint.start + start, joint.end + start) for joint in joints[part])
        joints[token] = found
    return joints


def blame(merges: Sequence[Parts], words: Sequence[GoldWord], once: bool) -> tuple[Counter[int], Counter[int]]:
    """Count for each merge, by rank, the positions that it joins in the gold words, and the gold boundaries of these.

    Args:
        merges: parts of each merge, in order of rank.
        words: the gold words.
        once: count each occurrence of a merge once, with a boundary if any of its positions is one.

    Returns:
        N and B of the merges with an N above 0.
    """
    tokens = tuple(b"".join(parts) for parts in merges)
    vocabulary = Vocabulary(BYTES + tokens, tuples=tuple(merges))
    pretokens = [pretoken for word in words for pretoken in word.pretokens]
    gold = [cuts for word in words for cuts in word.cuts]
    offsets = np.zeros(len(pretokens) + 1, np.int64)
    np.cumsum([len(pretoken) for pretoken in pretokens], out=offsets[1:])
    data = np.frombuffer(b"".join(pretokens), np.uint8)
    ids, bounds = merge_tuples(vocabulary, None).segment(data, offsets)
    joints = joints_of(merges)
    joined: Counter[int] = Counter()
    crossed: Counter[int] = Counter()
    for (first, last), cuts in zip(pairwise(bounds.tolist()), gold, strict=True):
        place = 0
        for index in ids[first:last].tolist():
            token = vocabulary.tokens[index]
            inside = list(enumerate(joints[token], place + 1))
            if once:
                joined.update(joint.rank for joint in set(joints[token]))
                crossed.update(joint.rank for joint in {joint for position, joint in inside if position in cuts})
            else:
                joined.update(joint.rank for _, joint in inside)
                crossed.update(joint.rank for position, joint in inside if position in cuts)
            place += len(token)
    return joined, crossed


def knock_out(
    merges: Sequence[Parts], words: Sequence[GoldWord], options: BpeKnockoutOptions, *, least: int = 0
) -> list[Parts]:
    """Return the merges that remain after all rounds, in order of rank, with rewired parts.

    Args:
        merges: parts of each merge, in order of rank. Each token has one merge.
        words: the gold words; without any, nothing is removed.
        options: threshold, rounds, and what is counted and removed.
        least: number of merges that remain at least. Default: 0.
    """
    remaining = list(merges)
    for _ in range(options.rounds if words else 0):
        joined, crossed = blame(remaining, words, options.tuples_once)
        guilty = [rank for rank, times in joined.items() if crossed[rank] / times >= options.threshold]
        guilty.sort(key=lambda rank: (-Fraction(crossed[rank], joined[rank]), -joined[rank], rank))
        removed = set(guilty[: max(0, len(remaining) - least)])
        if not removed:
            break
        remaining = rewire(remaining, removed, options.cascade)
    return remaining


def rewire(merges: Sequence[Parts], removed: set[int], cascade: bool) -> list[Parts]:
    """Return the merges without those of some ranks. The parts of a removed token take its place in other merges.

    Args:
        merges: parts of each merge, in order of rank.
        removed: ranks to remove.
        cascade: remove merges with a removed part instead.
    """
    gone: dict[bytes, Parts] = {}
    remaining = []
    for rank, parts in enumerate(merges):
        expanded = tuple(chain.from_iterable(gone.get(part, (part,)) for part in parts))
        if rank in removed or (cascade and any(part in gone for part in parts)):
            gone[b"".join(parts)] = expanded
        else:
            remaining.append(expanded)
    return remaining
