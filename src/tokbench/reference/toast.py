"""ToaST: split trees, segmentation, and the best vocabulary by brute force."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations

Words = Sequence[tuple[bytes, int]]


def known(words: Words, min_count: int) -> dict[bytes, int]:
    """Return the occurrences, including overlapping ones, of frequent substrings and of all 256 bytes."""
    counts: Counter[bytes] = Counter({bytes([byte]): 0 for byte in range(256)})
    for word, count in words:
        for start in range(len(word)):
            for end in range(start + 1, len(word) + 1):
                counts[word[start:end]] += count
    return {text: times for text, times in counts.items() if times >= min_count or len(text) == 1}


def split(text: bytes, counts: Mapping[bytes, int]) -> int:
    """Return the length of the left part: the greatest count of the rarer part; ties: the shortest left part.

    If no split has two known parts, the left part is the longest known proper prefix.
    """
    both = [place for place in range(1, len(text)) if text[:place] in counts and text[place:] in counts]
    if both:
        return max(both, key=lambda place: (min(counts[text[:place]], counts[text[place:]]), -place))
    return max(place for place in range(1, len(text)) if text[:place] in counts)


def nodes(text: bytes, counts: Mapping[bytes, int]) -> Iterator[bytes]:
    """Yield the nodes of two bytes or more of a split tree, from the root and from the left."""
    if len(text) > 1:
        place = split(text, counts)
        yield text
        yield from nodes(text[:place], counts)
        yield from nodes(text[place:], counts)


def segment(text: bytes, tokens: Collection[bytes], counts: Mapping[bytes, int]) -> list[bytes]:
    """Return the topmost nodes that are tokens.

    >>> counts = known([(b'banana', 1)], 1)
    >>> segment(b'banana', {b'b', b'a', b'n', b'ana'}, counts)
    [b'b', b'a', b'n', b'ana']
    """
    if not text:
        return []
    if text in tokens:
        return [text]
    place = split(text, counts)
    return segment(text[:place], tokens, counts) + segment(text[place:], tokens, counts)


def fewest(words: Words, counts: Mapping[bytes, int], number: int) -> int:
    """Return the fewest tokens of any vocabulary with ``wanted`` nodes in addition to the bytes."""
    candidates = sorted({node for word, _ in words for node in nodes(word, counts)})
    alphabet = {bytes([byte]) for byte in range(256)}
    return min(
        sum(count * len(segment(word, {*alphabet, *selection}, counts)) for word, count in words)
        for selection in combinations(candidates, min(number, len(candidates)))
    )
