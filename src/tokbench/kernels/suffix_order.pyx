# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Sorted suffixes of words, with the number of bytes that each shares with the one before.

A radix sort from the first byte on separates suffixes that differ soon; in words these are nearly all. Suffixes that
share more bytes are sorted by ranks, with the number of bytes doubled in each round (Larsson and Sadakane, "Faster
suffix sorting", 1999). Their common prefixes are measured from left to right (Kasai et al., "Linear-time
longest-common-prefix computation", 2001). So repetitive text needs n log n steps in each of log n rounds instead of
n^2.
"""

from itertools import pairwise

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset
from libcpp.algorithm cimport sort as sort_keys
from libcpp.vector cimport vector

from tokbench.kernels.threads import parallel_map
from tokbench.kernels.flat_arrays import repeat_ranges

DEEP = 64
"""Default number of bytes by which suffixes are radix-sorted."""

cdef enum:
    SMALL = 16      # ranges up to this many suffixes are sorted by insertion
    END = 0         # key of an exhausted suffix; the key of byte b is b + 1
    FIRST = 256     # flag of a byte that starts a word
    KEYS = 257      # of one byte
    MOST_PARTS = 16
    UNSETTLED = -1  # common bytes of two suffixes that the first DEEP bytes do not separate


cdef struct Range:
    # The suffixes low to high share ``depth`` bytes.
    int32_t low
    int32_t high
    int32_t depth


cdef struct Text:
    const uint16_t* bytes       # with FIRST where a word starts, and after the last
    const int32_t* ends         # end of the word of each byte; only used for sorting by ranks
    int32_t size


cdef inline int32_t key_of(const Text* text, int32_t start, int32_t depth) noexcept nogil:
    """Return the key of the byte at ``depth``; the suffix must have at least ``depth`` bytes."""
    cdef int32_t byte = text.bytes[start + depth]
    return END if depth > 0 and byte & FIRST else (byte & 255) + 1


cdef int split(
    const Text* text, int32_t* suffixes, int32_t* shared, int32_t* spare, Range node, vector[Range]& stack
) except -1 nogil:
    """Sort a range by the byte at its depth, and push the parts, which share one more byte; stable.

    A range that this byte does not split is pushed as one part.
    """
    cdef int32_t keys[SMALL]
    cdef int32_t tally[258]
    cdef int32_t i, j, key, suffix, size = node.high - node.low, depth = node.depth
    cdef Range part
    part.depth = depth + 1
    if size <= SMALL:
        for i in range(size):
            suffix = suffixes[node.low + i]
            key = key_of(text, suffix, depth)
            j = i
            while j > 0 and keys[j - 1] > key:
                keys[j] = keys[j - 1]
                suffixes[node.low + j] = suffixes[node.low + j - 1]
                j -= 1
            keys[j] = key
            suffixes[node.low + j] = suffix
        part.low = node.low
        for i in range(1, size + 1):
            if i < size and keys[i] == keys[i - 1]:
                continue
            part.high = node.low + i
            add_part(shared, part, keys[i - 1] == END, stack)
            if i < size:
                shared[part.high] = depth
            part.low = part.high
        return 0
    memset(tally, 0, sizeof(tally))
    for i in range(node.low, node.high):
        tally[key_of(text, suffixes[i], depth) + 1] += 1
    if tally[key_of(text, suffixes[node.low], depth) + 1] < size:
        for key in range(257):
            tally[key + 1] += tally[key]
        for i in range(node.low, node.high):
            key = key_of(text, suffixes[i], depth)
            spare[tally[key]] = suffixes[i]
            tally[key] += 1
        memcpy(&suffixes[node.low], spare, size * sizeof(int32_t))
        part.low = node.low
        for key in range(257):
            part.high = node.low + tally[key]
            if part.high > part.low:
                add_part(shared, part, key == END, stack)
                if part.high < node.high:
                    shared[part.high] = depth
                part.low = part.high
    else:
        add_part(shared, part_of(node, part.depth), key_of(text, suffixes[node.low], depth) == END, stack)
    return 0


cdef inline Range part_of(Range node, int32_t depth) noexcept nogil:
    node.depth = depth
    return node


cdef inline int add_part(int32_t* shared, Range part, bint ended, vector[Range]& stack) except -1 nogil:
    """Push a part that still needs sorting."""
    cdef int32_t i
    if ended:
        for i in range(part.low + 1, part.high):        # equal to the end
            shared[i] = part.depth - 1
    elif part.high - part.low > 1:
        stack.push_back(part)
    return 0


cdef void rank_ties(
    const Text* text, const int32_t* suffixes, const int32_t* shared, int32_t* ranks, int32_t low, int32_t high
) noexcept nogil:
    """Write the rank of some suffixes; the rank of tied suffixes is the index of the first one."""
    cdef int32_t i, rank = low
    while rank > 0 and are_tied(text, suffixes, shared, rank):
        rank -= 1
    for i in range(low, high):
        if i > low and not are_tied(text, suffixes, shared, i):
            rank = i
        ranks[suffixes[i]] = rank


cdef inline bint are_tied(const Text* text, const int32_t* suffixes, const int32_t* shared, int32_t i) noexcept nogil:
    """Return whether a suffix (not the first) is tied with the one before."""
    cdef int32_t length
    if shared[i] == UNSETTLED:
        return True
    length = text.ends[suffixes[i]] - suffixes[i]
    return shared[i] == length == text.ends[suffixes[i - 1]] - suffixes[i - 1]


cdef int refine(
    const Text* text, int32_t* suffixes, int32_t* ranks, Range node, vector[uint64_t]& keys, vector[Range]& deep
) except -1 nogil:
    """Sort a range by the ranks of what follows its shared bytes, and list the remaining ties."""
    cdef int32_t i, size = node.high - node.low, suffix, low = 0
    cdef int64_t start
    cdef Range part
    cdef uint64_t rank
    keys.resize(size)
    for i in range(size):
        suffix = suffixes[node.low + i]
        start = <int64_t>suffix + node.depth    # may be past the end, in words that are equal from an earlier place on
        rank = <uint64_t>ranks[start] + 1 if start < text.ends[suffix] else END
        keys[i] = rank << 32 | <uint64_t>suffix
    sort_keys(keys.begin(), keys.end())
    part.depth = 2 * node.depth if node.depth < 2**29 else 2**30
    for i in range(size):
        if keys[i] >> 32 != keys[low] >> 32:
            low = i
        suffix = <int32_t>(<uint32_t>keys[i])
        suffixes[node.low + i] = suffix
        ranks[suffix] = node.low + low
        if (i + 1 == size or keys[i + 1] >> 32 != keys[low] >> 32) and i > low and keys[low] >> 32 != END:
            part.low, part.high = node.low + low, node.low + i + 1
            deep.push_back(part)
    return 0


cdef void measure(
    const Text* text, const int32_t* suffixes, int32_t* shared, const int32_t* ranks, int32_t least, int32_t first,
    int32_t last,
) noexcept nogil:
    """Measure the common prefixes of at least ``least`` bytes, for suffixes that start in a part of the text."""
    cdef int32_t start, before, length = 0, place
    for start in range(first, last):
        if start == 0 or text.ends[start] != text.ends[start - 1]:
            length = 0
        place = ranks[start]
        if shared[place] != UNSETTLED:
            length = shared[place]
            continue
        before = suffixes[place - 1]
        length = max(length - 1, least)
        while (
            start + length < text.ends[start] and before + length < text.ends[before]
            and text.bytes[start + length] & 255 == text.bytes[before + length] & 255
        ):
            length += 1
        shared[place] = length


cdef inline int32_t pair_of(const Text* text, int32_t start) noexcept nogil:
    """Return the first two bytes of a suffix as one number, in their order."""
    return (key_of(text, start, 0) - 1) * KEYS + key_of(text, start, 1)


cdef class Order:
    """State of the sort."""

    cdef Text text
    cdef const uint16_t[::1] symbols
    cdef const int32_t[::1] ends
    cdef int32_t[::1] suffixes
    cdef int32_t[::1] shared
    cdef int32_t[::1] spare         # scratch memory of the sort, then ranks
    cdef int32_t[:, ::1] goals      # per part of the text and first two bytes: position of the next such suffix
    cdef int32_t limit              # bytes by which suffixes are radix-sorted
    cdef bint deeper                # whether more bytes than these count

    cdef int sort_range(self, Range node, vector[Range]& unsettled) except -1 nogil:
        """Sort a range up to the limit, and list the remaining ties, last first."""
        cdef vector[Range] stack
        cdef int32_t i
        stack.push_back(node)
        while stack.size() > 0:
            node = stack.back()
            stack.pop_back()
            if node.depth < self.limit:
                split(&self.text, &self.suffixes[0], &self.shared[0], &self.spare[node.low], node, stack)
                continue
            for i in range(node.low + 1, node.high):
                self.shared[i] = UNSETTLED if self.deeper else self.limit
            if self.deeper:
                unsettled.push_back(node)
        return 0

    def _tally(self, int64_t part, int32_t first, int32_t last):
        """Count the suffixes of a part of the text by their first two bytes."""
        cdef int32_t start
        with nogil:
            for start in range(first, last):
                self.goals[part, pair_of(&self.text, start)] += 1

    def _spread(self, int64_t part, int32_t first, int32_t last):
        """Store the suffixes of a part of the text by their first two bytes."""
        cdef int32_t start, pair
        with nogil:
            for start in range(first, last):
                pair = pair_of(&self.text, start)
                self.suffixes[self.goals[part, pair]] = start
                self.goals[part, pair] += 1

    def _sort_pairs(self, const int32_t[::1] lows, int64_t first, int64_t last):
        """Sort the suffixes of some byte pairs, which start at ``lows``; return the remaining ties as bytes."""
        cdef vector[Range] unsettled
        cdef Range node
        cdef int64_t pair
        cdef int32_t i
        with nogil:
            for pair in range(last - 1, first - 1, -1):
                node.low, node.high, node.depth = lows[pair], lows[pair + 1], 2
                if node.high > node.low:
                    self.shared[node.low] = lows[pair - pair % KEYS] < node.low
                    if pair % KEYS == END:
                        for i in range(node.low + 1, node.high):
                            self.shared[i] = 1
                    elif node.high - node.low > 1:
                        self.sort_range(node, unsettled)
        return _bytes_of(unsettled)

    def _sort_whole(self):
        """Sort all suffixes; return the remaining ties as bytes."""
        cdef vector[Range] unsettled
        cdef Range node
        node.low, node.high, node.depth = 0, self.text.size, 0
        with nogil:
            self.sort_range(node, unsettled)
        return _bytes_of(unsettled)

    def _refine(self, const uint8_t[::1] unsettled):
        """Sort the remaining ties by ranks."""
        cdef vector[Range] deep, left
        cdef vector[uint64_t] keys
        cdef size_t i
        with nogil:
            deep.resize(unsettled.shape[0] // sizeof(Range))
            memcpy(deep.data(), &unsettled[0], unsettled.shape[0])
            while deep.size() > 0:
                left.clear()
                for i in range(deep.size()):
                    refine(&self.text, &self.suffixes[0], &self.spare[0], deep[i], keys, left)
                deep.swap(left)

    def _rank_ties(self, int32_t first, int32_t last):
        with nogil:
            rank_ties(&self.text, &self.suffixes[0], &self.shared[0], &self.spare[0], first, last)

    def _rank(self, int32_t first, int32_t last):
        cdef int32_t i
        with nogil:
            for i in range(first, last):
                self.spare[self.suffixes[i]] = i

    def _measure(self, int32_t first, int32_t last):
        with nogil:
            measure(&self.text, &self.suffixes[0], &self.shared[0], &self.spare[0], self.limit, first, last)


cdef bytes _bytes_of(const vector[Range]& ranges):
    return (<const char*>ranges.data())[:ranges.size() * sizeof(Range)] if ranges.size() else b""


def _sorted(Order order, parts, threads):
    """Sort all suffixes up to the limit; return the remaining ties as bytes, last first."""
    if parts < 2 or order.limit < 2:
        np.asarray(order.suffixes)[:] = np.arange(order.text.size, dtype=np.int32)
        return order._sort_whole()
    tallies = np.zeros((parts, 256 * KEYS), np.int32)
    order.goals = tallies
    edges = _edges(order.text.size, parts)
    list(parallel_map(lambda part: order._tally(part, *edges[part]), range(parts), threads))
    ends = tallies.T.cumsum(dtype=np.int32)
    tallies[:] = (ends - tallies.T.ravel()).reshape(-1, parts).T
    lows = np.append(tallies[0], np.int32(order.text.size))
    list(parallel_map(lambda part: order._spread(part, *edges[part]), range(parts), threads))
    middles = [first for first, _ in _edges(order.text.size, 4 * parts)[1:]]
    cuts = [0, *np.searchsorted(lows, middles).tolist(), 256 * KEYS]
    return b"".join(reversed(list(parallel_map(lambda pairs: order._sort_pairs(lows, *pairs), pairwise(cuts), threads))))


def _settle(Order order, unsettled, parts, threads):
    """Sort the ranges that share as many bytes as the limit, and measure their common prefixes."""
    edges = _edges(order.text.size, parts)
    list(parallel_map(lambda edge: order._rank_ties(*edge), edges, threads))
    order._refine(unsettled)
    list(parallel_map(lambda edge: order._rank(*edge), edges, threads))
    list(parallel_map(lambda edge: order._measure(*edge), edges, threads))


def _edges(size, parts):
    """Return ranges of about the same size."""
    return list(pairwise([size * part // parts for part in range(parts + 1)]))


def order_suffixes(
    const uint8_t[::1] data,
    const int64_t[::1] offsets,
    int64_t longest,
    int32_t deep=DEEP,
    int32_t threads=1,
    int64_t enough=1 << 19,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Sort the suffixes of words, each to the end of its word, by their first ``longest`` bytes.

    Args:
        data: uint8 [n], concatenated words; n is less than 2**31.
        offsets: int64 [words + 1], start of each word; the last entry is n.
        longest: Number of bytes to compare.
        deep: Number of bytes by which suffixes are radix-sorted, at least 1 (default: 64). The result does not depend
            on it.
        threads: Number of threads (default: 1). The result does not depend on it.
        enough: Minimum bytes of a part of the text, at least 1 (default: 2^19). The result does not depend on it.

    Returns:
        suffixes: int32 [n], sorted positions of ``data``; equal suffixes are in an arbitrary order.
        shared: int32 [n], number of bytes in common with the suffix before, up to ``longest``; 0 for the first.

    Raises:
        ValueError: the text is too long, or the offsets do not span it.
    """
    if data.shape[0] >= 2**31:
        raise ValueError(f"a text of {data.shape[0]} bytes cannot be sorted, the limit is {2**31 - 1}")
    if offsets.shape[0] < 1 or offsets[0] != 0 or offsets[offsets.shape[0] - 1] != data.shape[0]:
        raise ValueError("the offsets of the words do not span the text")
    suffixes = np.empty(data.shape[0], np.int32)
    common = np.zeros(data.shape[0], np.int32)
    if data.shape[0] == 0:
        return suffixes, common
    cdef Order order = Order()
    cdef int64_t parts = min(MOST_PARTS, data.shape[0] // enough)
    marked = np.append(data, np.uint16(0))
    marked[offsets] |= FIRST
    order.symbols, order.suffixes, order.shared = marked, suffixes, common
    order.spare = np.empty(data.shape[0], np.int32)
    order.limit = <int32_t>max(<int64_t>0, min(longest, <int64_t>max(deep, 1)))
    order.deeper = order.limit < longest
    order.text.bytes, order.text.size = &order.symbols[0], <int32_t>data.shape[0]
    order.text.ends = NULL
    unsettled = _sorted(order, parts, threads)
    if unsettled:
        order.ends = repeat_ranges(np.asarray(offsets)[1:].astype(np.int32), np.asarray(offsets), threads)
        order.text.ends = &order.ends[0]
        _settle(order, unsettled, max(parts, 1), threads)
    if order.limit < longest <= common.max():
        np.minimum(common, longest, out=common)
    return suffixes, common
