"""Morpheme alignment, where boundaries of tokens and of gold segments are compared as sets, counts of the tokens that
cover a word, BPE-knockout and ReBPE."""

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise


def boundaries(pieces: Iterable[bytes], space: bytes) -> set[int]:
    """Return the inner boundaries between the pieces of a word, counted from its first letter."""
    ends, place = set(), -len(space)
    for piece in pieces:
        place += len(piece)
        ends.add(place)
    return ends - {place}


def alignment(
    words: Iterable[tuple[list[bytes], list[bytes]]], vocabulary: set[bytes], space: bytes
) -> tuple[float | None, int, int]:
    """Return F1 over the scorable words, their number, and the number of words whose gold segments are all known.

    Args:
        words: Gold segments and tokens of each word. The tokens include the space, the segments do not.
        vocabulary: The vocabulary.
        space: Prefix of a word that belongs to its first token.

    >>> words = [([b's', b'h', b'ells'], [b' sh', b'ells']), ([b'sea'], [b' sea'])]
    >>> alignment(words, {b' s', b'h', b'ells', b' sea'}, b' ')
    (0.6666666666666666, 1, 2)
    """
    right = wrong = missed = scored = covered = 0
    for gold, tokens in words:
        segments = [space + gold[0], *gold[1:]]
        is_spelt = all(segment in vocabulary for segment in segments)
        covered += is_spelt
        if is_spelt and b"".join(segments) not in vocabulary:
            scored += 1
            expected, cuts = boundaries(segments, space), boundaries(tokens, space)
            right += len(expected & cuts)
            wrong += len(cuts - expected)
            missed += len(expected - cuts)
    everything = right + (wrong + missed) / 2
    return right / everything if everything else None, scored, covered


def tokens_of_words(
    text: bytes, spans: Iterable[tuple[int, int]], words: Iterable[tuple[int, int]]
) -> list[int | None]:
    """Return the number of tokens that cover some byte of each word; None if a byte other than white space has none.

    Args:
        text: The document.
        spans: Start and end of each token in its bytes.
        words: Start and end of each word.

    >>> list(tokens_of_words(b'sea shell', [(0, 3), (3, 6), (6, 9)], [(0, 3), (4, 9)]))
    [1, 2]
    """
    covering: dict[int, int] = {place: token for token, span in enumerate(spans) for place in range(*span)}
    numbers: list[int | None] = []
    for start, end in words:
        lost = any(place not in covering and not text[place : place + 1].isspace() for place in range(start, end))
        numbers.append(None if lost else len({covering[place] for place in range(start, end) if place in covering}))
    return numbers


Parts = tuple[bytes, ...]


def encode(text: bytes, merges: Sequence[Parts]) -> tuple[list[bytes], dict[int, int]]:
    """Merge step by step. Return the tokens, and the merge that joined each inner position of the text, if one did."""
    ends = list(range(len(text) + 1))
    joined: dict[int, int] = {}
    for rank, parts in enumerate(merges):
        at = 0
        while at + len(parts) < len(ends):
            if tuple(text[start:end] for start, end in pairwise(ends[at : at + len(parts) + 1])) == parts:
                joined |= dict.fromkeys(ends[at + 1 : at + len(parts)], rank)
                del ends[at + 1 : at + len(parts)]
            at += 1
    return [text[start:end] for start, end in pairwise(ends)], joined


def blame(
    merges: Sequence[Parts], words: Sequence[tuple[bytes, set[int]]], once: bool
) -> tuple[Counter[int], Counter[int]]:
    """Return N and B of each merge: joined positions, and gold boundaries among them; or occurrences of each."""
    joined: Counter[int] = Counter()
    crossed: Counter[int] = Counter()
    for text, gold in words:
        _, ranks = encode(text, merges)
        if not once:
            joined.update(ranks.values())
            crossed.update(rank for place, rank in ranks.items() if place in gold)
            continue
        for rank in set(ranks.values()):
            left = [place for place, other in ranks.items() if other == rank]
            size = len(merges[rank]) - 1
            groups = [sorted(left)[start : start + size] for start in range(0, len(left), size)]
            joined[rank] += len(groups)
            crossed[rank] += sum(bool(gold.intersection(group)) for group in groups)
    return joined, crossed


