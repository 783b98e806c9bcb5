"""Parity-aware BPE, with every pair counted again at each step, and the Gini coefficient in fractions.

Each step chooses a language, then merges its most frequent pair in the words of all languages.
"""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

from tokbench.reference.bpe import join

Words = list[tuple[bytes, int]]
Order = Callable[[bytes], tuple[int, ...]]
"""Sorting key of a token for ties; the greatest (left, right) is merged."""


def parity_bpe(
    languages: Sequence[Words],
    development: Sequence[Words] | None,
    size: int,
    order: Order | None,
    ranks: Sequence[int],
    *,
    ratios: Sequence[float] = (),
    common_merges: int = 0,
    window: int = 0,
    alpha: float = 2.0,
    min_count: int = 2,
    skip: bool = False,
) -> tuple[list[tuple[int, int]], list[int | None], list[int]]:
    """Return the merged pairs, the language that each was chosen for, and the tokens of each language at the end.

    The language is None for the first ``common_merges`` merges. Tokens are those of the development sets, if any.
    Without an ``order``, the pair with the lowest ranks is merged; merged tokens follow in order of creation.

    >>> texts = [[(b'abab', 1)], [(b'cd', 3)]]
    >>> merges, languages, lengths = parity_bpe(texts, None, 258, tuple, (), ratios=(1.0, 1.0), min_count=1)
    >>> merges, languages, lengths
    ([(97, 98), (99, 100)], [0, 1], [2, 3])
    """
    texts = [[(list(word), count) for word, count in words] for words in languages]
    tests = [[(list(word), count) for word, count in words] for words in development or ()]
    tokens = [bytes([byte]) for byte in range(256)]
    order_of = list(ranks)
    start = [total(text) for text in texts]
    recent: deque[int] = deque(maxlen=window or None)
    merges: list[tuple[int, int]] = []
    merge_languages: list[int | None] = []
    left_out: set[int] = set()

    def need(language: int) -> float:
        if development is not None:
            return total(tests[language])
        return -(float(start[language]) / float(total(texts[language])) / ratios[language])

    # After the common merges, each merge is that of the language with the greatest need.
    while len(tokens) < size:
        language: int | None = None
        trained = texts
        if len(merges) >= common_merges:
            queue = sorted(
                (number for number in range(len(texts)) if number not in left_out), key=lambda number: -need(number)
            )
            if not queue:
                break
            allowed = (number for number in queue if not window or recent.count(number) / window <= alpha / len(texts))
            language = next(allowed, queue[0])
            trained = [texts[language]]
        best = best_pair([word for text in trained for word in text], tokens, order, order_of, min_count)
        if best is None and (language is None or not skip):
            break
        if best is None:
            assert language is not None
            left_out.add(language)
            continue
        if language is not None and window:
            recent.append(language)
        for text in (*texts, *tests):
            for word, _ in text:
                join(word, best, len(tokens))
        order_of.append(len(tokens))
        tokens.append(tokens[best[0]] + tokens[best[1]])
        merges.append(best)
        merge_languages.append(language)
    return merges, merge_languages, [total(text) for text in (tests if development is not None else texts)]


def total(text: Sequence[tuple[list[int], int]]) -> int:
    """Return the number of tokens of split words."""
    return sum(len(word) * count for word, count in text)


def best_pair(
    words: Sequence[tuple[list[int], int]],
    tokens: Sequence[bytes],
    order: Order | None,
    ranks: Sequence[int],
    min_count: int,
) -> tuple[int, int] | None:
    """Return the most frequent pair of ids; None if no pair is frequent enough."""
    pairs: Counter[tuple[int, int]] = Counter()
    for word, count in words:
        for pair in pairwise(word):
            pairs[pair] += count
    if not pairs or max(pairs.values()) < min_count:
        return None
    if order is None:
        return min(pairs, key=lambda pair: (-pairs[pair], ranks[pair[0]], ranks[pair[1]]))
    return max(pairs, key=lambda pair: (pairs[pair], order(tokens[pair[0]]), order(tokens[pair[1]])))


def gini(costs: Sequence[Fraction]) -> Fraction:
    """Return the Gini coefficient: the mean difference of all ordered pairs, divided by twice the mean."""
    differences = sum((abs(cost - other_cost) for cost in costs for other_cost in costs), Fraction())
    return differences / (2 * len(costs) * sum(costs, Fraction()))
