"""MinGram and MinGram-PP vocabulary construction.

The tokens of BPE are passed in with their occurrences. Tokens may be of any letters, and those of one letter always
stay, so that examples need no 256 bytes.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from tokbench.reference.pathpiece import lattice, shortest
from tokbench.reference.segmentation import likeliest_shortest

UNITS = 512
UNSEEN = 100 * UNITS
"""Cost of a letter that does not occur."""

Words = Sequence[tuple[bytes, int]]


def costs(occurrences: Mapping[bytes, int], total: int) -> dict[bytes, int]:
    """Return the cost of each token: the negated logarithm of its share of ``total``, in units of 1/512 nat."""
    return {token: -round(UNITS * math.log(times / total)) if times else UNSEEN for token, times in occurrences.items()}


def reestimate(words: Words, occurrences: Mapping[bytes, int], total: int) -> tuple[dict[bytes, int], int]:
    """Count each token in the likeliest shortest segmentation; drop unused tokens of two letters or more.

    Returns the tokens with their occurrences, and the sum of these.
    """
    by_cost, uses = costs(occurrences, total), Counter[bytes]()
    for word, count in words:
        for token in likeliest_shortest(word, by_cost):
            uses[token] += count
    return {token: uses[token] for token in occurrences if uses[token] or len(token) == 1}, uses.total()


def increases(words: Words, occurrences: Mapping[bytes, int], total: int) -> Counter[bytes]:
    """Return the tokens that the text gains without each token: a shortest path over a lattice without that edge."""
    by_cost, gains = costs(occurrences, total), Counter[bytes]()
    for word, count in words:
        edges, start = lattice(word, occurrences), 0
        least = shortest(edges, len(word))[-1]
        for token in likeliest_shortest(word, by_cost):
            edge = (start, start + len(token))
            if len(token) > 1:
                others = [other for other in edges if other != edge]
                gains[token] += count * (shortest(others, len(word))[-1] - least)
            start = edge[1]
    return gains


def cut(occurrences: Mapping[bytes, int], total: int, limit: int) -> dict[bytes, int]:
    """Return the letters and the ``wanted`` most frequent other tokens, with their costs; ties: the earlier one."""
    letters = [token for token in occurrences if len(token) == 1]
    learned = sorted((token for token in occurrences if len(token) > 1), key=lambda token: -occurrences[token])
    by_cost = costs(occurrences, total)
    return {token: by_cost[token] for token in letters + learned[:limit]}


def mingram(words: Words, occurrences: Mapping[bytes, int], limit: int, steps: int = 2) -> dict[bytes, int]:
    """Return MinGram's tokens with their costs, from those of BPE with their occurrences in order of creation.

    >>> mingram([('abab', 1)], {'a': 2, 'b': 2, 'ab': 2, 'ba': 1}, 1)
    {'a': 51200, 'b': 51200, 'ab': 0}
    """
    present = {token: max(1, times) for token, times in occurrences.items()}
    total = sum(present.values())
    for _ in range(steps):
        present, total = reestimate(words, present, total)
    return cut(present, total, limit)


def mingram_pp(words: Words, occurrences: Mapping[bytes, int], limit: int, steps: int = 2) -> dict[bytes, int]:
    """Return MinGram-PP's tokens in the same way. A round removes a tenth of the learned tokens, but at least one.

    >>> mingram_pp([('abab', 1)], {'a': 2, 'b': 2, 'ab': 2, 'ba': 1}, 1)
    {'a': 51200, 'b': 51200, 'ab': 0}
    """
    present = {token: max(1, times) for token, times in occurrences.items()}
    total = sum(present.values())
    while True:
        for _ in range(steps):
            present, total = reestimate(words, present, total)
        learned = [token for token in present if len(token) > 1]
        gone = min(len(learned) - limit, max(len(learned) // 10, 1))
        if gone > 0:
            gain, rank = increases(words, present, total), {token: place for place, token in enumerate(learned)}
            learned.sort(key=lambda token: (gain[token], present[token], -rank[token]))
            for token in learned[:gone]:
                del present[token]
        if len(learned) - max(gone, 0) <= limit:
            return cut(present, total, limit)
