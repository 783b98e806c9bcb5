"""Unigram model by brute force: every segmentation and every substring of every word."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise


def repeats(
    words: list[tuple[bytes, int]], max_length: int, by_occurrence: bool, distinct_ends: bool
) -> dict[bytes, int]:
    """Return the substrings that cannot be extended without losing occurrences, with counts. Bytes are characters."""
    counts: Counter[bytes] = Counter()
    ends: dict[bytes, set[object]] = {}
    for index, (word, count) in enumerate(words):
        for start in range(len(word)):
            for end in range(start + 1, min(len(word), start + max_length) + 1):
                part = word[start:end]
                counts[part] += count if by_occurrence or end - start == 1 else 1
                whole = start == 0 and end == len(word)
                follows = word[end] if end < len(word) else ("end", index, whole) if distinct_ends else "end"
                ends.setdefault(part, set()).add(follows)

    def kept(part: bytes) -> bool:
        ways = ends[part]
        alone = len(ways) == 1 and counts[part] > 1
        return len(part) == 1 or len(ways) > 1 or (alone and any(way[2] for way in ways if isinstance(way, tuple)))

    return {part: count for part, count in counts.items() if kept(part)}


def allowed(piece: str, script: bool, number: bool, whitespace: bool, digits: bool, alphabet: str) -> bool:
    """Return whether sentencepiece's rules allow a piece. All letters are Latin except я, о and 日, ア."""
    classes = {
        **dict.fromkeys("яо", "Cyrl"),
        **dict.fromkeys("日ア", "Hani"),
        **dict.fromkeys("0٣!", "Zyyy"),
        " ": None,
    }
    if not number:
        classes["0"] = None
    scripts = [classes.get(character, "Latn") for character in piece]
    crossed = any(left and right and left != right for left, right in pairwise(scripts))
    return not (
        (script and crossed)
        or (whitespace and " " in piece[1:])
        or (digits and "0" in piece)
        or any(character not in alphabet for character in piece)
    )


def segmentations(text: bytes, tokens: set[bytes]) -> Iterator[list[bytes]]:
    if not text:
        yield []
    for end in range(1, len(text) + 1):
        if text[:end] in tokens:
            yield from ([text[:end], *rest] for rest in segmentations(text[end:], tokens))


def expect(
    words: list[tuple[bytes, int]], probabilities: dict[bytes, float]
) -> tuple[defaultdict[bytes, float], float]:
    """Return the expected occurrences of each token and the log-likelihood of the words.

    >>> expected, likelihood = expect([(b'ab', 1)], {b'a': 0.5, b'b': 0.25, b'ab': 0.125})
    >>> dict(expected), round(likelihood, 2)
    ({b'a': 0.5, b'b': 0.5, b'ab': 0.5}, -1.39)
    """
    expected: defaultdict[bytes, float] = defaultdict(float)
    likelihood = 0.0
    for word, count in words:
        ways = [
            (way, math.prod(probabilities[token] for token in way)) for way in segmentations(word, set(probabilities))
        ]
        total = sum(probability for _, probability in ways)
        likelihood += count * math.log(total)
        for way, probability in ways:
            for token in way:
                expected[token] += count * probability / total
    return expected, likelihood


def best(text: bytes, scores: dict[bytes, float]) -> list[bytes]:
    """Return the segmentation with the greatest score."""
    return max(segmentations(text, set(scores)), key=lambda way: math.fsum(scores[token] for token in way))


def loss(token: bytes, scores: dict[bytes, float], occurrences: Counter[bytes], growth: int) -> float:
    """Return the loss per token of the text when a token is replaced by its best segmentation without it."""
    others = {other: score for other, score in scores.items() if other != token}
    if not any(True for _ in segmentations(token, set(others))):
        return math.inf
    if occurrences[token] == 0:
        return -math.inf
    way = best(token, others)
    if sum(scores[piece] for piece in way) > scores[token]:
        return math.inf
    total, count = occurrences.total(), occurrences[token]
    before = math.log(count / total)
    grown = total + count * (growth if growth >= 0 else len(way) - 1)
    after = sum(math.log((occurrences[piece] + count) / grown) for piece in way)
    return count / total * (before - after)
