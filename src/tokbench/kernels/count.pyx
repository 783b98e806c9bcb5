# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Counting of pre-tokens: scan, hash and count in one pass over each document.

A hash table with open addressing and linear probing. A pre-token is known by a key of sixteen bytes; where it is longer
than that its bytes lie in an arena. Pre-tokens are taken in blocks, so that the memory of a whole block is on its way
before the first of them is counted.

Reference: :mod:`tokbench.reference.count`.
"""

from cython cimport final
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from tokbench.kernels.exceptions cimport ready_to_throw
from tokbench.kernels.pretoken_key cimport INLINE, Key, __builtin_prefetch, hash_of, key_of
from tokbench.kernels.scan cimport NONE, Scheme, next_boundaries

import numpy as np

cdef extern from *:
    """
    #include <cstdint>
    #include <cstring>

    struct Entry {
        const uint8_t* data;
        int64_t length, count;
        uint64_t prefix;  /* the first eight bytes, padded with zeros, as a number in byte order */

        bool operator<(const Entry& other) const {
            if (count != other.count) return count > other.count;
            if (prefix != other.prefix) return prefix < other.prefix;
            int order = std::memcmp(data, other.data, (size_t)(length < other.length ? length : other.length));
            return order ? order < 0 : length < other.length;
        }
    };

    /* Add count times size to a total that stays within a limit; 0 where it would not. */
    static inline int add_within(int64_t *total, int64_t count, int64_t size, int64_t limit) {
        const unsigned __int128 sum = (unsigned __int128)(uint64_t)count * (uint64_t)size + (uint64_t)*total;
        if (count < 0 || sum > (uint64_t)limit) return 0;
        *total = (int64_t)sum;
        return 1;
    }
    """
    uint64_t __builtin_bswap64(uint64_t word) noexcept nogil
    int add_within(int64_t* total, int64_t count, int64_t size, int64_t limit) noexcept nogil

    cppclass Entry:
        const uint8_t* data
        int64_t length
        int64_t count
        uint64_t prefix


cdef struct Slot:
    Key key
    int64_t count  # 0 where the slot is free
    int64_t offset  # in the arena, for pre-tokens that are longer than a key


cdef enum:
    BLOCK = 256
    FIRST_BITS = 12


MOST_COUNTED = 2 ** 62
"""What the counts may add up to, each times the bytes of its pre-token and one: any sum over a text stays in 63 bits."""

cdef int64_t LIMIT = MOST_COUNTED

ready_to_throw()


@final
cdef class Counter:
    """Counts of pre-tokens, fed document by document; not to be shared between threads.

    Args:
        scheme: the scheme that cuts the documents given to :meth:`add`.

    Raises:
        OverflowError: the counts, each times the bytes of its pre-token and one, would add up past 2^62.
        MemoryError: there is not enough. Either failure may leave a part counted: the counter then refuses to go on.
    """

    cdef Scheme scheme
    cdef vector[Slot] slots
    cdef vector[uint8_t] arena
    cdef int64_t used, size
    cdef int64_t weight     # counts times lengths, each length one byte more
    cdef bint broken        # whether only a part of what was given last is counted
    cdef uint64_t mask
    cdef int shift

    def __cinit__(self, Scheme scheme=NONE):
        self.scheme = scheme
        self.slots.resize(<size_t>1 << FIRST_BITS)
        self.mask = self.slots.size() - 1
        self.shift = 64 - FIRST_BITS

    def __len__(self):
        return self.used

    def add(self, bytes text):
        """Cut a document into pre-tokens and count them."""
        cdef const uint8_t* data = text
        cdef int64_t size = len(text), start = 0, found
        cdef int64_t bounds[BLOCK + 1]
        self.begin()
        with nogil:
            while start < size:
                bounds[0] = start
                found = next_boundaries(self.scheme, data, start, size, bounds + 1, BLOCK)
                self.count_block(data, bounds, NULL, found, data + size)
                start = bounds[found]
        self.broken = False

    def add_pretokens(
        self, const uint8_t[::1] data not None, const int64_t[::1] offsets not None, const int64_t[::1] counts=None
    ):
        """Count pre-tokens that are cut already.

        Args:
            data: uint8 [bytes], the pre-tokens laid end to end.
            offsets: int64 [n + 1], where each starts, ascending, within ``data``; empty pre-tokens are passed over.
            counts: int64 [n], how often each occurs, not negative; once each where not given.

        Raises:
            ValueError: an array has another length or does not ascend, or a count is negative.
        """
        cdef int64_t n = offsets.shape[0] - 1, size = data.shape[0], i, found
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
            return
        i = 0
        first = &data[0]
        weights = &counts[0] if counts is not None else NULL
        with nogil:
            while i < n:
                found = min(<int64_t>BLOCK, n - i)
                self.count_block(first, &offsets[i], weights + i if weights else NULL, found, first + size)
                i += found
        self.broken = False

    cdef int begin(self) except -1:
        """Refuse to go on after a failure, and take what follows for one until it ends."""
        if self.broken:
            raise RuntimeError("counting failed before; begin with a new counter")
        self.broken = True
        return 0

    cdef inline int weigh(self, int64_t count, int64_t size) except -1 nogil:
        if not add_within(&self.weight, count, size, LIMIT):
            raise OverflowError(
                f"the counts, each times the bytes of its pre-token and one, add up past 2^62 ({LIMIT})"
            )
        return 0

    cdef int count_block(
        self, const uint8_t* data, const int64_t* bounds, const int64_t* weights, int64_t n, const uint8_t* limit
    ) except -1 nogil:
        cdef Key keys[BLOCK]
        cdef uint64_t hashes[BLOCK]
        cdef int64_t i
        if 4 * (self.used + BLOCK) > 3 * <int64_t>self.slots.size():
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
            __builtin_prefetch(&self.slots[hashes[i] >> self.shift])
        for i in range(n):
            if bounds[i + 1] > bounds[i]:
                self.increase(
                    &keys[i], hashes[i], data + bounds[i], bounds[i + 1] - bounds[i], weights[i] if weights else 1
                )
        return 0

    cdef inline int increase(
        self, const Key* key, uint64_t hash, const uint8_t* data, int64_t length, int64_t count
    ) except -1 nogil:
        cdef uint64_t low = key.low, high = key.high, place = hash >> self.shift
        cdef Slot* slot = &self.slots[place]
        while slot.count:
            if slot.key.low == low and slot.key.high == high and (
                length <= INLINE or memcmp(self.arena.data() + slot.offset, data, length) == 0
            ):
                slot.count += count
                return 0
            place = (place + 1) & self.mask
            slot = &self.slots[place]
        if not count:
            return 0
        if length > INLINE:
            slot.offset = self.arena.size()
            self.arena.insert(self.arena.end(), data, data + length)
        slot.key = key[0]
        slot.count = count
        self.used += 1
        self.size += length
        return 0

    cdef int grow(self) except -1 nogil:
        cdef vector[Slot] wider
        cdef Slot* slot
        cdef uint64_t place
        cdef size_t i
        wider.resize(2 * self.slots.size())
        self.mask = wider.size() - 1
        self.shift -= 1
        for i in range(self.slots.size()):
            slot = &self.slots[i]
            if slot.count:
                place = hash_of(slot.key) >> self.shift
                while wider[place].count:
                    place = (place + 1) & self.mask
                wider[place] = slot[0]
        self.slots.swap(wider)
        return 0

    def counts(self):
        """The pre-tokens counted so far, by count descending, then by bytes ascending.

        Returns:
            data: uint8 [bytes], the n pre-tokens laid end to end.
            offsets: int64 [n + 1], where each starts; the last entry is the length of ``data``.
            counts: int64 [n].
        """
        if self.broken:
            raise RuntimeError("counting failed before; begin with a new counter")
        data = np.empty(self.size, np.uint8)
        offsets = np.zeros(self.used + 1, np.int64)
        counts = np.empty(self.used, np.int64)
        cdef uint8_t[::1] data_view = data
        cdef int64_t[::1] offsets_view = offsets, counts_view = counts
        cdef vector[Entry] entries
        cdef int64_t i, position = 0
        with nogil:
            self.list_entries(entries)
            sort(entries.begin(), entries.end())
            for i in range(self.used):
                memcpy(&data_view[position], entries[i].data, entries[i].length)
                position += entries[i].length
                offsets_view[i + 1] = position
                counts_view[i] = entries[i].count
        return data, offsets, counts

    cdef int list_entries(self, vector[Entry]& entries) except -1 nogil:
        cdef Entry entry
        cdef Slot* slot
        cdef size_t i
        entries.reserve(self.used)
        for i in range(self.slots.size()):
            slot = &self.slots[i]
            if not slot.count:
                continue
            entry.count = slot.count
            entry.length = slot.key.high >> 56
            entry.data = <const uint8_t*>&slot.key
            entry.prefix = slot.key.low
            if entry.length > INLINE:
                entry.length = slot.key.high & ~(<uint64_t>0xFF << 56)
                entry.data = self.arena.data() + slot.offset
                memcpy(&entry.prefix, entry.data, 8)
            entry.prefix = __builtin_bswap64(entry.prefix)
            entries.push_back(entry)
        return 0