def knock_out(
    merges: list[Parts],
    words: Sequence[tuple[bytes, set[int]]],
    threshold: Fraction,
    rounds: int = 1,
    least: int = 0,
    *,
    cascade: bool = False,
    once: bool = False,
) -> list[Parts]:
    """Remove the merges whose share of boundaries reaches the threshold, one after the other, the worst first.

    >>> knock_out([(b'l', b's'), (b'e', b'l')], [(b'ls', {1}), (b'el', set())], Fraction(1, 2))
    [(b'e', b'l')]
    """
    for _ in range(rounds):
        joined, crossed = blame(merges, words, once)
        worst = sorted(joined, key=lambda rank: (-Fraction(crossed[rank], joined[rank]), -joined[rank], rank))
        guilty = [merges[rank] for rank in worst if Fraction(crossed[rank], joined[rank]) >= threshold]
        for removed in guilty[: max(0, len(merges) - least)]:
            merges = remove_token(merges, b"".join(removed), cascade)
    return merges


def remove_token(merges: list[Parts], token: bytes, cascade: bool) -> list[Parts]:
    """Remove a token; other merges get its parts in its place, or are removed, too."""
    parts = next((parts for parts in merges if b"".join(parts) == token), None)
    if parts is None:
        return merges
    left = [other for other in merges if other != parts]
    if not cascade:
        return [tuple(part for each in other for part in (parts if each == token else (each,))) for other in left]
    for other in left:
        if token in other:
            left = remove_token(left, b"".join(other), cascade)
    return left


def anneal(
    merges: list[Parts], words: Sequence[tuple[bytes, set[int]]], count: int, share: float, most: int
) -> list[Parts]:
    """Add pairs of adjacent tokens of the words that seldom have a boundary between them, the most frequent first."""
    total: Counter[tuple[bytes, bytes]] = Counter()
    good: Counter[tuple[bytes, bytes]] = Counter()
    for text, gold in words:
        tokens, _ = encode(text, merges)
        for index in range(1, len(tokens)):
            pair = (tokens[index - 1], tokens[index])
            total[pair] += 1
            good[pair] += len(b"".join(tokens[:index])) not in gold
    merges = list(merges)
    for pair in sorted(total, key=lambda pair: (-good[pair], -Fraction(good[pair], total[pair]), pair)):
        present = {b"".join(parts) for parts in merges}
        is_good = good[pair] >= count and good[pair] / total[pair] >= share
        if is_good and len(merges) < most and b"".join(pair) not in present:
            merges.append(pair)
    return merges


def repair(merges: list[Parts]) -> list[Parts]:
    """Give each merge of more than two parts those that the merges before it leave of its token."""
    merges = list(merges)
    for rank, parts in enumerate(merges):
        if len(parts) > 2:
            merges[rank] = tuple(encode(b"".join(parts), merges[:rank])[0])
    return merges


def reify(merges: list[Parts], removed: set[bytes], make: bool, most: int) -> list[Parts]:
    """Use a merge of two parts inside merges of more, the one that most of them contain first."""
    merges = list(merges)
    containing: dict[tuple[bytes, bytes], list[bytes]] = {}
    for parts in merges:
        for pair in dict.fromkeys(pairwise(parts)) if len(parts) > 2 else ():
            containing.setdefault(pair, []).append(b"".join(parts))
    for pair, tokens in sorted(containing.items(), key=lambda row: -len(row[1])):
        new = b"".join(pair)
        left = [rank for rank, parts in enumerate(merges) if b"".join(parts) in tokens and pair in pairwise(parts)]
        if new in removed or not left:
            continue
        known = [b"".join(parts) for parts in merges]
        if new not in known and make and len(merges) < most:
            merges.insert(left[0], pair)
        for rank in range(len(merges) if pair in merges else 0):
            if b"".join(merges[rank]) in tokens and rank > merges.index(pair):
                merges[rank] = with_pair(merges[rank], pair)
    return merges


