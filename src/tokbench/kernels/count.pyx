# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Pre-token counting: scanning, hashing and counting in one pass over each document.

The table uses open addressing with linear probing. A pre-token is identified by a key of sixteen bytes; the bytes of
longer pre-tokens are in an arena. Pre-tokens are processed in blocks, so that the memory for a block is prefetched
before the first pre-token is counted.

A table has a lease: a maximum number of pre-tokens and of arena bytes. When it is reached, the caller either extends
the lease, or writes the table to a run (:mod:`tokbench.kernels.runs`) and empties it.

Reference: ``count`` in :mod:`tokbench.reference.ngram`.
"""

from cpython.mem cimport PyMem_RawFree
from cython cimport final
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy, memset
from libcpp.vector cimport vector

from tokbench.kernels.counted cimport (
    Listed,
    Slot,
    add_within,
    bytes_of,
    length_of,
    list_in_order,
    sort_by_bytes,
)
from tokbench.kernels.exceptions cimport ready_to_throw
from tokbench.kernels.grown cimport Grown
from tokbench.kernels.huge cimport zeroed
from tokbench.kernels.prefetch cimport prefetch
from tokbench.kernels.pretoken_key cimport INLINE, Key, hash_of, key_of
from tokbench.kernels.runs cimport RunWriter, ended_well
from tokbench.kernels.scan cimport Scanner

import numpy as np

cdef enum:
    BLOCK = 256
    FIRST_BITS = 12
    AHEAD = 12              # entries between one whose slot is prefetched, one whose bytes are, and one that is written


MOST_COUNTED = 2 ** 62
"""Maximum sum of each count times (length + 1), so that any sum over a text fits into 63 bits."""

SLOT_BYTES = sizeof(Slot)
"""Bytes per slot of the table; :func:`pretokens_in` gives the number of pre-tokens for a number of slots."""

cdef int64_t LIMIT = MOST_COUNTED

ready_to_throw()


def pretokens_in(int64_t slots) -> int:
    """Return the number of pre-tokens that a table of this many slots can contain before it grows."""
    return 3 * slots // 4 - BLOCK


@final
cdef class Counter:
    """Counts of pre-tokens, one document at a time. Not thread-safe.

    Args:
        scanner: Scanner that splits the documents passed to :meth:`add` (default: none; each document is one
            pre-token).

    Raises:
        OverflowError: the sum of each count times the length of its pre-token plus one would exceed 2^62.
        MemoryError: there is not enough memory. After either error a document may be partly counted, and all further
            calls fail.

    Attributes:
        slots: Number of slots of the table.
        held: Bytes of memory in use.
        leased_bytes: Maximum bytes of pre-tokens longer than a key.
        weight: Sum of each count times the length of its pre-token plus one, over everything ever added.
        wanted: Length of the pre-token that exceeded the lease in bytes; 0 if the lease ended by the number of
            pre-tokens.
    """

    cdef Scanner scanner
    cdef Slot* table
    cdef void* owned
    cdef size_t places      # slots of the table, a power of two
    cdef Grown[uint8_t] arena
    cdef int64_t used, size
    cdef int64_t most
    cdef readonly int64_t leased_bytes, weight, wanted
    cdef bint broken        # whether the last call counted only a part
    cdef uint64_t mask
    cdef int shift

    def __cinit__(self, Scanner scanner=None):
        self.scanner = scanner or Scanner()
        self.owned = NULL
        self.make_room(<size_t>1 << FIRST_BITS)
        self.shift = 64 - FIRST_BITS
        self.most = self.leased_bytes = LIMIT

    def __dealloc__(self):
        PyMem_RawFree(self.owned)

    def __len__(self) -> int:
        return self.used

    @property
    def slots(self) -> int:
        return <int64_t>self.places

    @property
    def held(self) -> int:
        return <int64_t>(self.places * sizeof(Slot) + self.arena.size)

    def lease(self, int64_t most, int64_t most_bytes) -> None:
        """Set the lease of the table.

        Args:
            most: Maximum number of unique pre-tokens.
            most_bytes: Maximum bytes of pre-tokens longer than a key.
        """
        self.most, self.leased_bytes = most, most_bytes

    def add(self, bytes text, int64_t start=0) -> int:
        """Split a document into pre-tokens and count them, from the boundary ``start`` on (default: 0).

        Returns:
            The boundary at which the lease ended, or the length of the document.
        """
        cdef const uint8_t* data = text
        cdef int64_t size = len(text), found, taken
        cdef int64_t bounds[BLOCK + 1]
        self.begin()
        with nogil:
            while start < size and self.used < self.most:
                bounds[0] = start
                found = self.scanner.next_boundaries(
                    data, start, size, bounds + 1, min(<int64_t>BLOCK, self.most - self.used)
                )
                taken = self.count_block(data, bounds, NULL, found, data + size)
                start = bounds[taken]
                if taken < found:
                    break
        self.broken = False
        return start

    def add_pretokens(
        self,
        const uint8_t[::1] data not None,
        const int64_t[::1] offsets not None,
        const int64_t[::1] counts=None,
        int64_t start=0,
    ) -> int:
        """Count pre-tokens, from index ``start`` on (default: 0).

        Args:
            data: uint8 [bytes], concatenated pre-tokens.
            offsets: int64 [n + 1], start of each pre-token in ``data``, ascending. Empty pre-tokens are skipped.
            counts: int64 [n], count of each, not negative (default: 1 each).

        Returns:
            The index of the pre-token at which the lease ended, or n.

        Raises:
            ValueError: the lengths of the arrays do not match, offsets do not ascend, or a count is negative.
        """
        cdef int64_t n = offsets.shape[0] - 1, size = data.shape[0], i, found, taken
        cdef const uint8_t* first
        cdef const int64_t* weights
        if counts is not None and counts.shape[0] < n:
            raise ValueError(f"{counts.shape[0]} counts for {n} pre-tokens")
        for i in range(n):
            if not 0 <= offsets[i] <= offsets[i + 1] <= size or (counts is not None and counts[i] < 0):
                raise ValueError(f"pre-token {i} ends before it starts, or outside the {size} bytes, or its count is negative")
        self.begin()
        if n <= 0 or not size:
            self.broken = False
            return max(n, 0)
        first = &data[0]
        weights = &counts[0] if counts is not None else NULL
        with nogil:
            while start < n and self.used < self.most:
                found = min(<int64_t>BLOCK, min(n - start, self.most - self.used))
                taken = self.count_block(
                    first, &offsets[start], weights + start if weights else NULL, found, first + size
                )
                start += taken
                if taken < found:
                    break
        self.broken = False
        return start

    cdef int begin(self) except -1:
        """Reject calls after a failure, and mark the counter as broken until the call succeeds."""
        if self.broken:
            raise RuntimeError("counting failed before; begin with a new counter")
        self.broken = True
        self.wanted = 0
        return 0

    cdef inline int weigh(self, int64_t count, int64_t size) except -1 nogil:
        if not add_within(&self.weight, count, size, LIMIT):
            raise OverflowError(
                f"the counts, each times the bytes of its pre-token and one, add up past 2^62 ({LIMIT})"
            )
        return 0

    cdef int64_t count_block(
        self, const uint8_t* data, const int64_t* bounds, const int64_t* weights, int64_t n, const uint8_t* limit
    ) except -1 nogil:
        """Count pre-tokens up to the first one that exceeds the lease; return their number."""
        cdef Key keys[BLOCK]
        cdef uint64_t hashes[BLOCK]
        cdef int64_t i, given = n
        if 4 * (self.used + BLOCK) > 3 * <int64_t>self.places:
            self.grow()
        if weights:
            for i in range(n):
                if bounds[i + 1] > bounds[i]:
                    self.weigh(weights[i], bounds[i + 1] - bounds[i] + 1)
        else:
            self.weigh(1, bounds[n] - bounds[0] + n)
        for i in range(n):
            keys[i] = key_of(data + bounds[i], bounds[i + 1] - bounds[i], limit)
            hashes[i] = hash_of(keys[i])
            prefetch(&self.table[hashes[i] >> self.shift])
        for i in range(n):
            if bounds[i + 1] > bounds[i] and not self.increase(
                &keys[i], hashes[i], data + bounds[i], bounds[i + 1] - bounds[i], weights[i] if weights else 1
            ):
                self.wanted = bounds[i + 1] - bounds[i]
                n = i
                for i in range(n, given):
                    if bounds[i + 1] > bounds[i]:
                        self.weight -= (weights[i] if weights else 1) * (bounds[i + 1] - bounds[i] + 1)
                break
        return n

    cdef inline int increase(
        self, const Key* key, uint64_t hash, const uint8_t* data, int64_t length, int64_t count
    ) except -1 nogil:
        """Count one pre-token; return 0 if it is new and exceeds the lease in bytes."""
        cdef uint64_t low = key.low, high = key.high, place = hash >> self.shift
        cdef Slot* slot = &self.table[place]
        while slot.count:
            if slot.key.low == low and slot.key.high == high and (
                length <= INLINE or memcmp(self.arena.data + slot.offset, data, length) == 0
            ):
                slot.count += count
                return 1
            place = (place + 1) & self.mask
            slot = &self.table[place]
        if not count:
            return 1
        if length > INLINE:
            if length > self.leased_bytes - <int64_t>self.arena.size:
                return 0
            slot.offset = self.arena.size
            self.arena.append(data, <size_t>length)
        slot.key = key[0]
        slot.count = count
        self.used += 1
        self.size += length
        return 1

    cdef int make_room(self, size_t places) except -1 nogil:
        """Allocate an empty table; ``owned`` is not freed."""
        cdef void* owned
        self.table = <Slot*>zeroed(places * sizeof(Slot), &owned)
        self.owned = owned
        self.places = places
        self.mask = places - 1
        return 0

    cdef int grow(self) except -1 nogil:
        cdef Slot* former = self.table
        cdef void* owned = self.owned
        cdef size_t places = self.places, i
        cdef uint64_t place
        self.make_room(2 * places)
        self.shift -= 1
        for i in range(places):
            if former[i].count:
                place = hash_of(former[i].key) >> self.shift
                while self.table[place].count:
                    place = (place + 1) & self.mask
                self.table[place] = former[i]
        PyMem_RawFree(owned)
        return 0

    def counts(self) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
        """Return the pre-tokens counted so far, by count descending, then by bytes ascending.

        Returns:
            data: uint8 [bytes], the n concatenated pre-tokens.
            offsets: int64 [n + 1], start of each pre-token; the last entry is the length of ``data``.
            counts: int64 [n].
        """
        if self.broken:
            raise RuntimeError("counting failed before; begin with a new counter")
        data = np.empty(self.size, np.uint8)
        offsets = np.zeros(self.used + 1, np.int64)
        counts = np.empty(self.used, np.int64)
        cdef uint8_t[::1] data_view = data
        cdef int64_t[::1] offsets_view = offsets, counts_view = counts
        cdef vector[Listed] entries
        cdef const Slot* slot
        cdef int64_t i, length, position = 0
        with nogil:
            list_in_order(self.table, self.places, <size_t>self.used, self.arena.data, entries)
            for i in range(self.used):
                prefetch(&self.table[entries[min(i + 2 * AHEAD, self.used - 1)].place])
                slot = &self.table[entries[min(i + AHEAD, self.used - 1)].place]
                prefetch(bytes_of(slot[0], self.arena.data))
                slot = &self.table[entries[i].place]
                length = length_of(slot[0])
                memcpy(&data_view[position], bytes_of(slot[0], self.arena.data), length)
                position += length
                offsets_view[i + 1] = position
                counts_view[i] = slot.count
        return data, offsets, counts

    def spill(self, bytes path not None, bint wider=False) -> None:
        """Write the counts to a run, sorted by bytes, and empty the table.

        Args:
            path: Path of the run, encoded for the file system.
            wider: Whether the table gets twice as many slots (default: False).

        Raises:
            OSError: the run cannot be written. All further calls then fail.
        """
        cdef RunWriter writer
        cdef int failed
        cdef int64_t i
        cdef size_t size = self.places
        cdef const char* named = path
        cdef Slot* slot
        self.begin()
        with nogil:
            failed = writer.open(named)
            sort_by_bytes(self.table, size, self.arena.data)
            for i in range(self.used):
                if failed:
                    break
                slot = &self.table[i]
                failed = writer.put(bytes_of(slot[0], self.arena.data), length_of(slot[0]), slot.count)
            failed = failed or writer.close()
        ended_well(failed, path)
        self.used = self.size = 0
        self.arena.release()
        if wider:
            PyMem_RawFree(self.owned)
            self.owned = NULL
            self.make_room(2 * size)
            self.shift -= 1
        else:
            memset(<void*>self.table, 0, size * sizeof(Slot))
        self.broken = False
