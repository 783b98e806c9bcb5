"""Random samples of documents, and mixtures of several sources in given shares of bytes.

Documents are drawn by a hash of their bytes and the seed. So a draw depends on no position, order of files, number of
parts or threads. A smaller sample is a part of a larger one, and equal documents are all drawn or all left out, except
at the end of a number of bytes. Drawn documents are shuffled by another hash.

Shares by a power of the size are those of multilingual BERT (Devlin et al. 2019, notes on its release: 0.7) and of
XLM-R (Conneau et al. 2020, section 3.1: alpha = 0.3), which weight languages by them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import fsum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokbench.corpus.splits import CHUNK, UNUSED, documents_of, mix, shards_of
from tokbench.errors import TokbenchError

PER_DRAWN_DOCUMENT = 80
"""Maximum bytes of memory per document while documents are drawn and shuffled, in addition to the digests."""
BUCKET_BYTES = 1 << 23
"""Memory for documents that are sorted at least, in addition to the last document. A shard has a bucket for each."""
PER_SORTED_DOCUMENT = 250
"""Bytes of memory for a document that is sorted, in addition to its text."""


@dataclass(frozen=True)
class Draw:
    """Documents to draw from one or several sources.

    Attributes:
        weights: weight of each source by its name; None for all sources if shares follow their sizes. A single source
            of a corpus has the empty name.
        sample: probability with which a document is drawn (default: 1).
        bytes: bytes to draw (default: all, or the largest mixture that the weights allow).
        temperature: power of the sizes that shares are proportional to (default: 1).
    """

    weights: Mapping[str, float | None]
    sample: float = 1.0
    bytes: int | None = None
    temperature: float = 1.0

    @property
    def domains(self) -> list[str]:
        """Names of the sources of a mixture, which documents have as their domain; empty for a single source."""
        return [name for name in self.weights if name]

    def wanted(self, sizes: Sequence[int]) -> list[int]:
        """Return the bytes to draw from each source.

        Without ``bytes`` the mixture is the largest that the shares allow without reading a document twice.

        Args:
            sizes: bytes of each source, in the order of ``weights``; all above zero.

        Raises:
            TokbenchError: a source has fewer bytes than its share of ``bytes``.
        """
        shares = self.shares(sizes)
        if self.bytes is None:
            total = min(Fraction(size) / share for size, share in zip(sizes, shares, strict=True))
        else:
            total = Fraction(self.bytes)
        wanted = [int(total * share) for share in shares]
        for name, size, needed in zip(self.weights, sizes, wanted, strict=True):
            if needed > size:
                most = int(min(Fraction(size) / share for size, share in zip(sizes, shares, strict=True)))
                raise TokbenchError(_too_small(name, size, needed, self.bytes or 0, most))
        return wanted

    def shares(self, sizes: Sequence[int]) -> list[Fraction]:
        """Return the share of each source in the bytes of the mixture; they add up to one.

        Shares are proportional to the weights, or to the sizes to the power ``temperature``.
        """
        given = [weight for weight in self.weights.values() if weight is not None]
        values = [Fraction(weight) for weight in given]
        if not given:
            # Ten digits, which every processor computes alike.
            powers = (f"{size**self.temperature:.9e}" for size in sizes)
            values = list(map(Fraction, sizes if self.temperature == 1 else powers))
        whole = sum(values)
        return [value / whole for value in values]


def _too_small(name: str, size: int, needed: int, whole: int, most: int) -> str:
    if not name:
        return f"bytes: {whole:,} requested, but the source has {size:,}; lower it, or leave the key out"
    return (
        f"sources.{name}: its share of the {whole:,} bytes is {needed:,}, but it has {size:,}; set 'bytes' to {most:,} "
        "or less, leave 'bytes' out, or lower the weight of this source"
    )


class Drawn(NamedTuple):
    """Drawn documents in shuffled order.

    Attributes:
        order: index of each drawn document, int64 [drawn].
        lines: entry of the manifest: documents and bytes of each source.
    """

    order: NDArray[np.int64]
    lines: list[str]


def draw_documents(
    draw: Draw, sizes: NDArray[np.integer], digests: NDArray[np.uint64], counts: Sequence[int], seed: int
) -> Drawn:
    """Draw documents of each source, and shuffle them all.

    Within a source, documents are drawn in the order of their hash. A document that crosses the requested bytes is
    drawn if its middle byte is within them. So a share is exact up to half a document.

    Args:
        draw: the documents to draw.
        sizes: bytes of each document, int [n], source after source.
        digests: digest of each document, uint64 [n, 2].
        counts: number of documents of each source, in the order of ``draw.weights``.
        seed: seed of the draw and of the order.

    Raises:
        TokbenchError: a source has no document with text, or no document is drawn, or see :meth:`Draw.wanted`.
    """
    keys = mix(digests[:, 0], seed)
    limit = min(int(Fraction(draw.sample) * 2**64), 2**64 - 1)
    ends = np.cumsum(counts).tolist()
    begins = [0, *ends[:-1]]
    # The sample of each source, in the order of the hash.
    candidates = []
    for name, begin, end in zip(draw.weights, begins, ends, strict=True):
        members = begin + np.flatnonzero(keys[begin:end] <= np.uint64(limit))
        if not sizes[members].any():
            key = f"sources.{name}" if name else "source"
            raise TokbenchError(f"{key}: no document with text is drawn; raise 'sample', or name more text")
        candidates.append(members[np.argsort(keys[members], kind="stable")])
    available = [int(sizes[members].sum(dtype=np.int64)) for members in candidates]
    # The first of them, up to the source's bytes.
    chosen = []
    for members, size, wanted in zip(candidates, available, draw.wanted(available), strict=True):
        lengths = sizes[members]
        middles = np.cumsum(lengths, dtype=np.int64) - lengths / 2
        chosen.append(members if wanted == size else members[: np.searchsorted(middles, wanted)])
    lines = _lines(draw, sizes, begins, ends, chosen)
    order = np.concatenate(chosen)
    if not sizes[order].any():
        raise TokbenchError("bytes: no document is drawn, as each is more than twice as long; raise it")
    del keys, candidates, chosen
    # Another hash shuffles them; equal documents are in the order of their sources.
    return Drawn(order[np.argsort(mix(digests[order, 1], seed), kind="stable")], lines)


def _lines(
    draw: Draw,
    sizes: NDArray[np.integer],
    begins: Sequence[int],
    ends: Sequence[int],
    chosen: Sequence[NDArray[np.int64]],
) -> list[str]:
    """Return one line for each source: its documents and bytes, and its share of all bytes that are drawn."""
    drawn = [int(sizes[members].sum(dtype=np.int64)) for members in chosen]
    lines = []
    for name, begin, end, members, size in zip(draw.weights, begins, ends, chosen, drawn, strict=True):
        of_all = int(sizes[begin:end].sum(dtype=np.int64))
        share = f", {size / fsum(drawn):.2%} of the mixture" if name else ""
        where = f"{name}: " if name else ""
        lines.append(f"{where}{len(members):,} of {end - begin:,} documents drawn, {size:,} of {of_all:,} bytes{share}")
    return lines


class DrawnRows:
    """Numbers and places of drawn documents and their pieces.

    A number is a position in the shuffled order, in which the pieces of a document follow each other. A place is a
    bucket of a shard: bucket b of shard s is place s * buckets + b. The pieces of a bucket are sorted in memory.

    Args:
        order: index of each drawn document, int64 [drawn], in shuffled order.
        splits: split of each document, int8 [documents].
        sizes: bytes of each piece, int [pieces].
        rests: indices of continuation pieces among all pieces, ascending.
        split_count: number of splits.
        shards: number of shards of each split.

    Attributes:
        numbers: number of each piece, int64 [pieces]; :data:`~tokbench.corpus.splits.UNUSED` if it is not drawn.
        places: place of each piece, int32 [pieces]; :data:`~tokbench.corpus.splits.UNUSED` if it is in no split.
        buckets: number of buckets of each shard.
    """

    def __init__(
        self,
        order: NDArray[np.int64],
        splits: NDArray[np.int8],
        sizes: NDArray[np.integer],
        rests: NDArray[np.int64],
        split_count: int,
        shards: int,
    ) -> None:
        pieces = np.ones(len(splits), np.int64)
        np.add.at(pieces, documents_of(rests), 1)
        # Index of each drawn piece in shuffled order: the pieces of a document, one after the other.
        begins, counts = (np.cumsum(pieces) - pieces)[order], pieces[order]
        sequence = np.repeat(begins - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        self.numbers = np.full(len(sizes), UNUSED, np.int64)
        self.numbers[sequence] = np.arange(len(sequence))
        shard = np.repeat(shards_of(splits[order], shards, np.zeros(split_count, np.int64)), counts)
        bucket = _buckets_of(shard, sizes[sequence], split_count * shards)
        self.buckets = int(bucket.max(initial=0)) + 1
        self.places = np.full(len(sizes), UNUSED, np.int32)
        self.places[sequence] = np.where(shard == UNUSED, UNUSED, shard * self.buckets + bucket)


def _buckets_of(placed: NDArray[np.int32], sizes: NDArray[np.integer], shards: int) -> NDArray[np.int32]:
    """Return the bucket of each piece in its shard, int32 [n]: the memory of those before it / :data:`BUCKET_BYTES`."""
    buckets = np.zeros(len(placed), np.int32)
    filled = np.zeros(shards, np.int64)
    for first in range(0, len(placed), CHUNK):
        own = placed[first : first + CHUNK]
        order = np.argsort(own, kind="stable")
        order = order[own[order] != UNUSED]
        shard, lengths = own[order], sizes[first : first + CHUNK][order].astype(np.int64) + PER_SORTED_DOCUMENT
        before = np.cumsum(lengths) - lengths
        begins = np.flatnonzero(np.diff(shard, prepend=UNUSED))
        counts = np.diff(np.append(begins, len(shard)))
        before += np.repeat(filled[shard[begins]] - before[begins], counts)
        buckets[first + order] = before // BUCKET_BYTES
        np.add.at(filled, shard, lengths)
    return buckets
