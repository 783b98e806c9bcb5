"""Documents in pieces: splits, shards and limits are those of whole documents, whose pieces stay together."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

LONGEST = b"longest"


def whole_sizes(sizes: NDArray[np.integer], rests: ArrayLike) -> NDArray[np.integer]:
    """Bytes of documents, [documents].

    Args:
        sizes: of the pieces, [pieces]; these themselves are given back where every document is one.
        rests: which of them belong to the document before, ascending.
    """
    places = np.asarray(rests, np.int64)
    if not len(places):
        return sizes
    whole = np.delete(sizes, places)
    cut, which = np.unique(documents_of(places), return_inverse=True)
    sums = whole[cut].astype(np.int64)
    np.add.at(sums, which, sizes[places])
    whole = whole if sums.max() <= np.iinfo(whole.dtype).max else whole.astype(np.int64)
    whole[cut] = sums
    return whole


def documents_of(rests: NDArray[np.int64]) -> NDArray[np.int64]:
    """The document that each of these pieces belongs to, int64 [rests]: all but them are a document's first."""
    return rests - np.arange(1, len(rests) + 1)


def of_pieces(values: NDArray[Any], rests: ArrayLike) -> NDArray[Any]:
    """For each piece the value of its document, [pieces]."""
    places = np.asarray(rests, np.int64)
    documents = documents_of(places)
    return np.insert(values, documents + 1, values[documents]) if len(places) else values


def told_of_cuts(rests: ArrayLike, longest: int | None) -> dict[str, str]:
    """How many documents were cut into how many pieces, and why, for the manifest; empty where none was."""
    documents = documents_of(np.asarray(rests, np.int64))
    if not len(documents):
        return {}
    number = len(np.unique(documents))
    some = "1 document" if number == 1 else f"{number:,} documents"
    cut = f"{some} of more than {longest:,} bytes (longest_document) cut into {number + len(documents):,}"
    return {"cut_documents": cut}


def longest_in(metadata: dict[bytes, bytes] | None) -> int:
    """Bytes of the longest document as a file of sizes or of places tells where it has documents in pieces, or 0."""
    return int((metadata or {}).get(LONGEST, 0))
