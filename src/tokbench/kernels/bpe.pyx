# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Byte-pair merging over counted words.

Every symbol has links to its neighbours and to the pair it starts. So a merge finds the pairs to decrement by position.
The pairs to increment all contain the new symbol, and are found through two arrays indexed by the other symbol, without
hashing.

The queue is lazy: counts fall in place, and a pair is updated when it reaches the top. The queue contains only pairs
with a count of 2**level or more, so it stays small. Rarer pairs wait in lists by the logarithm of their counts until
the level falls to theirs; most are never merged.

A pair gets all its positions when the younger of its symbols is made. So it is queued once, and its count can only
fall. The alphabet is arbitrary: the 256 bytes or the tokens of a vocabulary.

Reference: :mod:`tokbench.reference.bpe`.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp.vector cimport vector

from tokbench.kernels.cuts cimport leading_zeros
from tokbench.kernels.huge cimport want_huge_pages
from tokbench.kernels.limits cimport next_number, within
from tokbench.kernels.queue cimport Key, Untold, push, settle, take_out
from tokbench.kernels.symbols cimport Numbers, Symbol, fetch_ahead, lay_out, number_of, swallow


cdef enum:
    LEVELS = 63     # levels of a count


cdef struct Pair:
    int64_t count
    int64_t start   # of its first position in the store
    int32_t size    # number of positions, including those since broken up
    int32_t left
    int32_t right


cdef struct Event:
    int32_t pair
    int32_t position


cdef class Merging:
    """State of one training run."""

    cdef vector[Symbol] symbols
    cdef vector[int64_t] lengths    # of each symbol id, in the unit of the alphabet's lengths
    cdef vector[uint64_t] ranks     # of each symbol id
    cdef vector[Pair] pairs
    cdef vector[int32_t] of_left    # during a merge: pair of a symbol followed by the new one, -1 for none
    cdef vector[int32_t] of_right   # likewise, preceded by the new one
    cdef vector[Event] events       # positions added to pairs by the current merge, in order
    cdef size_t queued              # number of pairs that are or were in the queue
    cdef vector[int32_t] store
    cdef vector[Key] heap
    cdef vector[vector[int32_t]] waiting    # pairs by the binary logarithm of their count when last examined
    cdef int32_t level              # pairs with a count of 2**level or more are or were in the queue
    cdef int64_t min_count
    cdef int64_t max_length

    cdef int start(
        self, const int32_t[::1] text, const int64_t[::1] offsets, const int64_t[::1] counts,
        const int64_t[::1] ranks, const int64_t[::1] lengths,
    ) except -1 nogil:
        """Lay out the symbols and queue the pairs of the alphabet."""
        cdef Numbers numbers
        cdef Symbol *symbol
        cdef int32_t right
        cdef int64_t i
        self.level = LEVELS
        self.waiting.resize(LEVELS)
        for i in range(ranks.shape[0]):
            self.add_symbol(lengths[i], ranks[i])
        lay_out(self.symbols, text, offsets, counts)
        self.events.reserve(text.shape[0])
        want_huge_pages(self.events.data(), text.shape[0] * sizeof(Event))
        for i in range(text.shape[0]):
            symbol = &self.symbols[i]
            if symbol.next < 0:
                continue
            right = self.symbols[symbol.next].id
            if self.lengths[symbol.id] + self.lengths[right] <= self.max_length:
                symbol.pair = number_of(numbers, symbol.id, right, self.pairs.size())
                if symbol.pair == <int64_t>self.pairs.size():
                    self.add_pair(symbol.id, right)
                self.give(symbol.pair, <int32_t>i, symbol.weight)
        self.enqueue()
        return 0

    cdef int add_symbol(self, int64_t length, uint64_t rank) except -1 nogil:
        self.lengths.push_back(length)
        self.ranks.push_back(rank)
        self.of_left.push_back(-1)
        self.of_right.push_back(-1)
        return 0

    cdef int32_t add_pair(self, int32_t left, int32_t right) except -1 nogil:
        cdef Pair pair
        cdef int32_t id = next_number(self.pairs.size(), "pairs")
        pair.count, pair.start, pair.size, pair.left, pair.right = 0, 0, 0, left, right
        self.pairs.push_back(pair)
        return id

    cdef inline int give(self, int32_t pair, int32_t position, int64_t weight) except -1 nogil:
        cdef Event event
        event.pair, event.position = pair, position
        self.events.push_back(event)
        self.pairs[pair].count += weight
        self.pairs[pair].size += 1
        return 0

    cdef int enqueue(self) except -1 nogil:
        """Queue the new pairs with sufficient counts, and store their positions."""
        cdef int64_t end = self.store.size()
        cdef size_t i
        cdef Pair *pair
        for i in range(self.queued, self.pairs.size()):
            pair = &self.pairs[i]
            if pair.count >= self.min_count:
                pair.start = end
                end += pair.size
                self.await_turn(<int32_t>i)
            pair.size = 0
        self.queued = self.pairs.size()
        self.store.resize(end)
        for i in range(self.events.size()):
            pair = &self.pairs[self.events[i].pair]
            if pair.count >= self.min_count:
                self.store[pair.start + pair.size] = self.events[i].position
                pair.size += 1
        self.events.clear()
        return 0

    cdef int await_turn(self, int32_t id) except -1 nogil:
        """Queue a pair or add it to a waiting list. Drop a pair that is too rare to be merged."""
        cdef const Pair *pair = &self.pairs[id]
        cdef Untold untold
        cdef Key key
        if pair.count < self.min_count:
            return 0
        if pair.count >> self.level == 0:
            self.waiting[63 - leading_zeros(<uint64_t>pair.count)].push_back(id)
            return 0
        key.count, key.pair = pair.count, id
        key.order = self.ranks[pair.left] << 32 | self.ranks[pair.right]
        push(self.heap, key, untold)
        return 0

    cdef int lower(self) except -1 nogil:
        """Lower the level and queue the pairs that waited for it."""
        cdef vector[int32_t] due
        cdef size_t i
        self.level -= 1
        due.swap(self.waiting[self.level])
        for i in range(due.size()):
            self.await_turn(due[i])
        return 0

    cdef int32_t take(self) except -2 nogil:
        """Remove the first pair from the queue and return it; -1 if none is left to merge."""
        cdef Untold untold
        cdef Key top
        cdef int64_t count
        while True:
            while self.heap.size() > 0:
                top = self.heap[0]
                count = self.pairs[top.pair].count
                if top.count == count:
                    take_out(self.heap, 0, untold)
                    return top.pair
                if count >= self.min_count and count >> self.level > 0:
                    top.count = count
                    settle(self.heap, 0, top, untold)
                else:
                    take_out(self.heap, 0, untold)
                    self.await_turn(top.pair)
            if self.level == 0:
                return -1
            self.lower()

    cdef int merge(self, int32_t merged) except -1 nogil:
        """Create the symbol of a pair and replace every occurrence of the pair, from left to right."""
        cdef int32_t id = <int32_t>self.lengths.size(), position
        cdef Pair pair = self.pairs[merged]
        cdef int64_t first = self.pairs.size(), i
        self.add_symbol(self.lengths[pair.left] + self.lengths[pair.right], id)
        for i in range(pair.start, pair.start + pair.size):
            position = self.store[i]
            fetch_ahead(
                self.symbols.data(), self.pairs.data(), merged, self.store.data(), i, pair.start + pair.size
            )
            if self.symbols[position].pair == merged:
                self.merge_at(position, id)
        for i in range(first, <int64_t>self.pairs.size()):
            self.of_left[self.pairs[i].left] = -1
            self.of_right[self.pairs[i].right] = -1
        return self.enqueue()

    cdef int merge_at(self, int32_t position, int32_t id) except -1 nogil:
        cdef Symbol *symbols = self.symbols.data()
        cdef Symbol *first = symbols + position
        cdef Symbol *beside
        cdef int64_t weight = first.weight
        cdef int32_t before = first.prev, broken = symbols[first.next].pair, after
        if before >= 0:
            beside = symbols + before
            if beside.pair >= 0:
                self.pairs[beside.pair].count -= weight
            beside.pair = self.new_pair(beside.id, id, self.of_left.data() + beside.id)
            if beside.pair >= 0:
                self.give(beside.pair, before, weight)
        if broken >= 0:
            self.pairs[broken].count -= weight
        after = swallow(symbols, position, id)
        if after >= 0:
            beside = symbols + after
            first.pair = self.new_pair(id, beside.id, self.of_right.data() + beside.id)
            if first.pair >= 0:
                self.give(first.pair, position, weight)
        return 0

    cdef inline int32_t new_pair(self, int32_t left, int32_t right, int32_t *known) except -2 nogil:
        """Return the pair (left, right), created if necessary and cached in ``known``; -1 if it would be too long."""
        if known[0] < 0 and self.lengths[left] + self.lengths[right] <= self.max_length:
            known[0] = self.add_pair(left, right)
        return known[0]


