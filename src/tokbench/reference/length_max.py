"""Length-MAX: every n-gram of the current tokens is counted for every choice."""

from collections import Counter

Words = list[tuple[bytes, int]]


def spans(tokens: list[bytes], longest: int) -> list[bytes]:
    """Return the strings of two or more adjacent tokens, up to ``longest`` bytes, also where they overlap."""
    strings = (
        b"".join(tokens[first:last]) for first in range(len(tokens)) for last in range(first + 2, len(tokens) + 1)
    )
    return [string for string in strings if len(string) <= longest]


def replaced(tokens: list[bytes], new: bytes) -> list[bytes]:
    """Return the tokens with each occurrence of ``new`` as one token, from the left."""
    result: list[bytes] = []
    first = 0
    while first < len(tokens):
        ends = range(first + 1, len(tokens) + 1)
        last = next((last for last in ends if b"".join(tokens[first:last]) == new), first + 1)
        result.append(b"".join(tokens[first:last]))
        first = last
    return result


def choose(words: Words, longest: int, least: int, limit: int) -> list[tuple[bytes, int]]:
    """Return the tokens in order of choice, each with length times frequency.

    Args:
        words: pre-tokens with their counts.
        longest: longest token, in bytes.
        least: smallest frequency of a token.
        limit: number of tokens.

    Ties: the shorter token, then the lesser bytes.

    >>> choose([(b'banana', 1)], 3, 2, 2)
    [(b'ana', 6)]
    """
    texts = [([bytes([byte]) for byte in word], count) for word, count in words]
    choice: list[tuple[bytes, int]] = []
    while len(choice) < limit:
        frequencies: Counter[bytes] = Counter()
        for tokens, count in texts:
            for string in spans(tokens, longest):
                frequencies[string] += count
        scores = {string: len(string) * times for string, times in frequencies.items() if times >= least}
        if not scores:
            break
        best = min(scores, key=lambda string: (-scores[string], len(string), string))
        choice.append((best, scores[best]))
        texts = [(replaced(tokens, best), count) for tokens, count in texts]
    return choice
