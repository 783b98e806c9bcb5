"""Merges of two or more parts, changed by gold words: blame, knockout, annealing and reification.

Bauwens and Delobelle, "BPE-knockout: Pruning Pre-existing BPE Tokenisers with Backwards-compatible Morphological
Semi-supervision" (2024), section 3, and Bauwens and de Lhoneux, "ReBPE: Iteratively Improving the Internal Structure of
a Structured Tokeniser by Mining its Internal Structure" (2026), with the details of the authors' package `bpe-knockout
<https://github.com/bauwenst/BPE-knockout>`_. A list of merges is in order of rank, and each token has one merge.

Reference: ``restructure`` in :mod:`tokbench.reference.morphology`.
"""

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, pairwise

import numpy as np

from tokbench.segmentation.merge_tuples import merge_tuples
from tokbench.vocabulary import BYTES, Vocabulary

Parts = tuple[bytes, ...]
"""Parts of a merge; joined, they are its token."""
Rank = tuple[int, bool, int]
"""Rank of a merge: that of an old merge, whether it is that merge or a new one before it, and number of a new one."""


@dataclass(frozen=True)
class GoldWord:
    """A word as pre-tokens.

    Attributes:
        pretokens: bytes of each pre-token.
        cuts: gold boundaries inside each pre-token, as byte offsets.
    """

    pretokens: tuple[bytes, ...]
    cuts: tuple[frozenset[int], ...]


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
        join = Joint(rank, 0, len(token))
        inner: list[Joint] = []
        for place, part in enumerate(parts):
            inner += [join] * (place > 0)
            start = len(inner)
            inner += (Joint(joint.rank, joint.start + start, joint.end + start) for joint in joints[part])
        joints[token] = inner
    return joints


def encode_words(merges: Sequence[Parts], words: Sequence[GoldWord]) -> Iterator[tuple[list[bytes], frozenset[int]]]:
    """Yield the tokens of each pre-token of the gold words, and its gold boundaries."""
    tokens = tuple(b"".join(parts) for parts in merges)
    vocabulary = Vocabulary(BYTES + tokens, tuples=tuple(merges))
    pretokens = [pretoken for word in words for pretoken in word.pretokens]
    gold = [cuts for word in words for cuts in word.cuts]
    offsets = np.zeros(len(pretokens) + 1, np.int64)
    np.cumsum([len(pretoken) for pretoken in pretokens], out=offsets[1:])
    data = np.frombuffer(b"".join(pretokens), np.uint8)
    ids, bounds = merge_tuples(vocabulary, None).segment(data, offsets)
    for (first, last), cuts in zip(pairwise(bounds.tolist()), gold, strict=True):
        yield [vocabulary.tokens[index] for index in ids[first:last].tolist()], cuts


def blame(merges: Sequence[Parts], words: Sequence[GoldWord], once: bool) -> tuple[Counter[int], Counter[int]]:
    """Count for each merge, by rank, the positions that it joins in the gold words, and the gold boundaries of these.

    Args:
        merges: parts of each merge, in order of rank.
        words: the gold words.
        once: count each occurrence of a merge once, with a boundary if any of its positions is one.

    Returns:
        N and B of the merges with an N above 0.
    """
    joints = joints_of(merges)
    joined: Counter[int] = Counter()
    crossed: Counter[int] = Counter()
    for tokens, cuts in encode_words(merges, words):
        place = 0
        for token in tokens:
            inside = list(enumerate(joints[token], place + 1))
            if once:
                joined.update(joint.rank for joint in set(joints[token]))
                crossed.update(joint.rank for joint in {joint for position, joint in inside if position in cuts})
            else:
                joined.update(joint.rank for _, joint in inside)
                crossed.update(joint.rank for position, joint in inside if position in cuts)
            place += len(token)
    return joined, crossed


def guilty_merges(merges: Sequence[Parts], words: Sequence[GoldWord], threshold: float, once: bool) -> list[int]:
    """Return the ranks of the merges with a B / N of ``threshold`` or more, by falling (B / N, N), then by rank."""
    joined, crossed = blame(merges, words, once)
    guilty = [rank for rank, times in joined.items() if crossed[rank] / times >= threshold]
    return sorted(guilty, key=lambda rank: (-Fraction(crossed[rank], joined[rank]), -joined[rank], rank))


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


