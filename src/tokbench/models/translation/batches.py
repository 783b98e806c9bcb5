"""Sentences as ids, and batches of so many tokens."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tokbench.models.translation.options import END, PADDING, SPECIAL
from tokbench.tokenizer import Tokenizer

Ids = list[NDArray[np.int32]]


def encoded(tokenizer: Tokenizer, sentences: Sequence[str], most: int) -> Ids:
    """Ids of each sentence, int32 [tokens + 1], with its end; those of longer ones are cut to ``most``."""
    end = np.array([END], np.int32)
    return [np.concatenate([ids[: most - 1] + SPECIAL, end]) for ids in tokenizer.encode_batch(sentences)]


def decoded(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """The sentence that ids spell up to their end; bytes that are not UTF-8 give replacement characters."""
    own = list(ids)
    own = own[: own.index(END)] if END in own else own
    return tokenizer.decode([one - SPECIAL for one in own if one >= SPECIAL]).decode("utf-8", "replace").strip()


def batches(
    source: NDArray[np.int64], target: NDArray[np.int64], tokens: int, seed: Sequence[int]
) -> list[NDArray[np.int64]]:
    """The pairs of each batch of an epoch, pairs of like length together, batches in random order.

    The number of batches is the same for every seed.

    Args:
        source, target: tokens of each sentence, none longer than ``tokens``.
        tokens: sentences of a batch times the longest of them are no more, on either side.
        seed: decides which of equally long pairs come together, and the order.

    Returns:
        Places of pairs, int64; each pair is in one batch.
    """
    rng = np.random.default_rng(seed)
    order = np.lexsort((rng.random(len(source)), source, target))
    widths = np.maximum(source, target)[order]
    cuts = [0]
    width = 0
    for place, own in enumerate(widths.tolist()):
        width = max(width, own)
        if width * (place + 1 - cuts[-1]) > tokens:
            cuts.append(place)
            width = own
    found = np.split(order, cuts[1:])
    return [found[place] for place in rng.permutation(len(found))]


def padded(sentences: Sequence[NDArray[np.int32]]) -> NDArray[np.int64]:
    """Ids of several sentences, int64 [sentences, longest]."""
    rows = np.full((len(sentences), max(map(len, sentences))), PADDING, np.int64)
    for row, ids in zip(rows, sentences, strict=True):
        row[: len(ids)] = ids
    return rows
