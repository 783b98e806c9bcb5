# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Merging by likelihood: the pair (a, b) with the greatest count(ab) / (count(a) count(b)) is merged first.

A merge lowers the counts of its two symbols, which raises the score of every other pair with one of them. So the queue
is a heap that stores the position of each pair, and those pairs are updated at once. They are few, because the best
pairs join rare symbols. Scores are compared exactly, as fractions in 192 bits.

Reference: ``train_wordpiece`` in :mod:`tokbench.reference.bpe`.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp.vector cimport vector

from tokbench.kernels.limits cimport next_number, within
from tokbench.kernels.queue cimport push, settle, take_out
from tokbench.kernels.symbols cimport Numbers, Symbol, fetch_ahead, lay_out, number_of, swallow

import numpy as np


cdef extern from *:
    """
    #include <cstdint>
    #include <vector>

    struct Candidate {
        int64_t count;
        int32_t left, right;
        int64_t place;          // in the queue; -1 if not queued
        std::vector<int32_t> positions;     // occurrences, including those since broken up
    };

    struct Score {
        int64_t count, left, right;         // counts of the pair and of its symbols
        uint64_t order;                     // ranks of the symbols
        int32_t pair;
    };

    /* Compare a.count / (a.left a.right) with that of b: 1 if greater, -1 if less, 0 if equal. */
    static inline int compare(const Score &a, const Score &b) {
        typedef unsigned __int128 wide;
        const wide p = (wide)b.left * b.right, q = (wide)a.left * a.right;
        const wide low = (wide)(uint64_t)p * a.count, other = (wide)(uint64_t)q * b.count;
        const wide high = (p >> 64) * a.count + (low >> 64), top = (q >> 64) * b.count + (other >> 64);
        if (high != top) return high > top ? 1 : -1;
        if ((uint64_t)low != (uint64_t)other) return (uint64_t)low > (uint64_t)other ? 1 : -1;
        return 0;
    }

    static inline bool precedes(const Score &a, const Score &b) {
        const int by_score = compare(a, b);
        if (by_score) return by_score > 0;
        return a.count != b.count ? a.count > b.count : a.order < b.order;
    }

    static inline void stand(std::vector<Candidate> &pairs, const Score &score, size_t place) {
        pairs[score.pair].place = place;
    }
    """
    cppclass Candidate:
        int64_t count
        int32_t left
        int32_t right
        int64_t place
        vector[int32_t] positions

    struct Score:
        int64_t count
        int64_t left
        int64_t right
        uint64_t order
        int32_t pair


