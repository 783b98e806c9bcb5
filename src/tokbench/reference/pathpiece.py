"""PathPiece vocabulary construction."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator

Draw = Callable[[int], int]
MASK = (1 << 64) - 1


def widest(options: int) -> int:
    """Tie rule of PathPieceL: return the index of the widest last token, which is listed first."""
    return 0


def random_ties(text: bytes, key: int) -> Draw:
    """Tie rule of PathPieceR: return draws of splitmix64, seeded by the text's FNV-1a hash and the key."""
    state = 0xCBF29CE484222325
    for byte in text:
        state = (state ^ byte) * 0x100000001B3 & MASK
    state ^= key

    def draw(options: int) -> int:
        nonlocal state
        state = (state + 0x9E3779B97F4A7C15) & MASK
        mixed = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & MASK
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & MASK
        return (mixed ^ mixed >> 31) % options

    return draw


def lattice(text: bytes, vocabulary: Collection[bytes]) -> list[tuple[int, int]]:
    """Return (start, end) of every match of a token in the text, in order."""
    ends = range(1, len(text) + 1)
    return [(start, end) for start in range(len(text)) for end in ends if end > start and text[start:end] in vocabulary]


def shortest(edges: Iterable[tuple[int, int]], n: int) -> list[int]:
    """Return the fewest edges from 0 to each position; ``edges`` in order of their starts."""
    reach = [0] + [n + 1] * n
    for start, end in edges:
        reach[end] = min(reach[end], reach[start] + 1)
    return reach


def segment(text: bytes, vocabulary: Collection[bytes], draw: Draw = widest) -> Iterator[tuple[int, int]]:
    """Yield a shortest segmentation as (start, end), last token first."""
    edges = lattice(text, vocabulary)
    reach = shortest(edges, len(text))
    place = len(text)
    while place:
        starts = [start for start, end in edges if end == place and reach[start] + 1 == reach[place]]
        start = starts[draw(len(starts)) if len(starts) > 1 else 0]
        yield start, place
        place = start


def costs(
    pretokens: Iterable[tuple[bytes, int]], vocabulary: Collection[bytes], key: int | None = None
) -> tuple[Counter[bytes], Counter[bytes], int]:
    """Return the cost of removing each token of two bytes or more, its occurrences, and the number of tokens.

    The cost is found by brute force: a shortest path over a lattice without that edge.

    >>> increases, occurrences, total = costs([(b'abc', 2)], {b'a', b'b', b'c', b'ab', b'abc'})
    >>> increases, occurrences, total
    (Counter({b'abc': 2}), Counter({b'abc': 2}), 2)
    """
    increases, occurrences, total = Counter[bytes](), Counter[bytes](), 0
    for text, count in pretokens:
        edges = lattice(text, vocabulary)
        least = shortest(edges, len(text))[-1]
        total += count * least
        for start, end in segment(text, vocabulary, widest if key is None else random_ties(text, key)):
            if end - start > 1:
                others = [edge for edge in edges if edge != (start, end)]
                occurrences[text[start:end]] += count
                increases[text[start:end]] += count * (shortest(others, len(text))[-1] - least)
    return increases, occurrences, total


def drops(order: Iterable[bytes], limit: int) -> list[bytes]:
    """Return the first tokens that are not substrings of a token already returned."""
    dropped: list[bytes] = []
    for token in order:
        if len(dropped) < limit and not any(token in other for other in dropped):
            dropped.append(token)
    return dropped


def build(pretokens: list[tuple[bytes, int]], initial: list[bytes], sizes: Iterable[int]) -> list[bytes]:
    """Return PathPieceL's vocabulary from ``initial`` (the 256 bytes first), reduced to each of ``sizes`` in turn."""
    tokens = list(initial)
    for target in sizes:
        while len(tokens) > target:
            increases, occurrences, _ = costs(pretokens, set(tokens))
            order = sorted(tokens[256:], key=lambda token: (increases[token], occurrences[token], token))
            gone = set(drops(order, len(tokens) - target))
            tokens = [token for token in tokens if token not in gone]
    return tokens