def train(
    const int32_t[::1] text,
    const int64_t[::1] offsets,
    const int64_t[::1] counts,
    const int64_t[::1] ranks,
    const int64_t[::1] lengths,
    int64_t size,
    int64_t min_count,
    int64_t max_length,
) -> NDArray[np.int32]:
    """Merge the most frequent pair repeatedly until there are ``size`` symbols or no pair is left.

    Every merge results in a new string if equal words are equal symbols, as for bytes and for words split by longest
    prefix. The symbols between two boundaries that no merge has crossed do not depend on anything outside them. So
    equal strings are always built in the same way.

    Args:
        text: int32 [n], concatenated words in symbols of the alphabet; n is less than 2**31.
        offsets: int64 [words + 1], start of each word; the last entry is n.
        counts: int64 [words], count of each word, all positive.
        ranks: int64 [alphabet], rank of each symbol of the alphabet for ties, from 0 to alphabet - 1. Merged symbols
            follow in order of creation. Among equal counts, the lowest (left, right) is merged.
        lengths: int64 [alphabet], length of each symbol of the alphabet. The length of a merged symbol is the sum of
            its parts.
        size: Requested number of symbols, including the alphabet.
        min_count: Minimum count of a merged pair; at least 1.
        max_length: Maximum length of a merged symbol.

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
        state.start(text, offsets, counts, ranks, lengths)
        while <int64_t>state.lengths.size() < size:
            merged = state.take()
            if merged < 0:
                break
            taken.push_back(merged)
            state.merge(merged)
    merges = np.empty((taken.size(), 2), np.int32)
    cdef int32_t[:, ::1] pair = merges
    for i in range(<int64_t>taken.size()):
        pair[i, 0], pair[i, 1] = state.pairs[taken[i]].left, state.pairs[taken[i]].right
    return merges
