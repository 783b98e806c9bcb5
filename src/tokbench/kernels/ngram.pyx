# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Byte n-gram counts by sorting positions.

A position is a place in a pre-token with at least one byte after it. Positions are sorted by the bytes that follow, at
most sixteen, in two big-endian words. Then positions with a common n-gram are adjacent, so one pass counts the n-grams
of every width, and only the best ones are in memory. Positions are partitioned by their first two bytes. Each part can
be counted separately, which limits memory and allows parallel counting.

Reference: :mod:`tokbench.reference.ngram`.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libcpp.vector cimport vector

import numpy as np

MAX_WIDTH = 16


cdef extern from *:
    """
    #include <algorithm>
    #include <cstdint>
    #include <cstring>
    #include <vector>

    /* The bytes, zero-padded to sixteen, in two big-endian words. `number` is a weight while positions are sorted,
       and a count afterwards. Order by (head, tail, width) is byte order. */
    struct Gram {
        uint64_t head, tail;
        int64_t number;
        int64_t width;
    };

    static inline bool precedes(const Gram &a, const Gram &b) {
        if (a.head != b.head) return a.head < b.head;
        if (a.tail != b.tail) return a.tail < b.tail;
        return a.width < b.width;
    }

    static inline bool outranks(const Gram &a, const Gram &b) {
        return a.number != b.number ? a.number > b.number : precedes(a, b);
    }

    static inline uint64_t word(const uint8_t *bytes, int64_t width) {
        uint64_t value = 0;
        if (width >= 8) {
            memcpy(&value, bytes, 8);
            return __builtin_bswap64(value);
        }
        for (int64_t i = 0; i < width; i++) value |= (uint64_t)bytes[i] << (56 - 8 * i);
        return value;
    }

    static inline int64_t shared(const Gram &a, const Gram &b) {
        int64_t width = a.head != b.head ? __builtin_clzll(a.head ^ b.head) / 8
                      : a.tail != b.tail ? 8 + __builtin_clzll(a.tail ^ b.tail) / 8 : 16;
        return std::min(width, std::min(a.width, b.width));
    }

    static inline Gram cut(const Gram &gram, int64_t width, int64_t number) {
        Gram result = {gram.head, gram.tail, number, width};
        if (width <= 8) result.tail = 0;
        if (width < 8) result.head &= ~0ULL << (64 - 8 * width);
        else if (width > 8 && width < 16) result.tail &= ~0ULL << (128 - 8 * width);
        return result;
    }

    static void sort_by_bytes(std::vector<Gram> &grams) { std::sort(grams.begin(), grams.end(), precedes); }

    static void keep_best(std::vector<Gram> &grams, size_t limit) {
        if (grams.size() <= limit) return;
        std::nth_element(grams.begin(), grams.begin() + (limit - 1), grams.end(), outranks);
        grams.resize(limit);  /* the last one is the worst of the best */
    }

    """
    struct Gram:
        uint64_t head
        uint64_t tail
        int64_t number
        int64_t width

    uint64_t word(const uint8_t *bytes, int64_t width) nogil
    int64_t shared(const Gram &a, const Gram &b) nogil
    Gram cut(const Gram &gram, int64_t width, int64_t number) nogil
    void sort_by_bytes(vector[Gram] &grams) except + nogil
    void keep_best(vector[Gram] &grams, size_t limit) except + nogil


def pair_positions(const uint8_t[::1] data, const int64_t[::1] offsets) -> NDArray[np.int64]:
    """Count positions by their first two bytes.

    Args:
        data: uint8 [bytes], concatenated pre-tokens.
        offsets: int64 [n + 1], start of each pre-token.

    Returns:
        int64 [65536], number of positions that start with the bytes ``pair >> 8, pair & 255``.
    """
    positions = np.zeros(65536, np.int64)
    cdef int64_t[::1] tally = positions
    cdef int64_t item, at
    with nogil:
        for item in range(offsets.shape[0] - 1):
            for at in range(offsets[item], offsets[item + 1] - 1):
                tally[(<int64_t>data[at] << 8) | data[at + 1]] += 1
    return positions


cdef int gather(
    const uint8_t[::1] data, const int64_t[::1] offsets, const int64_t[::1] counts,
    int64_t first, int64_t last, int64_t max_width, vector[Gram] &grams,
) except -1 nogil:
    cdef int64_t item, at, end, pair, width
    cdef Gram gram
    for item in range(counts.shape[0]):
        end = offsets[item + 1]
        for at in range(offsets[item], end - 1):
            pair = (<int64_t>data[at] << 8) | data[at + 1]
            if first <= pair < last:
                width = min(end - at, max_width)
                gram.head = word(&data[at], min(width, <int64_t>8))
                gram.tail = word(&data[at] + 8, width - 8) if width > 8 else 0
                gram.number = counts[item]
                gram.width = width
                grams.push_back(gram)
    return 0


cdef int close_runs(const vector[Gram] &grams, size_t limit, vector[Gram] &best) except -1 nogil:
    """Add up each run of positions with a common n-gram, with at most 2 ``limit`` + 1024 n-grams in memory."""
    cdef int64_t opened[17]
    cdef int64_t passed = 0, floor = 1, width, common, total
    cdef size_t index
    for width in range(17):
        opened[width] = 0
    for index in range(grams.size()):
        passed += grams[index].number
        common = shared(grams[index], grams[index + 1]) if index + 1 < grams.size() else 0
        for width in range(max(common + 1, <int64_t>2), grams[index].width + 1):
            total = passed - opened[width]
            if total >= floor:
                best.push_back(cut(grams[index], width, total))
        for width in range(common + 1, 17):
            opened[width] = passed
        if best.size() >= 2 * limit + 1024:
            keep_best(best, limit)
            floor = best.back().number
    keep_best(best, limit)
    sort_by_bytes(best)
    return 0


def best_ngrams(
    const uint8_t[::1] data,
    const int64_t[::1] offsets,
    const int64_t[::1] counts,
    int64_t first,
    int64_t last,
    int64_t positions,
    int64_t max_width,
    int64_t limit,
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the most frequent n-grams of two bytes or more whose first two bytes are in a range.

    Args:
        data: uint8 [bytes], concatenated pre-tokens.
        offsets: int64 [n + 1], start of each pre-token.
        counts: int64 [n], count of each pre-token.
        first, last: Range ``first <= byte0 * 256 + byte1 < last``.
        positions: Number of positions in the range, for reserving memory.
        max_width: Longest n-gram in bytes, 2 to 16.
        limit: Maximum number of n-grams returned, at least 1.

    Returns:
        In byte order, m at most ``limit``: uint64 [m, 2], the zero-padded bytes in two big-endian words; int64 [m],
            widths; int64 [m], counts.
    """
    cdef vector[Gram] grams
    cdef vector[Gram] best
    cdef size_t index
    with nogil:
        grams.reserve(positions)
        gather(data, offsets, counts, first, last, max_width, grams)
        sort_by_bytes(grams)
        close_runs(grams, limit, best)
    words = np.empty((best.size(), 2), np.uint64)
    widths = np.empty(best.size(), np.int64)
    totals = np.empty(best.size(), np.int64)
    cdef uint64_t[:, ::1] words_view = words
    cdef int64_t[::1] widths_view = widths
    cdef int64_t[::1] totals_view = totals
    for index in range(best.size()):
        words_view[index, 0] = best[index].head
        words_view[index, 1] = best[index].tail
        widths_view[index] = best[index].width
        totals_view[index] = best[index].number
    return words, widths, totals
