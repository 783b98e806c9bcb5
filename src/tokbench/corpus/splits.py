"""Assignment of documents to splits, in the configured shares of bytes.

Splits, shards and limits apply to complete documents; the pieces of a long document stay together.
"""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokbench.errors import TokbenchError

UNUSED = -1
"""Split number of documents that are in no split."""
CHUNK = 1 << 17
"""Number of documents processed at a time."""
BITS = 4
"""Leading bits of the hash that orders documents. They determine the number of passes, at most 16."""
LONGEST = b"longest"


def split_documents(
    sizes: ArrayLike,
    fractions: Mapping[str, float],
    seed: int,
    languages: ArrayLike | None = None,
    units: NDArray[np.int32] | None = None,
) -> NDArray[np.int8]:
    """Assign each document to one split, so that the splits' shares of bytes follow the fractions in each language.

    The documents of a language are arranged in a seeded random order. A document goes to the split whose interval
    contains its middle byte. The shares are exact up to the size of one document. Independent draws would leave splits
    of a corpus of few long documents empty. Memory is about five bytes per document, in addition to arguments and
    result.

    Args:
        sizes: bytes of each document, int64 [n].
        fractions: share of each split, in order; if their sum is below 1, the rest is unused.
        seed: seed of the order.
        languages: language index of each document, from 0, int32 [n] (default: one language).
        units: unit index of each document, from 0, int32 [n]. The documents of a unit fall into one split and count as
            one document in the language of the first (default: each document is a unit).

    Returns:
        The split of each document as an index into ``fractions``, int8 [n]; :data:`UNUSED` for unused documents.

    Raises:
        TokbenchError: a split with a positive fraction gets no document.
    """
    # A unit is one document in the language of its first one.
    if units is not None:
        first = np.unique(units, return_index=True)[1]
        of_units = None if languages is None else np.asarray(languages)[first]
        together = np.bincount(units, np.asarray(sizes)).astype(np.int64)
        return split_documents(together, fractions, seed, of_units)[units]
    lengths, shares = np.asarray(sizes), np.cumsum(list(fractions.values()))
    lengths = lengths if lengths.dtype.kind == "i" else lengths.astype(np.int64)
    tags = np.zeros(len(lengths), np.int8) if languages is None else np.asarray(languages, np.int32)
    totals = _totals(lengths, tags)
    passed = np.zeros(len(totals), np.int64)
    assigned = np.full(len(lengths), UNUSED, np.int8)
    places = np.array([*range(len(fractions)), UNUSED], np.int8)
    # Documents of each language in random order: the middle byte of a document decides its split.
    for batch in _random_batches(len(lengths), seed):
        order = batch[np.argsort(tags[batch], kind="stable")]
        of, reached = tags[order], np.cumsum(lengths[order], dtype=np.int64)
        first = np.flatnonzero(np.diff(of, prepend=-1))
        last = np.append(first, len(order))[1:] - 1
        before = reached[first] - lengths[order[first]]
        reached += np.repeat(passed[of[first]] - before, last - first + 1)
        passed[of[first]] = reached[last]
        middles = reached - lengths[order] / 2
        intervals = np.zeros(len(order), np.int8)
        for share in shares:
            intervals += share * totals[of] <= middles
        assigned[order] = places[intervals]
    # No split with a share may be empty.
    for place, (name, fraction) in enumerate(fractions.items()):
        if fraction > 0 and not (assigned == place).any():
            raise TokbenchError(
                f"split '{name}' ({fraction:.0%}) gets none of the {len(lengths)} documents; "
                "raise its fraction, set it to 0 where nothing reads the split, or cut the corpus into more documents"
            )
    return assigned


def shards_of(splits: NDArray[np.int8], shards: int, dealt: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the shard of each document over all splits, int32 [n]: document k of a split is in its shard k mod
    ``shards``.

    Args:
        splits: split of each document, :data:`UNUSED` for documents without a shard.
        shards: number of shards per split.
        dealt: number of earlier documents of each split, int64 [splits]; updated in place.
    """
    places = np.full(len(splits), UNUSED, np.int32)
    for split in range(len(dealt)):
        members = np.flatnonzero(splits == split)
        places[members] = split * shards + (dealt[split] + np.arange(len(members))) % shards
        dealt[split] += len(members)
    return places


def _totals(lengths: NDArray[np.integer], tags: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return the bytes of each language; sums are exact below 2^53."""
    totals = np.zeros(int(tags.max(initial=-1)) + 1)
    for first in range(0, len(lengths), CHUNK):
        chunk = slice(first, first + CHUNK)
        totals += np.bincount(tags[chunk], lengths[chunk], len(totals))
    return totals


def _random_batches(number: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Yield the documents in their seeded random order, in batches.

    The order is that of a hash. Each pass sorts the documents with the same leading bits, which needs little memory.
    """
    bits = min(BITS, (number // CHUNK).bit_length())
    for start in range(1 << bits):
        numbers, keys = [np.empty(0, np.int64)], [np.empty(0, np.uint64)]
        for first in range(0, number, CHUNK):
            mixed = mix(np.arange(first, min(first + CHUNK, number), dtype=np.uint64), seed)
            members = np.flatnonzero(mixed >> np.uint64(64 - BITS) >> np.uint64(BITS - bits) == start)
            numbers.append(members + first)
            keys.append(mixed[members])
        yield np.concatenate(numbers)[np.argsort(np.concatenate(keys), kind="stable")]


def mix(values: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """Return the SplitMix64 finaliser (Steele, Lea and Flood 2014) of uint64 values and a seed, a fixed hash, so that
    splits never change."""
    mixed = values + np.uint64((seed + 1) * 0x9E3779B97F4A7C15 % 2**64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def document_sizes(sizes: NDArray[np.integer], rests: ArrayLike) -> NDArray[np.integer]:
    """Return the bytes of documents, [documents].

    Args:
        sizes: bytes of the pieces, [pieces]; returned unchanged if every piece is a document.
        rests: indices of the continuation pieces, ascending.
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
    """Return the document index of each continuation piece, int64 [rests]; all other pieces begin a document."""
    return rests - np.arange(1, len(rests) + 1)


def describe_splits(rests: ArrayLike, longest: int | None) -> dict[str, str]:
    """Return the manifest entry with the number of documents that were cut, and of pieces; empty if none was cut."""
    documents = documents_of(np.asarray(rests, np.int64))
    if not len(documents):
        return {}
    number = len(np.unique(documents))
    subject = "1 document" if number == 1 else f"{number:,} documents"
    cut = f"{subject} of more than {longest:,} bytes (longest_document) cut into {number + len(documents):,}"
    return {"cut_documents": cut}


def longest_in(metadata: dict[bytes, bytes] | None) -> int:
    """Return the longest document in pieces, in bytes, from the metadata of a file of sizes or places; 0 if there is
    none."""
    return int((metadata or {}).get(LONGEST, 0))
