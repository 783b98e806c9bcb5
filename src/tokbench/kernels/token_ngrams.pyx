# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Token n-gram models of all orders with interpolated modified Kneser-Ney smoothing.

Chen and Goodman, "An Empirical Study of Smoothing Techniques for Language Modeling" (1998), section 3. All contexts
that end in a token are at the places that follow it. So each token is processed separately: the places after it become
records, sorted by the tokens before it. A context of any length is then a run of adjacent records, in which counts and
continuation counts are found by scanning. Only counts of counts are kept from one token to the next; they determine the
discounts. So there are two passes, one for counting and one for scoring. Memory is limited to the records of a given
number of places.

Lower orders do not depend on the highest, so one scan serves the models of all orders.

Reference: ``bits`` in :mod:`tokbench.reference.ngram`.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp cimport bool

import numpy as np

from tokbench.kernels.kneser_ney cimport Counts, Discounts, count_up, discounts_of, interpolated
from tokbench.kernels.sums_of_bits cimport FRACTION, Sums, add, document_of

cdef enum:
    HIGHEST = 5             # highest order: of four tokens of context one is shared, and three fit into a word
    TOKEN_BITS = 21
    MANY = 5                # larger counts of a type are not distinguished
    MOST_DOCUMENTS = 0x7FFFFFFF

MAX_ORDER = HIGHEST
MAX_SYMBOLS = 1 << TOKEN_BITS
MAX_PLACES = 1 << 42
RECORD_BYTES = 28
"""Bytes per place: its record, its document, and the probability of the next lower order."""

cdef double UNIT = <double>(<int64_t>1 << FRACTION)


cdef extern from *:
    """
    #include <algorithm>
    #include <cstdint>
    struct Record {
        uint64_t before;    /* second, third and fourth token before a place, the nearest in the high bits */
        uint64_t at;        /* 2**21 times the place, plus its token */
    };
    static void sort_records(Record *first, int64_t count) {
        std::sort(first, first + count, [](const Record &a, const Record &b) { return a.before < b.before; });
    }
    """
    cppclass Record:
        uint64_t before
        uint64_t at
    void sort_records(Record *first, int64_t count) noexcept nogil


cdef struct Seen:
    # Counts of a token after the current context.
    int64_t raw                 # occurrences
    int64_t continued           # number of distinct tokens before the context and it
    uint64_t inner              # the last of these + 1


cdef inline int64_t place_of(Record record) noexcept nogil:
    return <int64_t>(record.at >> TOKEN_BITS)


cdef inline int64_t token_of(Record record) noexcept nogil:
    return <int64_t>(record.at & ((1 << TOKEN_BITS) - 1))


cdef inline uint64_t context_of(Record record, int64_t order) noexcept nogil:
    """Return the context of a model of this order before the token that the records of a run share."""
    return record.before >> <int>(TOKEN_BITS * (HIGHEST - order))


