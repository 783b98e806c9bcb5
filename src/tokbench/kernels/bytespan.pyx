# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
# distutils: extra_compile_args = -O3
"""ByteSpan: the predictable spans of a scored document, and how often each occurs.

"ByteSpan: Information-Driven Subword Tokenisation", section 2.2. A byte is grouped where its signal falls from the
byte before, or is below a threshold; any other byte is a peak, the first of a document always. A span is the last peak
before a run of grouped bytes, with that run.
"""

from libc.stdint cimport int64_t, uint8_t
from libcpp cimport bool as flag
from libcpp.string cimport string
from libcpp.vector cimport vector

import numpy as np


cdef extern from *:
    """
    #include <algorithm>
    #include <cstdint>
    #include <string>
    #include <unordered_map>
    #include <vector>

    struct Span {
        const std::string *text;
        int64_t count;
        bool inside;
    };

    static inline bool commoner(const Span &a, const Span &b) {
        if (a.count != b.count) return a.count > b.count;
        const int order = a.text->compare(*b.text);
        return order ? order < 0 : a.inside < b.inside;
    }

    /* Counts of spans, apart by whether they start a pre-token or lie inside one. */
    struct SpanTable {
        std::unordered_map<std::string, int64_t> counts[2];

        void add(const uint8_t *text, int64_t width, bool inside) {
            counts[inside][std::string((const char *)text, width)]++;
        }

        int64_t size() const { return counts[0].size() + counts[1].size(); }

        std::vector<Span> commonest(size_t limit) const {
            std::vector<Span> spans;
            spans.reserve(size());
            for (int inside = 0; inside < 2; inside++)
                for (const auto &entry : counts[inside]) spans.push_back({&entry.first, entry.second, inside == 1});
            limit = std::min(limit, spans.size());
            std::partial_sort(spans.begin(), spans.begin() + limit, spans.end(), commoner);
            spans.resize(limit);
            return spans;
        }
    };
    """
    struct Span:
        const string* text
        int64_t count
        flag inside

    cppclass SpanTable:
        void add(const uint8_t* text, int64_t width, flag inside) except + nogil
        int64_t size() nogil
        vector[Span] commonest(size_t limit) except + nogil


def find_spans(
    const uint8_t[::1] text, const float[::1] signal, const int64_t[::1] bounds, double threshold, double fall
):
    """The spans of one document, cut at pre-token starts; single bytes that remain are left out.

    A space that starts a pre-token belongs to it: where a span starts right after such a space, it extends over it.

    Args:
        text: uint8 [n].
        signal: float32 [n], surprisal or entropy of each byte.
        bounds: int64, where the pre-tokens start, strictly ascending from 0, and n at the end.
        threshold: bytes with a signal below it are grouped; minus infinity for none.
        fall: bytes are grouped where the signal less that of the byte before is below it; 0 is the monotonic constraint.

    Returns:
        int64 [m, 3]: start, end, and 1 where the span does not start a pre-token.

    Raises:
        ValueError: the arrays do not fit one another.
    """
    if signal.shape[0] != text.shape[0] or bounds.shape[0] < 1 or bounds[bounds.shape[0] - 1] != text.shape[0]:
        raise ValueError("signal and pre-token bounds must cover the text")
    spans = np.empty((text.shape[0] // 2, 3), np.int64)
    cdef int64_t[:, ::1] found = spans
    cdef int64_t n = text.shape[0], m = 0, upper = 1, peak = 0, end, start, stop, left, lower
    with nogil:
        while peak < n:
            end = peak + 1
            while end < n and (signal[end] < threshold or <double>signal[end] - <double>signal[end - 1] < fall):
                end += 1
            start = peak if end - peak > 1 else end
            while start < end:
                while bounds[upper] <= start:
                    upper += 1
                stop = min(end, bounds[upper])
                lower = bounds[upper - 1]
                left = lower if lower == start - 1 and text[lower] == 0x20 else start
                if stop - left > 1:
                    found[m, 0] = left
                    found[m, 1] = stop
                    found[m, 2] = left != lower
                    m += 1
                start = stop
            peak = end
    return spans[:m]


cdef class SpanCounter:
    """How often each span occurs, apart by whether it starts a pre-token."""

    cdef SpanTable table

    def add(self, const uint8_t[::1] text, const int64_t[:, ::1] spans):
        """Count the spans of one document, as :func:`find_spans` gives them."""
        cdef int64_t row
        with nogil:
            for row in range(spans.shape[0]):
                self.table.add(&text[spans[row, 0]], spans[row, 1] - spans[row, 0], spans[row, 2] != 0)

    def __len__(self):
        return self.table.size()

    def commonest(self, int64_t limit):
        """Up to ``limit`` (bytes, inside a pre-token, count): count descending, bytes, those that start one first."""
        cdef vector[Span] spans
        cdef size_t row
        with nogil:
            spans = self.table.commonest(max(limit, <int64_t>0))
        return [
            (spans[row].text.data()[:spans[row].text.size()], bool(spans[row].inside), spans[row].count)
            for row in range(spans.size())
        ]
