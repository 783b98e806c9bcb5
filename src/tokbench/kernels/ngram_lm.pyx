# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Byte n-gram model: counts of windows, and probabilities interpolated over all orders.

Witten and Bell (1991), interpolated as in Chen and Goodman, "An Empirical Study of Smoothing Techniques" (1998),
section 2.4. With C the count of a context h before any byte, and T the number of distinct bytes after it,

    p(b | h) = (c(h b) + T p(b | h without its first byte)) / (C + T)

down to the empty context, which falls back to 1/256. A window is the last n bytes that end at a byte of a text (fewer
at its start). All tables follow from the counts of windows, so only these are stored.

A window is one number: its bytes, the last lowest, and 2**(8 width) to encode the width.

Reference: ``score`` in :mod:`tokbench.reference.ngram`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

import numpy as np

from tokbench.kernels.elementary cimport log

MAX_ORDER = 6


cdef extern from *:
    """
    #include <cstdint>
    struct Mixed {
        /* The windows differ in their low bytes; the default hash, the identity, scatters them badly. */
        size_t operator()(uint64_t key) const {
            key = (key ^ (key >> 31)) * 0x9E3779B97F4A7C15ULL;
            return key ^ (key >> 29);
        }
    };
    #include <unordered_map>
    typedef std::unordered_map<uint64_t, int64_t, Mixed> Table;
    """
    cppclass Table:
        cppclass iterator:
            pass
        int64_t& operator[](uint64_t) except +
        size_t size()
        size_t count(uint64_t)
        void reserve(size_t) except +


cdef extern from *:
    """
    static inline int64_t find(const Table &table, uint64_t key) {
        const auto place = table.find(key);
        return place == table.end() ? -1 : place->second;
    }

    static void fill(const Table &table, uint64_t *windows, int64_t *counts) {
        for (const auto &entry : table) {
            *windows++ = entry.first;
            *counts++ = entry.second;
        }
    }
    """
    int64_t find(const Table &table, uint64_t key) noexcept nogil
    void fill(const Table &table, uint64_t *windows, int64_t *counts) noexcept nogil


cdef inline uint64_t window(const uint8_t *end, int64_t width) noexcept nogil:
    """Return the ``width`` bytes before ``end`` as a window."""
    cdef uint64_t key = 1
    cdef int64_t i
    for i in range(width):
        key = key << 8 | end[i - width]
    return key


