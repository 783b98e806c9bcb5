"""Splits: which document serves which purpose."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokbench.errors import TokbenchError

SPLITS = ("byte_lm", "tokenizer", "evaluation", "pretraining")
"""Training of byte language models; construction of vocabularies; every measure and task; pretraining."""
UNUSED = -1
"""In place of a split's number, for documents that serve none."""


def split_documents(
    sizes: ArrayLike, fractions: Mapping[str, float], seed: int, languages: ArrayLike | None = None
) -> NDArray[np.int8]:
    """Assign each document to one split, so that the splits' shares of bytes follow the fractions in each language.

    Documents of a language are laid out in a seeded random order; the split whose interval holds a document's middle
    byte takes it. Exact shares are reached within one document's size, which matters for corpora of a few long
    documents where independent draws would leave splits empty.

    Args:
        sizes: bytes of each document, int64 [n].
        fractions: share of each split, in order; what is missing to 1 is left unused.
        seed: decides the order.
        languages: a number for the language of each document, int32 [n]; one language where it is left out.

    Returns:
        The split of each document as its place among the fractions, int8 [n]; :data:`UNUSED` for unused ones.

    Raises:
        TokbenchError: a split with a positive fraction gets no document.
    """
    lengths = np.asarray(sizes)
    order = np.argsort(_mix(np.arange(len(lengths), dtype=np.uint64), seed), kind="stable")
    shares = np.cumsum(list(fractions.values()))
    places = np.array([*range(len(fractions)), UNUSED], np.int8)
    assigned = np.full(len(lengths), UNUSED, np.int8)
    for own in _by_language(order, languages):
        middles = lengths[own].astype(np.float64)
        edges = shares * middles.sum()
        middles = np.cumsum(middles) - middles / 2
        assigned[own] = places[np.searchsorted(edges, middles, side="right")]
    for place, (name, fraction) in enumerate(fractions.items()):
        if fraction > 0 and not (assigned == place).any():
            raise TokbenchError(
                f"split '{name}' ({fraction:.0%}) gets none of the {len(lengths)} documents; "
                "raise its fraction or cut the corpus into more documents"
            )
    return assigned


def _by_language(order: NDArray[np.int64], languages: ArrayLike | None) -> Iterator[NDArray[np.int64]]:
    """The documents of each language, in their order."""
    if languages is None:
        yield order
        return
    tags = np.asarray(languages)[order]
    together = np.argsort(tags, kind="stable")
    order, tags = order[together], tags[together]
    yield from np.split(order, np.flatnonzero(tags[1:] != tags[:-1]) + 1)


def _mix(values: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014): a fixed hash, so that splits never change."""
    mixed = values + np.uint64((seed + 1) * 0x9E3779B97F4A7C15 % 2**64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
