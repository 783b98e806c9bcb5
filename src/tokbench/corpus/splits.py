"""Splits: which document serves which purpose."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError

SPLITS = ("byte_lm", "tokenizer", "evaluation", "pretraining")
"""Training of byte language models; construction of vocabularies; every measure and task; pretraining."""


def split_documents(
    sizes: Sequence[int], fractions: Mapping[str, float], seed: int, languages: Sequence[str] | None = None
) -> list[str | None]:
    """Assign each document to one split, so that the splits' shares of bytes follow the fractions in each language.

    Documents of a language are laid out in a seeded random order; the split whose interval holds a document's middle
    byte takes it. Exact shares are reached within one document's size, which matters for corpora of a few long
    documents where independent draws would leave splits empty.

    Args:
        sizes: bytes of each document.
        fractions: share of each split, in order; what is missing to 1 is left unused.
        seed: decides the order.
        languages: the language of each document; one language where it is left out.

    Returns:
        The split of each document, None for unused ones.

    Raises:
        TokbenchError: a split with a positive fraction gets no document.
    """
    lengths = np.asarray(sizes, dtype=np.float64)
    order = np.argsort(_mix(np.arange(len(lengths), dtype=np.uint64), seed), kind="stable")
    tags = np.unique(languages, return_inverse=True)[1] if languages else np.zeros(len(lengths), np.int64)
    names = [*fractions, None]
    assigned: list[str | None] = [None] * len(lengths)
    for tag in np.unique(tags):
        own = order[tags[order] == tag]
        middles = np.cumsum(lengths[own]) - lengths[own] / 2
        edges = np.cumsum(list(fractions.values())) * lengths[own].sum()
        places = np.searchsorted(edges, middles, side="right")
        for document, place in zip(own.tolist(), places.tolist(), strict=True):
            assigned[document] = names[min(place, len(names) - 1)]
    for name, fraction in fractions.items():
        if fraction > 0 and name not in assigned:
            raise TokbenchError(
                f"split '{name}' ({fraction:.0%}) gets none of the {len(lengths)} documents; "
                "raise its fraction or cut the corpus into more documents"
            )
    return assigned


def _mix(values: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014): a fixed hash, so that splits never change."""
    mixed = values + np.uint64((seed + 1) * 0x9E3779B97F4A7C15 % 2**64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
