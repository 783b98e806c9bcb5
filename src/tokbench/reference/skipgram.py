"""Plain-Python reference of skip-gram with negative sampling, draw for draw, in double precision."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tokbench.reference.splitmix import numbers


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
    """Input embeddings, float64 [tokens, dimensions]."""
    draws = numbers(seed)
    drawn = [(next(draws) >> 11) * 2.0**-53 for _ in range(tokens * dimensions)]
    inputs = (np.reshape(drawn, (tokens, dimensions)) - 0.5) / dimensions
    outputs = np.zeros((tokens, dimensions))
    counts = np.bincount([token for sentence in sentences for token in sentence], minlength=tokens)
    inputs[counts > 0] *= 2
    total = int(counts.sum())
    seen = np.flatnonzero(counts)
    excess = np.where(counts > 0, counts, 1) / (sample * total)
    kept_share = (np.minimum((np.sqrt(excess) + 1) / excess, 1) * (2**32 - 1)).astype(np.int64)
    thresholds, aliases = alias_table(counts[seen] ** 0.75)
    done = 0
    for sentence in [*sentences] * epochs:
        now = max(1e-4, rate - (rate - 1e-4) * done / (epochs * total))
        done += len(sentence)
        kept = [token for token in sentence if next(draws) >> 32 <= kept_share[token]]
        for place, centre in enumerate(kept):
            reach = window - ((next(draws) >> 32) * window >> 32)
            targets = [centre]
            for _ in range(negatives):
                number = next(draws)
                column = (number >> 32) * len(seen) >> 32
                other = seen[column if number & 0xFFFFFFFF <= thresholds[column] else aliases[column]]
                targets += [other] if other != centre else []
            for neighbour in range(max(0, place - reach), min(len(kept), place + reach + 1)):
                if neighbour == place:
                    continue
                row, rows = inputs[kept[neighbour]].copy(), outputs[targets]
                products = rows @ row
                steps = now * ((np.arange(len(targets)) == 0) - 1 / (1 + np.exp(-products))) * (abs(products) < 6)
                # a row that is drawn twice has changed when it comes up again
                for target, step in zip(targets, steps, strict=True):
                    inputs[kept[neighbour]] += step * outputs[target]
                    outputs[target] += step * row
    return inputs