cdef class Merging:
    """State of one training run."""

    cdef vector[Symbol] symbols
    cdef vector[Candidate] pairs
    cdef vector[Score] heap
    cdef vector[int64_t] frequencies        # of each symbol in the text at present
    cdef vector[int64_t] lengths            # of each symbol, in bytes
    cdef vector[uint64_t] ranks
    cdef vector[vector[int32_t]] holding    # pairs with each symbol
    cdef vector[int32_t] of_left            # during a merge: pair of a symbol followed by the new one, -1 for none
    cdef vector[int32_t] of_right           # likewise, preceded by the new one
    cdef int64_t min_count
    cdef int64_t max_length

    cdef int start(
        self, const int32_t[::1] text, const int64_t[::1] offsets, const int64_t[::1] counts,
        const int64_t[::1] ranks,
    ) except -1 nogil:
        cdef Numbers numbers
        cdef Symbol *symbol
        cdef int32_t right, pair
        cdef int64_t i
        for i in range(ranks.shape[0]):
            self.add_symbol(1, ranks[i])
        lay_out(self.symbols, text, offsets, counts)
        for i in range(text.shape[0]):
            symbol = &self.symbols[i]
            self.frequencies[symbol.id] += symbol.weight
            if symbol.next >= 0:
                right = self.symbols[symbol.next].id
                pair = number_of(numbers, symbol.id, right, self.pairs.size())
                if pair == <int64_t>self.pairs.size():
                    self.add_pair(symbol.id, right)
                self.give(pair, <int32_t>i)
        for i in range(<int64_t>self.pairs.size()):
            self.rank(<int32_t>i)
        return 0

    cdef int add_symbol(self, int64_t length, uint64_t rank) except -1 nogil:
        self.frequencies.push_back(0)
        self.lengths.push_back(length)
        self.ranks.push_back(rank)
        self.of_left.push_back(-1)
        self.of_right.push_back(-1)
        self.holding.resize(self.frequencies.size())
        return 0

    cdef int32_t add_pair(self, int32_t left, int32_t right) except -1 nogil:
        cdef Candidate pair
        cdef int32_t id = next_number(self.pairs.size(), "pairs")
        pair.count, pair.left, pair.right, pair.place = 0, left, right, -1
        self.pairs.push_back(pair)
        self.holding[left].push_back(id)
        if right != left:
            self.holding[right].push_back(id)
        return id

    cdef int give(self, int32_t pair, int32_t position) except -1 nogil:
        self.symbols[position].pair = pair
        self.pairs[pair].count += self.symbols[position].weight
        self.pairs[pair].positions.push_back(position)
        return 0

    cdef int rank(self, int32_t id) except -1 nogil:
        """Update the position of a pair in the queue, or drop the pair if it is too rare to be merged."""
        cdef Candidate *pair = &self.pairs[id]
        cdef Score score
        if pair.count < self.min_count:
            if pair.place >= 0:
                self.drop(id)
            return 0
        score.count, score.pair = pair.count, id
        score.left, score.right = self.frequencies[pair.left], self.frequencies[pair.right]
        score.order = self.ranks[pair.left] << 32 | self.ranks[pair.right]
        if pair.place >= 0:
            settle(self.heap, pair.place, score, self.pairs)
        else:
            push(self.heap, score, self.pairs)
        return 0

    cdef void drop(self, int32_t id) noexcept nogil:
        """Remove a pair from the queue and clear its positions."""
        cdef vector[int32_t] nothing
        cdef int64_t place = self.pairs[id].place
        self.pairs[id].place = -1
        self.pairs[id].positions.swap(nothing)
        take_out(self.heap, place, self.pairs)

    cdef int put_right(self, int32_t symbol) except -1 nogil:
        """Update the queue for all pairs with a symbol, and drop those that can no longer be merged."""
        cdef size_t i, kept = 0
        cdef int32_t pair
        for i in range(self.holding[symbol].size()):
            pair = self.holding[symbol][i]
            self.rank(pair)
            if self.pairs[pair].place >= 0:
                self.holding[symbol][kept] = pair
                kept += 1
        self.holding[symbol].resize(kept)
        return 0

    cdef int merge(self, int32_t merged) except -1 nogil:
        """Create the symbol of a pair and replace every occurrence of the pair, from left to right."""
        cdef int32_t id = <int32_t>self.frequencies.size(), left = self.pairs[merged].left
        cdef int32_t right = self.pairs[merged].right, position
        cdef int64_t first = self.pairs.size(), i
        cdef vector[int32_t] positions, changed
        positions.swap(self.pairs[merged].positions)
        self.add_symbol(self.lengths[left] + self.lengths[right], id)
        for i in range(<int64_t>positions.size()):
            position = positions[i]
            fetch_ahead(self.symbols.data(), self.pairs.data(), merged, positions.data(), i, positions.size())
            if self.symbols[position].pair == merged:
                self.merge_at(position, id, changed)
        for i in range(first, <int64_t>self.pairs.size()):
            self.of_left[self.pairs[i].left] = -1
            self.of_right[self.pairs[i].right] = -1
            self.rank(<int32_t>i)
        for i in range(<int64_t>changed.size()):
            self.rank(changed[i])
        self.put_right(left)
        if right != left:
            self.put_right(right)
        return 0

    cdef int merge_at(self, int32_t position, int32_t id, vector[int32_t] &changed) except -1 nogil:
        cdef Symbol *symbols = self.symbols.data()
        cdef Symbol *first = symbols + position
        cdef int64_t weight = first.weight
        cdef int32_t before = first.prev, right = symbols[first.next].id, after
        self.frequencies[first.id] -= weight
        self.frequencies[right] -= weight
        self.frequencies[id] += weight
        self.pairs[first.pair].count -= weight
        if before >= 0:
            self.take(before, changed)
            self.meet(before, symbols[before].id, id, self.of_left.data() + symbols[before].id)
        self.take(first.next, changed)
        after = swallow(symbols, position, id)
        if after >= 0:
            self.meet(position, id, symbols[after].id, self.of_right.data() + symbols[after].id)
        return 0

    cdef int take(self, int32_t position, vector[int32_t] &changed) except -1 nogil:
        cdef Symbol *at = &self.symbols[position]
        if at.pair >= 0:
            self.pairs[at.pair].count -= at.weight
            changed.push_back(at.pair)
            at.pair = -1
        return 0

    cdef int meet(self, int32_t position, int32_t left, int32_t right, int32_t *known) except -1 nogil:
        """Record that two symbols are now adjacent, unless they would be too long together."""
        if self.lengths[left] + self.lengths[right] > self.max_length:
            return 0
        if known[0] < 0:
            known[0] = self.add_pair(left, right)
        return self.give(known[0], position)


def train(
    const int32_t[::1] text,
    const int64_t[::1] offsets,
    const int64_t[::1] counts,
    const int64_t[::1] ranks,
    int64_t size,
    int64_t min_count,
    int64_t max_length,
) -> NDArray[np.int32]:
    """Merge the pair with the greatest count(ab) / (count(a) count(b)) repeatedly.

    Counts are those of the current text: of adjacent pairs inside words, and of symbols.

    Args:
        text: int32 [n], concatenated words in symbols of the alphabet; n is less than 2**31.
        offsets: int64 [words + 1], start of each word; the last entry is n.
        counts: int64 [words], count of each word, all positive.
        ranks: int64 [alphabet], rank of each symbol of the alphabet for ties. Merged symbols follow in order of
            creation. Among equal scores the pair with the greater count is merged, then the lowest (left, right).
        size: Requested number of symbols, including the alphabet.
        min_count: Minimum count of a merged pair; at least 1.
        max_length: Maximum length of a merged symbol in symbols of the alphabet; at least 2.

    Returns:
        int32 [m, 2] of (left, right); the resulting symbols are alphabet, alphabet + 1, ...

    Raises:
        OverflowError: there are 2**31 or more positions, symbols or pairs.
        MemoryError: there is not enough memory.
    """
    cdef Merging state = Merging()
    cdef vector[int32_t] taken
    cdef int32_t merged
    cdef int64_t i
    within(size, "symbols")
    state.min_count, state.max_length = max(min_count, 1), max_length
    with nogil:
        state.start(text, offsets, counts, ranks)
        while <int64_t>state.frequencies.size() < size and state.heap.size() > 0:
            merged = state.heap[0].pair
            taken.push_back(merged)
            state.merge(merged)
    merges = np.empty((taken.size(), 2), np.int32)
    cdef int32_t[:, ::1] pair = merges
    for i in range(<int64_t>taken.size()):
        pair[i, 0], pair[i, 1] = state.pairs[taken[i]].left, state.pairs[taken[i]].right
    return merges