def anneal(merges: Sequence[Parts], words: Sequence[GoldWord], count: int, share: float, most: int) -> list[Parts]:
    """Return the merges, and after them pairs of tokens that are adjacent in gold words without a boundary between.

    Args:
        merges: parts of each merge, in order of rank.
        words: the gold words.
        count: smallest number of occurrences without a boundary between the two.
        share: smallest share of these among all occurrences.
        most: largest number of merges. Pairs are added by falling number, then by falling share, then in byte order.
            Of pairs that make the same token only the first one is added, and none that makes an existing token.
    """
    total: Counter[Parts] = Counter()
    harmless: Counter[Parts] = Counter()
    for tokens, cuts in encode_words(merges, words):
        place = 0
        for pair in pairwise(tokens):
            place += len(pair[0])
            total[pair] += 1
            harmless[pair] += place not in cuts
    annealing = [pair for pair, times in harmless.items() if times >= count and times / total[pair] >= share]
    annealing.sort(key=lambda pair: (-harmless[pair], -Fraction(harmless[pair], total[pair]), pair))
    annealed = {b"".join(parts): parts for parts in merges}
    for parts in annealing:
        if len(annealed) >= most:
            break
        annealed.setdefault(b"".join(parts), parts)
    return list(annealed.values())


def repair(merges: Sequence[Parts]) -> list[Parts]:
    """Return the merges, where one of several parts merges the parts that the merges before it leave of its token."""
    longest = max(map(len, merges), default=2)
    ranks: dict[Parts, int] = {}
    repaired = []
    for rank, parts in enumerate(merges):
        left = _merge(b"".join(parts), ranks, longest) if len(parts) > 2 else parts
        longest = max(longest, len(left))
        ranks.setdefault(left, rank)
        repaired.append(left)
    return repaired


def _merge(text: bytes, ranks: dict[Parts, int], longest: int) -> Parts:
    """Apply merges of up to ``longest`` parts, the lowest rank first, the leftmost place first."""
    parts = tuple(text[place : place + 1] for place in range(len(text)))
    while True:
        places = [
            (ranks[parts[first:last]], first, last)
            for first in range(len(parts))
            for last in range(first + 2, min(len(parts), first + longest) + 1)
            if parts[first:last] in ranks
        ]
        if not places:
            return parts
        _, first, last = min(places)
        parts = (*parts[:first], b"".join(parts[first:last]), *parts[last:])


def reify(merges: Sequence[Parts], disqualified: Container[bytes], make: bool, most: int) -> tuple[list[Parts], bool]:
    """Replace two adjacent parts of merges of several parts by their token, where a merge of these two comes before.

    Args:
        merges: parts of each merge, in order of rank.
        disqualified: tokens that must not be made.
        make: create the merge of two parts if their token does not exist, immediately before the first merge that
            contains them. Otherwise only existing merges are used.
        most: largest number of merges with ``make``.

    Returns:
        The merges in order of rank, and whether any has changed. Pairs are considered by falling number of merges that
        contain them, then in order of appearance. Equal pairs in a merge are replaced from the left.
    """
    changed = {b"".join(parts): parts for parts in merges}
    ranks: dict[bytes, Rank] = {token: (rank, True, 0) for rank, token in enumerate(changed)}
    containing: dict[tuple[bytes, bytes], dict[bytes, None]] = {}
    for token, parts in changed.items():
        for pair in pairwise(parts) if len(parts) > 2 else ():
            if b"".join(pair) not in disqualified:
                containing.setdefault(pair, {})[token] = None
    any_changed = False
    for pair in sorted(containing, key=lambda pair: -len(containing[pair])):
        whole_pair = b"".join(pair)
        tokens = [token for token in containing[pair] if pair in pairwise(changed[token])]
        if (
            not tokens
            or changed.get(whole_pair, pair) != pair
            or (whole_pair not in changed and not (make and len(changed) < most))
        ):
            continue
        if whole_pair not in changed:
            first, _, _ = min(ranks[token] for token in tokens)
            changed[whole_pair], ranks[whole_pair] = pair, (first, False, len(changed))
        for token in tokens:
            if ranks[whole_pair] < ranks[token]:
                changed[token] = _join(changed[token], pair)
                any_changed = True
    return [changed[token] for token in sorted(changed, key=ranks.__getitem__)], any_changed


def _join(parts: Parts, pair: Parts) -> Parts:
    """Replace two adjacent parts by their token, from the left."""
    result: list[bytes] = []
    place = 0
    while place < len(parts):
        width = 2 if parts[place : place + 2] == pair else 1
        result.append(b"".join(parts[place : place + width]))
        place += width
    return tuple(result)
