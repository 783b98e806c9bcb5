"""SaGe's ablation loss, and skip-gram with negative sampling with the kernel's draws, in double precision."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import exp, log1p

import numpy as np
from numpy.typing import NDArray

from tokbench.reference.numbers import numbers

PAD = 2
Triple = tuple[bytes, bytes, bytes]


def greedy(text: bytes, vocabulary: Collection[bytes], limit: int | None = None) -> bytes:
    """Return the longest token at the start of the text, of at most ``limit`` bytes."""
    widths = range(len(text) if limit is None else limit, 0, -1)
    return next(text[:width] for width in widths if text[:width] in vocabulary)


def segment(line: bytes, vocabulary: Collection[bytes]) -> list[bytes]:
    """Segment a line by the longest match.

    >>> segment(b'banana', {b'b', b'a', b'n', b'an', b'ana'})
    [b'b', b'ana', b'n', b'a']
    """
    tokens: list[bytes] = []
    while line:
        tokens.append(greedy(line, vocabulary))
        line = line[len(tokens[-1]) :]
    return tokens


def replacement_of(
    line: bytes, base: Sequence[bytes], index: int, vocabulary: Collection[bytes]
) -> tuple[list[bytes], int]:
    """Return the replacement of token ``index``, and the index of the first unchanged token after it."""
    boundaries = [sum(map(len, base[:count])) for count in range(len(base) + 1)]
    place = boundaries[index]
    tokens = [greedy(line[place:], vocabulary, len(base[index]) - 1)]
    place += len(tokens[0])
    while place not in boundaries:
        tokens.append(greedy(line[place:], vocabulary))
        place += len(tokens[-1])
    return tokens, boundaries.index(place)


def pairs(left: Sequence[bytes], centre: Sequence[bytes], right: Sequence[bytes]) -> Iterable[tuple[bytes, bytes]]:
    """Yield ordered pairs at distance 1 or 2 with at least one member in the centre."""
    tokens = [*left, *centre, *right]
    inside = range(len(left), len(left) + len(centre))
    for target, token in enumerate(tokens):
        for context, other in enumerate(tokens):
            if 0 < abs(target - context) <= PAD and (target in inside or context in inside):
                yield token, other


def triples(line: bytes, vocabulary: Collection[bytes]) -> Counter[Triple]:
    """Count (ablated token, target, context): occurrences in the ablated line minus those in the original line.

    >>> triples(b'xab', {b'x', b'a', b'b', b'ab'})[b'ab', b'x', b'b']
    1
    """
    base = segment(line, vocabulary)
    differences: Counter[Triple] = Counter()
    for index, token in enumerate(base):
        if len(token) > 1:
            centre, after = replacement_of(line, base, index, vocabulary)
            left, right = base[max(0, index - PAD) : index], base[after : after + PAD]
            differences.update((token, *pair) for pair in pairs(left, centre, right))
            differences.subtract((token, *pair) for pair in pairs(left, base[index:after], right))
    return differences


def losses(counts: Mapping[Triple, int], embeddings: Mapping[bytes, Sequence[float]]) -> dict[bytes, float]:
    """Return -sum n log sigmoid(target . context) for each ablated token."""
    result: dict[bytes, float] = {}
    for (token, target, context), n in counts.items():
        product = sum(x * y for x, y in zip(embeddings[target], embeddings[context], strict=True))
        result[token] = result.get(token, 0.0) + n * (max(-product, 0) + log1p(exp(-abs(product))))
    return result


def train(
    sentences: Sequence[Sequence[int]],
    tokens: int,
    alias_table: Callable[[NDArray[np.float64]], tuple[Sequence[int], Sequence[int]]],
    *,
    dimensions: int,
    negatives: int,
    window: int,
    epochs: int,
    sample: float,
    rate: float,
    seed: int,
) -> NDArray[np.float64]:
    """Return input embeddings, float64 [tokens, dimensions]."""
    draws = numbers(seed)
    values = [(next(draws) >> 11) * 2.0**-53 for _ in range(tokens * dimensions)]
    inputs = (np.reshape(values, (tokens, dimensions)) - 0.5) / dimensions
    outputs = np.zeros((tokens, dimensions))
    counts = np.bincount([token for sentence in sentences for token in sentence], minlength=tokens)
    inputs[counts > 0] *= 2
    total = int(counts.sum())
    present = np.flatnonzero(counts)
    excess = np.where(counts > 0, counts, 1) / (sample * total)
    kept_share = (np.minimum((np.sqrt(excess) + 1) / excess, 1) * (2**32 - 1)).astype(np.int64)
    thresholds, aliases = alias_table(counts[present] ** 0.75)
    done = 0
    for sentence in [*sentences] * epochs:
        step_size = max(1e-4, rate - (rate - 1e-4) * done / (epochs * total))
        done += len(sentence)
        kept_tokens = [token for token in sentence if next(draws) >> 32 <= kept_share[token]]
        for place, centre in enumerate(kept_tokens):
            reach = window - ((next(draws) >> 32) * window >> 32)
            targets = [centre]
            for _ in range(negatives):
                number = next(draws)
                column = (number >> 32) * len(present) >> 32
                other = present[column if number & 0xFFFFFFFF <= thresholds[column] else aliases[column]]
                targets += [other] if other != centre else []
            for neighbour in range(max(0, place - reach), min(len(kept_tokens), place + reach + 1)):
                if neighbour == place:
                    continue
                row, rows = inputs[kept_tokens[neighbour]].copy(), outputs[targets]
                products = rows @ row
                steps = step_size * ((np.arange(len(targets)) == 0) - 1 / (1 + np.exp(-products))) * (abs(products) < 6)
                # A row drawn twice has changed by its second use.
                for target, step in zip(targets, steps, strict=True):
                    inputs[kept_tokens[neighbour]] += step * outputs[target]
                    outputs[target] += step * row
    return inputs
