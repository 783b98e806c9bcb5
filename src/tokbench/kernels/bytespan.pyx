# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""ByteSpan: predictable spans of scored documents and their counts.

"ByteSpan: Information-Driven Subword Tokenisation", section 2.2. A byte is grouped if its signal is lower than that of
the byte before, or below a threshold. Any other byte is a peak; the first byte of a document is always a peak. A span
is the last peak before a run of grouped bytes, together with the run. Under the global constraint a span is the run
only.

Reference: :mod:`tokbench.reference.bytespan`.
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

    /* Counts of spans, separately for spans that start a pre-token and spans inside one. */
    struct SpanTable {
        std::unordered_map<std::string, int64_t> counts[2];

        void add(const uint8_t *text, int64_t width, bool inside) {
            counts[inside][std::string((const char *)text, width)]++;
        }

        /* Add 1 or -1 to a count; return the change in the number of spans with a count of at least `least`. */
        int change(const uint8_t *text, int64_t width, bool inside, int64_t by, int64_t least) {
            auto place = counts[inside].try_emplace(std::string((const char *)text, width), 0).first;
            const int64_t before = place->second, after = before + by;
            if (after) place->second = after;
            else counts[inside].erase(place);
            return (after >= least) - (before >= least);
        }

        void absorb(const SpanTable &other) {
            for (int inside = 0; inside < 2; inside++)
                for (const auto &entry : other.counts[inside]) counts[inside][entry.first] += entry.second;
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
        int change(const uint8_t* text, int64_t width, flag inside, int64_t by, int64_t least) except + nogil
        void absorb(const SpanTable& other) except + nogil
        int64_t size() nogil
        vector[Span] commonest(size_t limit) except + nogil


cdef struct Search:
    # Search state in a document: the next byte, the current run of grouped bytes, the next pre-token.
    const uint8_t* text
    const float* signal
    const int64_t* bounds
    int64_t size
    double threshold
    double fall
    bint peaks
    int64_t at
    int64_t start
    int64_t end
    int64_t upper
    int64_t[3] found    # last span: start, end, and 1 if it does not start a pre-token


cdef Search search_of(
    const uint8_t[::1] text, const float[::1] signal, const int64_t[::1] bounds, double threshold, double fall,
    bint peaks,
):
    """Return a search of one document; see :func:`find_spans`."""
    cdef Search search
    if signal.shape[0] != text.shape[0] or bounds.shape[0] < 1 or bounds[bounds.shape[0] - 1] != text.shape[0]:
        raise ValueError("signal and pre-token bounds must cover the text")
    search.text, search.signal, search.bounds, search.size = &text[0], &signal[0], &bounds[0], text.shape[0]
    search.threshold, search.fall, search.peaks = threshold, fall, peaks
    search.at = search.start = search.end = 0
    search.upper = 1
    return search


cdef inline void next_run(Search* search) noexcept nogil:
    """Advance to the next run of grouped bytes, which may be empty."""
    cdef const float* signal = search.signal
    cdef int64_t at = search.at, end, size = search.size
    if search.peaks:
        end = at + 1
        while end < size and (
            signal[end] < search.threshold or <double>signal[end] - <double>signal[end - 1] < search.fall
        ):
            end += 1
        search.start = at if end - at > 1 else end
    else:
        while at < size and signal[at] >= search.threshold:
            at += 1
        end = at
        while end < size and signal[end] < search.threshold:
            end += 1
        search.start = at
    search.end = search.at = end


cdef bint next_span(Search* search) noexcept nogil:
    """Store the next span in ``found``; return False if there is none."""
    cdef int64_t stop, left, lower
    while True:
        while search.start >= search.end:
            if search.at >= search.size:
                return False
            next_run(search)
        while search.bounds[search.upper] <= search.start:
            search.upper += 1
        stop = min(search.end, search.bounds[search.upper])
        lower = search.bounds[search.upper - 1]
        left = lower if lower == search.start - 1 and search.text[lower] == 0x20 else search.start
        search.start = stop
        if stop - left > 1:
            search.found[0], search.found[1], search.found[2] = left, stop, left != lower
            return True


def find_spans(
    const uint8_t[::1] text,
    const float[::1] signal,
    const int64_t[::1] bounds,
    double threshold,
    double fall,
    bint peaks=True,
) -> NDArray[np.int64]:
    """Return the spans of one document, split at pre-token starts, without single bytes.

    A space that starts a pre-token belongs to it: a span that starts right after such a space is extended to include
    it.

    Args:
        text: uint8 [n].
        signal: float32 [n], surprisal or entropy of each byte.
        bounds: int64, starts of the pre-tokens, strictly ascending from 0, and n at the end.
        threshold: Bytes with a signal below it are grouped; minus infinity for none.
        fall: Bytes are grouped if the signal minus that of the byte before is below it; 0 is the monotonic constraint.
            Not used without peaks.
        peaks: Whether a span starts with the byte before the grouped ones (default: True). Without peaks (the global
            constraint), spans are the runs of bytes below the threshold, and the first byte of the document has no
            special role.

    Returns:
        int64 [m, 3]: start, end, and 1 if the span does not start a pre-token.

    Raises:
        ValueError: the lengths of the arrays do not match.
    """
    cdef Search search = search_of(text, signal, bounds, threshold, fall, peaks)
    spans = np.empty((text.shape[0], 3), np.int64)
    cdef int64_t[:, ::1] found = spans
    cdef int64_t rows = 0
    with nogil:
        while next_span(&search):
            found[rows, 0], found[rows, 1], found[rows, 2] = search.found[0], search.found[1], search.found[2]
            rows += 1
    return spans[:rows]


cdef class SpanCounter:
    """Counts of spans, separately for spans that start a pre-token and spans inside one."""

    cdef SpanTable table

    def add(
        self,
        const uint8_t[::1] text,
        const float[::1] signal,
        const int64_t[::1] bounds,
        double threshold,
        double fall,
        bint peaks=True,
    ) -> None:
        """Count the spans of one document; the arguments are those of :func:`find_spans`."""
        cdef Search search = search_of(text, signal, bounds, threshold, fall, peaks)
        with nogil:
            while next_span(&search):
                self.table.add(&text[search.found[0]], search.found[1] - search.found[0], search.found[2] != 0)

    def absorb(self, SpanCounter other not None) -> None:
        """Add the counts of another counter."""
        with nogil:
            self.table.absorb(other.table)

    def __len__(self) -> int:
        return self.table.size()

    def commonest(self, int64_t limit) -> list[tuple[bytes, bool, int]]:
        """Return up to ``limit`` (bytes, inside a pre-token, count); descending count, then bytes."""
        return listed(&self.table, limit)


cdef list listed(SpanTable* table, int64_t limit):
    cdef vector[Span] spans
    cdef size_t row
    with nogil:
        spans = table.commonest(max(limit, <int64_t>0))
    return [
        (spans[row].text.data()[:spans[row].text.size()], bool(spans[row].inside), spans[row].count)
        for row in range(spans.size())
    ]


cdef class Segments:
    """Segments of active bytes, which grow as bytes become active, and their current counts.

    A segment is a run of active bytes inside a pre-token. If it starts right after the pre-token's space, it includes
    the space. Single bytes, with or without their word's space, are not counted.

    Args:
        text: uint8 [n], concatenated documents.
        starts: uint8 [n], 1 at the start of a pre-token.
        least: Count from which a segment is frequent, at least 1.
    """

    cdef SpanTable table
    cdef const uint8_t[::1] text
    cdef const uint8_t[::1] starts
    cdef int64_t[::1] ends      # at either end of a run, the other end; -1 if the byte is not active
    cdef int64_t least
    cdef readonly int64_t frequent
    """Number of distinct segments that are frequent now."""

    def __init__(self, const uint8_t[::1] text, const uint8_t[::1] starts, int64_t least):
        if text.shape[0] != starts.shape[0]:
            raise ValueError("starts must have one entry a byte")
        self.text, self.starts, self.least = text, starts, max(least, <int64_t>1)
        self.ends = np.full(text.shape[0], -1, np.int64)

    def activate(self, const int64_t[::1] positions) -> None:
        """Make bytes active, one after another; each must be inactive before."""
        cdef int64_t row, at, first, last, n = self.text.shape[0]
        with nogil:
            for row in range(positions.shape[0]):
                at = first = last = positions[row]
                if not self.starts[at] and self.ends[at - 1] >= 0:
                    first = self.ends[at - 1]
                    self.change(first, at - 1, -1)
                if at + 1 < n and not self.starts[at + 1] and self.ends[at + 1] >= 0:
                    last = self.ends[at + 1]
                    self.change(at + 1, last, -1)
                self.ends[at] = at
                self.ends[first] = last
                self.ends[last] = first
                self.change(first, last, 1)

    cdef int change(self, int64_t first, int64_t last, int64_t by) except -1 nogil:
        cdef int64_t left = first, width
        if not self.starts[first] and self.starts[first - 1] and self.text[first - 1] == 0x20:
            left = first - 1
        width = last + 1 - left
        if width > 2 or (width == 2 and not (self.starts[left] and self.text[left] == 0x20)):
            self.frequent += self.table.change(&self.text[left], width, not self.starts[left], by, self.least)
        return 0

    def commonest(self, int64_t limit) -> list[tuple[bytes, bool, int]]:
        """Return up to ``limit`` frequent (bytes, inside a pre-token, count), ordered as by :class:`SpanCounter`."""
        return listed(&self.table, min(limit, self.frequent))