cdef class TokenNgrams:
    """Models of the orders 1 to ``order``, which score the text that follows the training text.

    Args:
        stream: int32 [n], documents of the training text, then those of the other text. A document is ``order - 1``
            times BOS, its tokens, and EOS. The array is not copied. BOS is ``symbols - 2``, EOS is ``symbols - 1``.
        trained: Number of places of the training text.
        symbols: Largest number in the stream + 1.
        vocabulary: Number of tokens, without EOS, that share the probability of unseen tokens.
        order: 1 to 5.

    Raises:
        ValueError: an argument is out of range, or a text does not begin or end like a document.
    """

    cdef const int32_t[::1] stream
    cdef int64_t trained, symbols, vocabulary, order
    cdef int64_t[::1] after         # number of places that follow each symbol
    cdef int64_t[::1] raw           # count of each symbol in training
    cdef int64_t[::1] continued     # distinct symbols before each symbol in training
    cdef int64_t[:, :, ::1] types   # by order, raw or continued, and count
    cdef Seen[::1] seen             # per symbol; zero between two contexts

    def __init__(
        self, const int32_t[::1] stream not None, int64_t trained, int64_t symbols, int64_t vocabulary, int64_t order
    ):
        cdef int64_t n = stream.shape[0]
        if (
            not 1 <= order <= HIGHEST
            or not 2 <= symbols <= MAX_SYMBOLS
            or not 0 <= trained <= n < MAX_PLACES
            or vocabulary < 0
        ):
            raise ValueError(f"no models of order {order} of {symbols} symbols at {trained} of {n} places")
        self.stream, self.trained, self.symbols, self.vocabulary, self.order = (
            stream, trained, symbols, vocabulary, order
        )
        self.after, self.raw = np.zeros(symbols, np.int64), np.zeros(symbols, np.int64)
        self.continued = np.zeros(symbols, np.int64)
        self.types = np.zeros((HIGHEST + 1, 2, MANY + 1), np.int64)
        self.seen = np.zeros(symbols, np.dtype([("raw", "i8"), ("continued", "i8"), ("inner", "u8")]))
        if not self.count_symbols():
            raise ValueError(f"no documents of {symbols} symbols, each after {order - 1} that begin it")

    cdef bool count_symbols(self) noexcept nogil:
        """Count symbols and their successors; return whether the texts begin and end like documents."""
        cdef int64_t place, symbol, n = self.stream.shape[0], last = self.symbols - 1, begun = 0
        for place in range(n):
            symbol = self.stream[place]
            if symbol < 0 or symbol >= self.symbols or (place == self.trained and last != self.symbols - 1):
                return False
            if symbol == self.symbols - 2:
                begun += 1
            elif begun < self.order - 1:
                return False
            else:
                self.after[last] += 1
                if place < self.trained:
                    self.raw[symbol] += 1
                if symbol == self.symbols - 1:
                    begun = 0
            last = symbol
        return last == self.symbols - 1

    def unseen(self) -> int:
        """Return the number of tokens of the scored text, without ends, that do not occur in the training text."""
        cdef int64_t place, found = 0
        with nogil:
            for place in range(self.trained, self.stream.shape[0]):
                found += self.stream[place] < self.symbols - 2 and not self.raw[self.stream[place]]
        return found

    def unused(self) -> int:
        """Return the number of symbols, without BOS and EOS, that do not occur in the training text."""
        return int(np.sum(np.asarray(self.raw)[: self.symbols - 2] == 0))

    def most_after(self) -> int:
        """Return the largest number of places that follow one token."""
        return int(np.max(self.after))

    def bits(self, int64_t held=MAX_PLACES, double[:, ::1] probabilities=None) -> NDArray[np.float64]:
        """Return the bits of each scored document, including its end, by the model of each order.

        The bits of a place are added as an integer multiple of 2**-52, so that sums do not depend on the order of
        places.

        Args:
            held: Maximum number of places with records in memory (default: 2^42); all places after one token are the
                minimum.
            probabilities: float64 [scored places, order], output (default: None). Places of BOS are not written.

        Returns:
            float64 [documents, order].

        Raises:
            ValueError: ``probabilities`` has another shape, or there are too many documents.
        """
        cdef int64_t scored = self.stream.shape[0] - self.trained, first, last
        if probabilities is not None and (probabilities.shape[0], probabilities.shape[1]) != (scored, self.order):
            raise ValueError("probabilities of other places or orders")
        ends = np.flatnonzero(np.asarray(self.stream)[self.trained:] == self.symbols - 1) + self.trained
        whole, parts = np.zeros((2, len(ends), self.order), np.int64)
        cdef const int64_t[::1] end = ends
        cdef int64_t[:, ::1] wholes = whole
        cdef int64_t[:, ::1] part = parts
        cdef Sums sums
        if not len(ends):
            return whole + parts / UNIT
        if len(ends) > MOST_DOCUMENTS:
            raise ValueError(f"{len(ends)} documents are more than {MOST_DOCUMENTS}")
        sums.ends, sums.documents, sums.orders, sums.first = &end[0], len(ends), self.order, self.trained
        sums.whole, sums.parts = &wholes[0, 0], &part[0, 0]
        sums.probabilities = NULL
        if probabilities is not None:
            sums.probabilities = &probabilities[0, 0]
        starts = np.zeros(self.symbols + 1, np.int64)
        np.cumsum(self.after, out=starts[1:])
        ranges = ranges_of(starts, held)
        records = np.empty((max(starts[last] - starts[first] for first, last in ranges), 2), np.uint64)
        below = np.empty(self.most_after())
        cdef int32_t[::1] document = np.empty(self.most_after(), np.int32)
        sums.document = &document[0]
        self.continued[:] = 0
        self.types[:] = 0
        for first, last in ranges:
            self.fill(starts, first, last, records)
            self.count(starts, first, last, records)
        for first, last in ranges:
            if len(ranges) > 1:
                self.fill(starts, first, last, records)
            self.score(starts, first, last, records, below, &sums)
        return whole + parts / UNIT

    cdef int fill(self, int64_t[::1] starts, int64_t first, int64_t last, uint64_t[:, ::1] room) except -1:
        """Write the records of the places after the tokens ``first`` to ``last``, sorted for each token."""
        cdef Record *records = <Record *>&room[0, 0]
        cdef Record *record
        cdef int64_t[::1] filled = np.asarray(starts[first:last]) - starts[first]
        cdef int64_t place, back, symbol, token = self.symbols - 1
        with nogil:
            for place in range(self.stream.shape[0]):
                symbol = self.stream[place]
                if symbol != self.symbols - 2 and first <= token < last:
                    record = records + filled[token - first]
                    filled[token - first] += 1
                    record.before = 0
                    for back in range(2, HIGHEST):
                        record.before <<= TOKEN_BITS
                        if back < self.order:
                            record.before |= <uint64_t>self.stream[place - back]
                    record.at = <uint64_t>place << TOKEN_BITS | <uint64_t>symbol
                token = symbol
            for token in range(first, last):
                sort_records(records + starts[token] - starts[first], starts[token + 1] - starts[token])
        return 0

    cdef int count(self, int64_t[::1] starts, int64_t first, int64_t last, uint64_t[:, ::1] room) except -1:
        """Count the types of each order by their counts."""
        cdef int64_t token, order
        with nogil:
            for token in range(first, last):
                for order in range(2, self.order + 1):
                    self.count_types(
                        <Record *>&room[0, 0] + starts[token] - starts[first], starts[token + 1] - starts[token], order
                    )
        return 0

    cdef void count_types(self, Record *records, int64_t n, int64_t order) noexcept nogil:
        cdef int64_t first = 0, last, i
        cdef Seen *seen
        while first < n:
            last = first
            while last < n and context_of(records[last], order) == context_of(records[first], order):
                self.see(records[last], order)
                last += 1
            for i in range(first, last):
                seen = &self.seen[token_of(records[i])]
                if seen.raw:
                    self.types[order, 0, min(seen.raw, MANY)] += 1
                    self.types[order, 1, min(seen.continued, MANY)] += 1
                    if order == 2:
                        self.continued[token_of(records[i])] += 1
                    seen.raw = seen.continued = seen.inner = 0
            first = last

    cdef inline Seen *see(self, Record record, int64_t order) noexcept nogil:
        """Count a record of the training text; return the counts of its token, or NULL for the other text."""
        cdef Seen *seen = &self.seen[token_of(record)]
        if place_of(record) >= self.trained:
            return NULL
        seen.raw += 1
        if order < self.order and seen.inner != context_of(record, order + 1) + 1:
            seen.inner = context_of(record, order + 1) + 1
            seen.continued += 1
        return seen

    cdef int score(
        self, int64_t[::1] starts, int64_t first, int64_t last, uint64_t[:, ::1] room, double[::1] below, Sums *sums
    ) except -1:
        """Add the bits of the places after the tokens ``first`` to ``last``, in every order."""
        cdef Discounts[HIGHEST + 1][2] discounts
        cdef Counts[2] singles
        cdef int64_t token, order, symbol
        cdef Record *records
        with nogil:
            singles[0] = self.single_counts(self.raw, &self.types[1, 0, 0])
            singles[1] = self.single_counts(self.continued, &self.types[1, 1, 0])
            for order in range(1, self.order + 1):
                discounts[order][0] = discounts_of(&self.types[order, 0, 0])
                discounts[order][1] = discounts_of(&self.types[order, 1, 0])
            for token in range(first, last):
                records = <Record *>&room[0, 0] + starts[token] - starts[first]
                if self.score_singles(
                    records, starts[token + 1] - starts[token], singles, discounts[1], &below[0], sums
                ):
                    for order in range(2, self.order + 1):
                        self.score_types(
                            records, starts[token + 1] - starts[token], order, discounts[order], &below[0], sums
                        )
        return 0

    cdef Counts single_counts(self, const int64_t[::1] counts, int64_t *types) noexcept nogil:
        """Return the counts without a context, and overwrite ``types``."""
        cdef Counts found
        cdef int64_t symbol, count
        found.total = 0
        for count in range(MANY + 1):
            types[count] = 0
        for symbol in range(self.symbols):
            found.total += counts[symbol]
            types[min(counts[symbol], MANY)] += 1
        found.types[1], found.types[2] = types[1], types[2]
        found.types[3] = types[3] + types[4] + types[MANY]
        return found

    cdef bool score_singles(
        self, Record *records, int64_t n, Counts *counts, Discounts *discounts, double *below, Sums *sums
    ) noexcept nogil:
        """Score without a context; return whether there is anything to score."""
        cdef double uniform = 1.0 / (self.vocabulary + 1)
        cdef bool found = False
        cdef int64_t i, token
        for i in range(n):
            if place_of(records[i]) >= self.trained:
                found = True
                token = token_of(records[i])
                sums.document[i] = document_of(sums, place_of(records[i]))
                add(
                    sums, sums.document[i], place_of(records[i]), 1,
                    interpolated(self.raw[token], &counts[0], &discounts[0], uniform),
                )
                below[i] = interpolated(self.continued[token], &counts[1], &discounts[1], uniform)
        return found

    cdef void score_types(
        self, Record *records, int64_t n, int64_t order, Discounts *discounts, double *below, Sums *sums
    ) noexcept nogil:
        """Score by the contexts of an order; update ``below``, the probability of each place, to this order."""
        cdef int64_t first = 0, last, i
        cdef Counts[2] counts
        cdef Seen *seen
        cdef bool found
        while first < n:
            last, found = first, False
            while last < n and context_of(records[last], order) == context_of(records[first], order):
                found = found or place_of(records[last]) >= self.trained
                last += 1
            if found:
                counts[0].total = counts[1].total = 0
                for i in range(4):
                    counts[0].types[i] = counts[1].types[i] = 0
                for i in range(first, last):
                    self.see_counted(records[i], order, counts)
                for i in range(first, last):
                    if place_of(records[i]) >= self.trained:
                        seen = &self.seen[token_of(records[i])]
                        add(
                            sums, sums.document[i], place_of(records[i]), order,
                            interpolated(seen.raw, counts, discounts, below[i]),
                        )
                        below[i] = interpolated(seen.continued, counts + 1, discounts + 1, below[i])
                for i in range(first, last):
                    seen = &self.seen[token_of(records[i])]
                    seen.raw = seen.continued = seen.inner = 0
            first = last

    cdef inline void see_counted(self, Record record, int64_t order, Counts *counts) noexcept nogil:
        """Count a record of the training text, and the counts of its token."""
        cdef int64_t before = self.seen[token_of(record)].continued
        cdef Seen *seen = self.see(record, order)
        if seen:
            count_up(counts, seen.raw)
            if seen.continued != before:
                count_up(counts + 1, seen.continued)


def ranges_of(starts: NDArray[np.int64], int64_t held) -> list[tuple[int, int]]:
    """Return ranges of tokens, each with at most ``held`` places after them, or a single token."""
    found, first = [], 0
    while first < len(starts) - 1:
        last = max(first + 1, int(np.searchsorted(starts, starts[first] + held, side="right")) - 1)
        found.append((first, last))
        first = last
    return found