def with_pair(parts: Parts, pair: Parts) -> Parts:
    """Replace a pair of parts by their token, from the left."""
    if len(parts) < 2:
        return parts
    if parts[:2] == pair:
        return (b"".join(pair), *with_pair(parts[2:], pair))
    return (parts[0], *with_pair(parts[1:], pair))


def restructure(
    merges: list[Parts],
    words: Sequence[tuple[bytes, set[int]]],
    threshold: Fraction,
    rounds: int,
    least: int,
    most: int,
    *,
    cascade: bool = False,
    once: bool = False,
    annealing: str | None = None,
    count: int = 3,
    share: float = 0.8,
    repairs: bool = False,
    reification: str | None = None,
) -> list[Parts]:
    """Anneal, then alternate knockouts and reifications, and anneal again, as the options say.

    >>> restructure([(b'l', b's')], [(b'ls', {1}), (b'el', set())], Fraction(1, 2), 1, 0, 2, annealing='after', count=1)
    [(b'e', b'l')]
    """
    if not words:
        return merges
    if annealing in ("before", "both"):
        merges = anneal(merges, words, count, share, most)
    removed: set[bytes] = set()
    changed = False
    for _ in range(rounds):
        before = merges
        after = knock_out(merges, words, threshold, least=least, cascade=cascade, once=once)
        removed |= {b"".join(parts) for parts in before} - {b"".join(parts) for parts in after}
        merges = repair(after) if repairs else after
        if reification:
            merges = reify(merges, removed, reification == "make", most)
        changed = merges != after
        if merges == before:
            break
    if changed:
        merges = knock_out(merges, words, threshold, least=least, cascade=cascade, once=once)
    if annealing in ("after", "both"):
        merges = anneal(merges, words, count, share, most)
    return merges


def train_within_morphemes(
    words: Sequence[tuple[bytes, frozenset[int], int]], ranks: Sequence[int], size: int
) -> tuple[list[tuple[bytes, bytes]], list[bytes]]:
    """Train MorphBPE: no pair is counted or merged across a boundary.

    Args:
        words: bytes, boundaries as offsets, and count of each word.
        ranks: rank of each byte, for ties. Other tokens follow in order of creation.
        size: number of tokens wanted.

    Returns:
        The merged pairs in order, and all tokens, the 256 bytes first.

    >>> train_within_morphemes([(b'aab', frozenset({1}), 5)], list(range(256)), 300)[0]
    [(b'a', b'b')]
    """
    tokens = [bytes([byte]) for byte in range(256)]
    order = dict(zip(tokens, ranks, strict=True))
    spelt = [([bytes([byte]) for byte in word], cuts, count) for word, cuts, count in words]
    merges: list[tuple[bytes, bytes]] = []
    while len(tokens) < size:
        pairs: Counter[tuple[bytes, bytes]] = Counter()
        for parts, cuts, count in spelt:
            for place in _places_within(parts, cuts):
                pairs[parts[place], parts[place + 1]] += count
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], order[pair[0]], order[pair[1]]))
        for parts, cuts, _ in spelt:
            while places := [at for at in _places_within(parts, cuts) if (parts[at], parts[at + 1]) == best]:
                parts[places[0] : places[0] + 2] = [b"".join(best)]
        order[b"".join(best)] = len(tokens)
        tokens.append(b"".join(best))
        merges.append(best)
    return merges, tokens


def _places_within(parts: Sequence[bytes], cuts: frozenset[int]) -> list[int]:
    """Return the places of the pairs that do not cross a boundary."""
    ends = [len(b"".join(parts[:place])) for place in range(1, len(parts))]
    return [place for place, end in enumerate(ends) if end not in cuts]
