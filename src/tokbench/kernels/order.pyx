# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Stable sorting by radix sort: one pass for each group of eleven bits in which any two keys differ.

Reference: ``by_bytes`` in :mod:`tokbench.reference.numbers`.
"""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

cdef enum:
    BITS = 11
    DIGITS = 6              # of BITS bits, in a key of 64 bits
    VALUES = 1 << BITS
    WORD = 8                # bytes compared at once

cdef uint64_t SIGN = <uint64_t>1 << 63


cdef struct Entry:
    uint64_t key
    int64_t place


cdef int sort(vector[Entry]& entries, vector[Entry]& spare) except -1 nogil:
    """Sort entries by their keys; stable."""
    cdef vector[int64_t] tally
    cdef int64_t *places
    cdef int64_t size = entries.size(), before, held, i
    cdef int digit, value
    cdef uint64_t key
    tally.resize(DIGITS * VALUES)
    for i in range(size):
        key = entries[i].key
        for digit in range(DIGITS):
            tally[digit * VALUES + ((key >> (digit * BITS)) & (VALUES - 1))] += 1
    for digit in range(DIGITS if size else 0):
        places = tally.data() + digit * VALUES
        if places[(entries[0].key >> (digit * BITS)) & (VALUES - 1)] == size:
            continue
        before = 0
        for value in range(VALUES):
            held = places[value]
            places[value] = before
            before += held
        for i in range(size):
            value = (entries[i].key >> (digit * BITS)) & (VALUES - 1)
            spare[places[value]] = entries[i]
            places[value] += 1
        entries.swap(spare)
    return 0


cdef places_of(const vector[Entry]& entries):
    found = np.empty(entries.size(), np.int64)
    cdef int64_t[::1] view = found
    cdef size_t i
    for i in range(entries.size()):
        view[i] = entries[i].place
    return found


def descending(const double[::1] values) -> NDArray[np.int64]:
    """Return the indices of numbers in descending order; stable.

    Args:
        values: float64 [n], without NaN.

    Returns:
        int64 [n].
    """
    cdef vector[Entry] entries, spare
    cdef int64_t size = values.shape[0], i
    cdef double value
    cdef uint64_t bits
    with nogil:
        entries.resize(size)
        spare.resize(size)
        for i in range(size):
            value = values[i] + 0.0     # turns -0.0 into 0.0
            memcpy(&bits, &value, sizeof(bits))
            entries[i].key = bits if bits & SIGN else ~bits & ~SIGN
            entries[i].place = i
        sort(entries, spare)
    return places_of(entries)


def ascending(const int64_t[::1] first, const int64_t[::1] second) -> NDArray[np.int64]:
    """Return the indices of pairs of numbers in ascending order by ``first``, then by ``second``; stable.

    Args:
        first: int64 [n].
        second: int64 [n].

    Returns:
        int64 [n].
    """
    cdef vector[Entry] entries, spare
    cdef int64_t size = first.shape[0], i
    with nogil:
        entries.resize(size)
        spare.resize(size)
        for i in range(size):
            entries[i].key = <uint64_t>second[i] ^ SIGN
            entries[i].place = i
        sort(entries, spare)
        for i in range(size):
            entries[i].key = <uint64_t>first[entries[i].place] ^ SIGN
        sort(entries, spare)
    return places_of(entries)


def by_bytes(const uint8_t[::1] data, const int64_t[::1] offsets, const int64_t[::1] places) -> NDArray[np.int64]:
    """Sort strings in byte order; stable. Efficient if all are short.

    Args:
        data: uint8 [bytes], concatenated strings.
        offsets: int64 [strings + 1], start of each string.
        places: int64 [n], indices of the strings to sort.

    Returns:
        int64 [n], the indices in order.
    """
    cdef vector[Entry] entries, spare
    cdef int64_t size = places.shape[0], longest = 0, i, word, at, end
    cdef int shift
    cdef uint64_t key
    with nogil:
        entries.resize(size)
        spare.resize(size)
        for i in range(size):
            entries[i].place = places[i]
            entries[i].key = offsets[places[i] + 1] - offsets[places[i]]
            longest = max(longest, <int64_t>entries[i].key)
        sort(entries, spare)
        for word in range((longest - 1) // WORD if longest else -1, -1, -1):
            for i in range(size):
                at = offsets[entries[i].place] + word * WORD
                end = offsets[entries[i].place + 1]
                key = 0
                for shift in range(56, -1, -8):
                    if at >= end:
                        break
                    key |= <uint64_t>data[at] << shift
                    at += 1
                entries[i].key = key
            sort(entries, spare)
    return places_of(entries)