cdef class WindowCounter:
    """Counts of windows.

    Args:
        order: Length of a window in bytes, including the predicted one; 1 to 6, so that a window is exact in a double.

    Raises:
        ValueError: the order is out of range.
    """

    cdef Table table
    cdef int64_t order

    def __init__(self, int64_t order):
        if not 1 <= order <= MAX_ORDER:
            raise ValueError(f"order must lie between 1 and {MAX_ORDER}")
        self.order = order

    @property
    def size(self) -> int:
        """Number of distinct windows so far."""
        return self.table.size()

    def add(self, const uint8_t[::1] text, int64_t first=0, last: int | None = None) -> None:
        """Count the windows of one document that end at its bytes ``first`` to ``last`` (exclusive; default: all).

        Raises:
            ValueError: the range is not inside the document.
        """
        cdef int64_t i, end = text.shape[0] if last is None else last
        if not 0 <= first <= end <= text.shape[0]:
            raise ValueError(f"{first} to {end}: no bytes of a document of {text.shape[0]}")
        with nogil:
            for i in range(first, end):
                self.table[window(&text[0] + i + 1, min(i + 1, self.order))] += 1

    def counts(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the windows, uint64 [n], ascending, and their counts, int64 [n]."""
        windows = np.empty(self.table.size(), np.uint64)
        counts = np.empty(self.table.size(), np.int64)
        cdef uint64_t[::1] keys = windows
        cdef int64_t[::1] values = counts
        if len(windows):
            fill(self.table, &keys[0], &values[0])
        order = np.argsort(windows)
        return windows[order], counts[order]


cdef struct Context:
    int64_t first       # index of its first follower
    int64_t last
    double total        # C, its count before any byte
    double weight       # T / (C + T), weight of the shorter context
    double entropy      # of the distribution after it; negative if not computed yet


cdef class ByteNgramModel:
    """Surprisal and entropy by an interpolated model. Not thread-safe.

    Args:
        windows: uint64 [n], ascending, from :meth:`WindowCounter.counts`.
        counts: int64 [n], all positive.
        order: Order of the counter.
    """

    cdef Table places               # index of each context
    cdef vector[Context] contexts
    cdef vector[uint8_t] bytes      # followers of all contexts, ascending within each
    cdef vector[double] seen        # count of each follower
    cdef int64_t order

    def __init__(self, const uint64_t[::1] windows, const int64_t[::1] counts, int64_t order):
        self.order = order
        keys, totals = np.asarray(windows), np.asarray(counts)
        widths = (np.frexp(keys.astype(np.float64))[1] - 1) // 8
        for width in range(1, order + 1):
            wide = widths >= width
            low = np.uint64((1 << 8 * width) - 1)
            cut = (keys[wide] & low) | np.uint64(1 << 8 * width)
            found, place = np.unique(cut, return_inverse=True)
            self.add(found, np.bincount(place, totals[wide], len(found)).astype(np.float64))

    cdef add(self, const uint64_t[::1] grams, const double[::1] counts):
        """Add the contexts of one width, from their grams in ascending order."""
        cdef int64_t i, start = 0
        cdef Context context
        context.entropy, context.total = -1.0, 0.0
        for i in range(grams.shape[0]):
            self.bytes.push_back(<uint8_t>(grams[i] & 255))
            self.seen.push_back(counts[i])
            context.total += counts[i]
            if i + 1 == grams.shape[0] or grams[i + 1] >> 8 != grams[i] >> 8:
                context.last = self.bytes.size()
                context.first = context.last - (i + 1 - start)
                context.weight = (i + 1 - start) / (context.total + (i + 1 - start))
                self.places[grams[i] >> 8] = self.contexts.size()
                self.contexts.push_back(context)
                context.total, start = 0.0, i + 1

    def score(self, const uint8_t[::1] text) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the surprisal of each byte of a document, and the entropy of the distribution at each byte.

        Returns:
            Two arrays, float32 [n], in nats.
        """
        cdef int64_t n = text.shape[0], i, width, deepest
        cdef int64_t[8] chain
        surprisals, entropies = np.empty(n, np.float32), np.empty(n, np.float32)
        cdef float[::1] surprisal = surprisals
        cdef float[::1] entropy = entropies
        with nogil:
            for i in range(n):
                deepest = 0
                for width in range(min(i, self.order - 1) + 1):
                    chain[width] = find(self.places, window(&text[0] + i, width))
                    if chain[width] < 0:
                        break
                    deepest = width + 1
                surprisal[i] = <float>-log(self.probability(chain, deepest, text[i]))
                entropy[i] = <float>self.spread(chain, deepest)
        return surprisals, entropies

    cdef double probability(self, const int64_t *chain, int64_t deepest, uint8_t byte) noexcept nogil:
        cdef double p = 1.0 / 256
        cdef int64_t width, low, high, middle
        cdef Context *context
        for width in range(deepest):
            context = &self.contexts[chain[width]]
            p *= context.weight
            low, high = context.first, context.last
            while low < high:
                middle = (low + high) // 2
                if self.bytes[middle] < byte:
                    low = middle + 1
                else:
                    high = middle
            if low < context.last and self.bytes[low] == byte:
                p += self.seen[low] / (context.total + (context.last - context.first))
        return p

    cdef double spread(self, const int64_t *chain, int64_t deepest) noexcept nogil:
        """Return the entropy after the last context of a chain; cached per context."""
        cdef double[256] p
        cdef double entropy = 0
        cdef int64_t width, i
        cdef Context *context
        if deepest > 0 and self.contexts[chain[deepest - 1]].entropy >= 0:
            return self.contexts[chain[deepest - 1]].entropy
        for i in range(256):
            p[i] = 1.0 / 256
        for width in range(deepest):
            context = &self.contexts[chain[width]]
            for i in range(256):
                p[i] *= context.weight
            for i in range(context.first, context.last):
                p[self.bytes[i]] += self.seen[i] / (context.total + (context.last - context.first))
        for i in range(256):
            entropy -= p[i] * log(p[i])
        if deepest > 0:
            self.contexts[chain[deepest - 1]].entropy = entropy
        return entropy
