# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Byte-pair merging over counted words.

Every symbol knows its neighbours and the pair that it starts, so a merge finds the pairs to lessen by position; the
pairs to raise all contain the new symbol and are found through two arrays indexed by the other one. No pair is ever
hashed. The queue is lazy: counts fall in place, and a pair is put right when it reaches the top.

One fact keeps this small: a pair gets all its positions when the younger of its symbols is made, so that it is queued
once and its count can only fall. The alphabet may be anything, the 256 bytes or the tokens of a vocabulary.
"""

import numpy as np

from cython.operator cimport dereference
from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp.unordered_map cimport unordered_map
from libcpp.utility cimport pair as couple
from libcpp.vector cimport vector

from tokbench.kernels.limits cimport next_number, within


cdef struct Symbol:
    int64_t weight  # count of the word
    int32_t id
    int32_t pair    # the pair of this symbol and the next; -1 for none, or once swallowed by the left neighbour
    int32_t prev    # position, -1 at the start of the word
    int32_t next    # position, -1 at the end of the word


cdef struct Pair:
    int64_t count
    int64_t start   # of its positions in the store
    int32_t size    # number of positions, with those at which it has since been broken up
    int32_t left
    int32_t right


cdef struct Key:
    int64_t count
    uint64_t order  # ranks of the left and of the right symbol
    int32_t pair


cdef struct Event:
    int32_t pair
    int32_t position


cdef inline bint precedes(const Key *a, const Key *b) noexcept nogil:
    return a.order < b.order if a.count == b.count else a.count > b.count


cdef int sift_up(vector[Key] &heap, Key key) except -1 nogil:
    cdef size_t at = heap.size(), parent
    heap.push_back(key)
    while at > 0:
        parent = (at - 1) >> 2
        if not precedes(&key, &heap[parent]):
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = key
    return 0


cdef void sift_down(vector[Key] &heap, Key key) noexcept nogil:
    """Put ``key`` in the place of the top."""
    cdef size_t at = 0, size = heap.size(), child, best
    while True:
        best = 4 * at + 1
        if best >= size:
            break
        for child in range(best + 1, min(best + 4, size)):
            if precedes(&heap[child], &heap[best]):
                best = child
        if not precedes(&heap[best], &key):
            break
        heap[at] = heap[best]
        at = best
    heap[at] = key


cdef class Merging:
    """The state of one training run."""

    cdef vector[Symbol] symbols
    cdef vector[int64_t] lengths    # of each symbol id, in the unit of the alphabet's lengths
    cdef vector[uint64_t] ranks     # of each symbol id
    cdef vector[Pair] pairs
    cdef vector[int32_t] of_left    # during a merge: the pair of a symbol with the new one after it, -1 for none
    cdef vector[int32_t] of_right   # the same, with the new one before it
    cdef vector[Event] events       # positions given to pairs by the merge under way, in order
    cdef size_t queued              # pairs that are or have been in the queue
    cdef vector[int32_t] store
    cdef vector[Key] heap
    cdef int64_t min_count
    cdef int64_t max_length

    cdef int start(
        self, const int32_t[::1] text, const int64_t[::1] offsets, const int64_t[::1] counts,
        const int64_t[::1] ranks, const int64_t[::1] lengths,
    ) except -1 nogil:
        """Lay out the symbols and queue the pairs of the alphabet."""
        cdef int64_t alphabet = ranks.shape[0], i, word, begin, end
        cdef unordered_map[uint64_t, int32_t] known
        cdef unordered_map[uint64_t, int32_t].iterator found
        cdef uint64_t key
        cdef Symbol *symbol
        for i in range(alphabet):
            self.add_symbol(lengths[i], ranks[i])
        self.symbols.resize(text.shape[0])
        for word in range(counts.shape[0]):
            begin, end = offsets[word], offsets[word + 1]
            for i in range(begin, end):
                symbol = &self.symbols[i]
                symbol.weight, symbol.id, symbol.pair = counts[word], text[i], -1
                symbol.prev = <int32_t>(i - 1) if i > begin else -1
                symbol.next = <int32_t>(i + 1) if i + 1 < end else -1
                if i + 1 < end and self.lengths[text[i]] + self.lengths[text[i + 1]] <= self.max_length:
                    key = <uint64_t>text[i] << 32 | <uint64_t>text[i + 1]
                    found = known.find(key)
                    if found != known.end():
                        symbol.pair = dereference(found).second
                    else:
                        symbol.pair = self.add_pair(text[i], text[i + 1])
                        known.insert(couple[uint64_t, int32_t](key, symbol.pair))
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
        """Queue the new pairs that may be merged one day, and store their positions."""
        cdef int64_t end = self.store.size()
        cdef size_t i
        cdef Pair *pair
        cdef Key key
        for i in range(self.queued, self.pairs.size()):
            pair = &self.pairs[i]
            if pair.count >= self.min_count:
                pair.start = end
                end += pair.size
                key.count, key.pair = pair.count, <int32_t>i
                key.order = self.ranks[pair.left] << 32 | self.ranks[pair.right]
                sift_up(self.heap, key)
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

    cdef int32_t take(self) noexcept nogil:
        """Take the foremost pair from the queue; -1 when there is none to be merged."""
        cdef Key top
        while self.heap.size() > 0:
            top = self.heap[0]
            if top.count == self.pairs[top.pair].count:
                sift_down(self.heap, self.heap.back())
                self.heap.pop_back()
                return top.pair
            top.count = self.pairs[top.pair].count
            if top.count < self.min_count:
                top = self.heap.back()
                self.heap.pop_back()
                if self.heap.size() == 0:
                    break
            sift_down(self.heap, top)
        return -1

    cdef int merge(self, int32_t merged) except -1 nogil:
        """Make the symbol of a pair and put it wherever the pair stands, from left to right."""
        cdef int32_t id = <int32_t>self.lengths.size(), position
        cdef Pair pair = self.pairs[merged]
        cdef int64_t first = self.pairs.size(), i
        self.add_symbol(self.lengths[pair.left] + self.lengths[pair.right], id)
        for i in range(pair.start, pair.start + pair.size):
            position = self.store[i]
            if self.symbols[position].pair == merged:
                self.merge_at(position, id)
        for i in range(first, <int64_t>self.pairs.size()):
            self.of_left[self.pairs[i].left] = -1
            self.of_right[self.pairs[i].right] = -1
        return self.enqueue()

    cdef int merge_at(self, int32_t position, int32_t id) except -1 nogil:
        cdef Symbol *symbols = self.symbols.data()
        cdef Symbol *first = symbols + position
        cdef Symbol *second = symbols + first.next
        cdef Symbol *beside
        cdef int64_t weight = first.weight
        cdef int32_t before = first.prev, after = second.next
        if before >= 0:
            beside = symbols + before
            if beside.pair >= 0:
                self.pairs[beside.pair].count -= weight
            beside.pair = self.new_pair(beside.id, id, self.of_left.data() + beside.id)
            if beside.pair >= 0:
                self.give(beside.pair, before, weight)
        if second.pair >= 0:
            self.pairs[second.pair].count -= weight
        second.pair = -1
        first.id, first.pair, first.next = id, -1, after
        if after >= 0:
            beside = symbols + after
            beside.prev = position
            first.pair = self.new_pair(id, beside.id, self.of_right.data() + beside.id)
            if first.pair >= 0:
                self.give(first.pair, position, weight)
        return 0

    cdef inline int32_t new_pair(self, int32_t left, int32_t right, int32_t *known) except -2 nogil:
        """The pair (left, right), as known or made known there; -1 where it would be too long."""
        if known[0] < 0 and self.lengths[left] + self.lengths[right] <= self.max_length:
            known[0] = self.add_pair(left, right)
        return known[0]


def train(
    const int32_t[::1] text, const int64_t[::1] offsets, const int64_t[::1] counts, const int64_t[::1] ranks,
    const int64_t[::1] lengths, int64_t size, int64_t min_count, int64_t max_length,
):
    """Merge the most frequent pair, again and again, until there are ``size`` symbols or no pair is left.

    Where equal words are equal symbols, no two merges spell the same string: the symbols between two boundaries that
    no merge has crossed depend on nothing outside them, so that equal strings are always built in the same way. That
    holds for bytes, and for words cut by longest prefix.

    Args:
        text: int32 [n], the words laid end to end, in symbols of the alphabet; n is less than 2**31.
        offsets: int64 [words + 1], where each word starts; the last entry is n.
        counts: int64 [words], occurrences of each word, all positive.
        ranks: int64 [alphabet], the place of each symbol of the alphabet among ties, from 0 to alphabet - 1. Merged
            symbols follow in order of creation. Of equal counts, the lowest (left, right) is merged.
        lengths: int64 [alphabet], length of each symbol of the alphabet; a merged symbol is as long as its parts.
        size: symbols wanted, the alphabet included.
        min_count: pairs seen less often than this, or never, are not merged.
        max_length: longest merged symbol.

    Returns:
        int32 [m, 2] of (left, right); the results are alphabet, alphabet + 1, ...

    Raises:
        OverflowError: there are 2**31 or more positions, symbols or pairs.
        MemoryError: there is not enough.
    """
    cdef Merging state = Merging()
    cdef vector[int32_t] taken
    cdef int32_t merged
    cdef int64_t i
    within(text.shape[0], "positions")
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
