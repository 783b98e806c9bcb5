# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Byte-pair merging that removes tokens on the way: Picky BPE, and vanilla BPE with its frequencies.

A removal puts pairs back that were merged before, so that counts rise as well as fall and a pair may come up again.
Pairs therefore live in a hash table and keep every position at which they ever stood; each symbol names the pair that
it starts, which tells live positions from stale ones. The queue is lazy: falling counts are put right when they reach
the top, rising ones are queued anew, and the entry that they outdate is dropped when it comes up.

Training ends: each merge adds occurrences of its result and takes away only shorter tokens, so that the numbers of
occurrences, longest tokens first, rise in lexicographic order and no state of the text comes back.
"""

import numpy as np

from cython.operator cimport dereference
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.algorithm cimport pop_heap, push_heap, sort
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.utility cimport pair as couple
from libcpp.vector cimport vector

from tokbench.kernels.limits cimport next_number, within

ctypedef couple[couple[int64_t, uint64_t], int32_t] Entry   # count, complement of the ranks of both symbols, pair


cdef struct Symbol:
    int64_t weight      # count of the word
    int32_t id          # -1 for what takes no part in merges, or while swallowed by a symbol to the left
    int32_t pair        # the pair of this symbol and the next; -1 for none
    int32_t prev        # position, -1 at the start of the word
    int32_t next        # position, -1 at the end of the word


cdef struct Token:
    int64_t frequency
    int64_t rank
    int32_t length      # in symbols of the alphabet
    int32_t left        # what it was first merged from; -1 for the alphabet
    int32_t right
    bint present


cdef struct Pair:
    int64_t count       # occurrences, overlapping ones included
    int64_t queued      # count of its entry in the queue that is not outdated; 0 where there is none
    int32_t left
    int32_t right


cdef struct Event:
    int64_t count       # of the pair before the merge
    int64_t replaced    # occurrences of the result that the merge made
    int64_t end         # of its parts; they start where those of the event before end
    int32_t token
    bint split


cdef class Training:
    """One training run.

    Args:
        text: int32 [n], the words laid end to end, in symbols of the alphabet; -1 for what takes no part in merges;
            n is less than 2**31. Equal strings must be equal symbols.
        offsets: int64 [words + 1], where each word starts; the last entry is n.
        counts: int64 [words], occurrences of each word, all positive.
        ranks: int64 [alphabet], the place of each symbol of the alphabet among ties, from 0 to alphabet - 1. Merged
            tokens follow in order of first creation. Of equal counts, the lowest (left, right) is merged.
        threshold: a token is removed where its share in a merge is greater; 1 removes nothing.

    Raises:
        OverflowError: there are 2**31 or more positions.
        MemoryError: there is not enough.
    """

    cdef const int32_t[::1] text
    cdef double threshold
    cdef int64_t present                        # number of tokens that are
    cdef vector[Symbol] symbols
    cdef vector[Token] tokens
    cdef vector[vector[int32_t]] occurrences    # of each token beyond the alphabet, stale ones included
    cdef unordered_map[string, int32_t] spelt   # tokens beyond the alphabet, by the symbols that they spell
    cdef vector[Pair] pairs
    cdef vector[vector[int32_t]] places         # of each pair, stale ones included
    cdef vector[int32_t] table                  # open addressing, linear probing: pairs by (left, right); -1 is empty
    cdef vector[int32_t] raised                 # pairs whose counts rose since they were last queued
    cdef vector[Entry] queue                    # a heap, the foremost first
    cdef vector[Event] events
    cdef vector[int32_t] parts
    cdef bint whole                             # whether no step was left half done

    def __cinit__(
        self, const int32_t[::1] text, const int64_t[::1] offsets, const int64_t[::1] counts,
        const int64_t[::1] ranks, double threshold,
    ):
        within(text.shape[0], "positions")
        self.text, self.threshold = text, threshold
        with nogil:
            self.start(offsets, counts, ranks)
        self.whole = True

    cdef int start(
        self, const int64_t[::1] offsets, const int64_t[::1] counts, const int64_t[::1] ranks
    ) except -1 nogil:
        """Lay out the symbols and queue the pairs of the alphabet."""
        cdef int64_t word, begin, end, i
        cdef Symbol *symbol
        self.present = ranks.shape[0]
        for i in range(ranks.shape[0]):
            self.add_token(1, ranks[i], -1, -1)
        self.table.resize(1 << 16, -1)
        self.symbols.resize(self.text.shape[0])
        for word in range(counts.shape[0]):
            begin, end = offsets[word], offsets[word + 1]
            for i in range(begin, end):
                symbol = &self.symbols[i]
                symbol.weight, symbol.id, symbol.pair = counts[word], self.text[i], -1
                symbol.prev = <int32_t>(i - 1) if i > begin else -1
                symbol.next = <int32_t>(i + 1) if i + 1 < end else -1
                if symbol.id >= 0:
                    self.tokens[symbol.id].frequency += symbol.weight
            for i in range(begin, end - 1):
                self.join_up(<int32_t>i)
        return self.enqueue()

    cdef int32_t add_token(self, int32_t length, int64_t rank, int32_t left, int32_t right) except -1 nogil:
        cdef Token token
        cdef int32_t id = next_number(self.tokens.size(), "tokens")
        token.frequency, token.rank, token.length, token.left, token.right = 0, rank, length, left, right
        token.present = left < 0
        self.tokens.push_back(token)
        self.occurrences.resize(self.tokens.size())
        return id

    # Pairs

    cdef inline uint64_t cell_of(self, int32_t left, int32_t right) noexcept nogil:
        """Where the pair stands in the table, or would stand."""
        cdef uint64_t mask = self.table.size() - 1
        cdef uint64_t cell = ((<uint64_t>left << 32 | <uint64_t>right) * <uint64_t>0x9E3779B97F4A7C15) >> 20 & mask
        cdef int32_t pair
        while True:
            pair = self.table[cell]
            if pair < 0 or (self.pairs[pair].left == left and self.pairs[pair].right == right):
                return cell
            cell = (cell + 1) & mask

    cdef int32_t pair_of(self, int32_t left, int32_t right) except -1 nogil:
        cdef uint64_t cell = self.cell_of(left, right)
        cdef Pair pair
        cdef vector[int32_t] wider
        cdef int32_t id
        cdef size_t i
        if self.table[cell] >= 0:
            return self.table[cell]
        id = next_number(self.pairs.size(), "pairs")
        pair.count, pair.queued, pair.left, pair.right = 0, 0, left, right
        self.pairs.push_back(pair)
        self.places.resize(self.pairs.size())
        self.table[cell] = id
        if 2 * self.pairs.size() > self.table.size():
            wider.resize(2 * self.table.size(), -1)
            self.table.swap(wider)
            for i in range(self.pairs.size()):
                self.table[self.cell_of(self.pairs[i].left, self.pairs[i].right)] = <int32_t>i
        return id

    cdef inline int join_up(self, int32_t position) except -1 nogil:
        """Count the pair that starts at a position."""
        cdef Symbol *symbol = &self.symbols[position]
        cdef int32_t right = self.symbols[symbol.next].id
        if symbol.id < 0 or right < 0:
            return 0
        symbol.pair = self.pair_of(symbol.id, right)
        self.places[symbol.pair].push_back(position)
        self.pairs[symbol.pair].count += symbol.weight
        self.raised.push_back(symbol.pair)
        return 0

    cdef inline void break_up(self, int32_t position) noexcept nogil:
        """No longer count the pair that starts at a position."""
        cdef Symbol *symbol = &self.symbols[position]
        if symbol.pair >= 0:
            self.pairs[symbol.pair].count -= symbol.weight
            symbol.pair = -1

    # The queue

    cdef inline int push(self, int32_t pair) except -1 nogil:
        """Queue a pair with its count of now, which outdates any other entry of its."""
        cdef Pair *queued = &self.pairs[pair]
        cdef uint64_t order = <uint64_t>self.tokens[queued.left].rank << 32 | <uint64_t>self.tokens[queued.right].rank
        queued.queued = queued.count
        self.queue.push_back(Entry(couple[int64_t, uint64_t](queued.count, ~order), pair))
        push_heap(self.queue.begin(), self.queue.end())
        return 0

    cdef int enqueue(self) except -1 nogil:
        """Queue the pairs whose counts have risen above their entries."""
        cdef size_t i
        for i in range(self.raised.size()):
            if self.pairs[self.raised[i]].count > self.pairs[self.raised[i]].queued:
                self.push(self.raised[i])
        self.raised.clear()
        return 0

    cdef int32_t take(self) except -2 nogil:
        """Take the foremost pair from the queue; -1 when there is none."""
        cdef int64_t count
        cdef int32_t pair
        while not self.queue.empty():
            count, pair = self.queue.front().first.first, self.queue.front().second
            pop_heap(self.queue.begin(), self.queue.end())
            self.queue.pop_back()
            if count != self.pairs[pair].queued:
                continue
            self.pairs[pair].queued = 0
            if count == self.pairs[pair].count:
                return pair
            if self.pairs[pair].count > 0:
                self.push(pair)
        return -1

    # Merges and removals

    cdef int merge(self, int32_t merged) except -1 nogil:
        """Replace a pair wherever it stands, from left to right, and remove what that makes redundant."""
        cdef Pair pair = self.pairs[merged]
        cdef vector[int32_t] here
        cdef int32_t token = -1
        cdef int64_t replaced = 0
        cdef size_t i
        here.swap(self.places[merged])
        sort(here.begin(), here.end())
        for i in range(here.size()):
            if self.symbols[here[i]].pair == merged:
                if token < 0:
                    token = self.result(here[i], pair.left, pair.right)
                self.merge_at(here[i], token)
                replaced += self.symbols[here[i]].weight
        self.parts.push_back(pair.left)
        self.parts.push_back(pair.right)
        self.record(token, False, pair.count, replaced)
        self.tokens[token].frequency += replaced
        if not self.tokens[token].present:
            self.tokens[token].present = True
            self.present += 1
        if pair.left == pair.right:
            self.tokens[pair.left].frequency -= 2 * replaced
            self.judge(pair.left, replaced)
        else:
            self.tokens[pair.left].frequency -= replaced
            self.judge(pair.left, replaced)
            self.tokens[pair.right].frequency -= replaced
            self.judge(pair.right, replaced)
        return self.enqueue()

    cdef int record(self, int32_t token, bint split, int64_t count, int64_t replaced) except -1 nogil:
        """Note an event whose parts have just been noted."""
        cdef Event event
        event.token, event.split, event.count, event.replaced = token, split, count, replaced
        event.end = <int64_t>self.parts.size()
        self.events.push_back(event)
        return 0

    cdef int32_t result(self, int32_t position, int32_t left, int32_t right) except -1 nogil:
        """The token spelt by the pair at a position: the one that was there before, or a new one."""
        cdef int32_t length = self.tokens[left].length + self.tokens[right].length, token
        cdef string spelling
        cdef unordered_map[string, int32_t].iterator known
        spelling.assign(<const char*>&self.text[position], length * sizeof(int32_t))
        known = self.spelt.find(spelling)
        if known != self.spelt.end():
            return dereference(known).second
        token = self.add_token(length, self.tokens.size(), left, right)
        self.spelt.insert(couple[string, int32_t](spelling, token))
        return token

    cdef inline int merge_at(self, int32_t position, int32_t token) except -1 nogil:
        cdef Symbol *first = &self.symbols[position]
        cdef int32_t before = first.prev, second = first.next
        cdef int32_t after = self.symbols[second].next
        if before >= 0:
            self.break_up(before)
        self.break_up(position)
        self.break_up(second)
        first.id, first.next, self.symbols[second].id = token, after, -1
        self.occurrences[token].push_back(position)
        if after >= 0:
            self.symbols[after].prev = position
            self.join_up(position)
        if before >= 0:
            self.join_up(before)
        return 0

    cdef int judge(self, int32_t token, int64_t merged) except -1 nogil:
        """Remove a token of which too great a share has just been merged."""
        cdef double share = <double>merged / <double>(self.tokens[token].frequency + merged)
        if share > self.threshold and self.tokens[token].left >= 0:
            self.split(token)
        return 0

    cdef int split(self, int32_t token) except -1 nogil:
        """Remove a token and put its present parts wherever it stands."""
        cdef vector[int32_t] here, pending
        cdef int64_t first = <int64_t>self.parts.size()
        cdef int32_t part
        cdef size_t i
        self.tokens[token].present = False
        self.present -= 1
        pending.push_back(token)
        while pending.size() > 0:
            part = pending.back()
            pending.pop_back()
            if self.tokens[part].present:
                self.parts.push_back(part)
            else:
                pending.push_back(self.tokens[part].right)
                pending.push_back(self.tokens[part].left)
        here.swap(self.occurrences[token])
        for i in range(here.size()):
            if self.symbols[here[i]].id == token:
                self.split_at(here[i], first)
        self.tokens[token].frequency = 0
        return self.record(token, True, 0, 0)

    cdef int split_at(self, int32_t position, int64_t first) except -1 nogil:
        """Put the parts from ``first`` on in the place of a token."""
        cdef int32_t before = self.symbols[position].prev, after = self.symbols[position].next
        cdef int32_t at = position, previous = before, part
        cdef int64_t i
        if before >= 0:
            self.break_up(before)
        self.break_up(position)
        for i in range(first, <int64_t>self.parts.size()):
            part = self.parts[i]
            self.symbols[at].id, self.symbols[at].prev, self.symbols[at].next = part, previous, after
            if previous >= 0:
                self.symbols[previous].next = at
                self.join_up(previous)
            self.tokens[part].frequency += self.symbols[at].weight
            if self.tokens[part].left >= 0:
                self.occurrences[part].push_back(at)
            previous = at
            at += self.tokens[part].length
        if after >= 0:
            self.symbols[after].prev = previous
            self.join_up(previous)
        return 0

    # The face

    cdef int check(self) except -1:
        """Refuse to go on after a failure."""
        if not self.whole:
            raise RuntimeError("the training run failed before; begin a new one")
        return 0

    def run(self, int64_t size):
        """Merge the most frequent pair, again and again, until ``size`` tokens are present or no pair is left.

        Raises:
            OverflowError: there are 2**31 or more tokens or pairs.
            MemoryError: there is not enough; the run cannot be continued.
        """
        cdef int32_t merged
        self.check()
        within(size, "tokens")
        self.whole = False
        with nogil:
            while self.present < size:
                merged = self.take()
                if merged < 0:
                    break
                self.merge(merged)
        self.whole = True

    def history(self):
        """What happened so far.

        Returns:
            events: int64 [e, 4], in order: 1 for a removal or 0 for a merge; the token; the pair's count before the
                merge, overlapping occurrences included; occurrences of the result that the merge made. The last two
                are 0 for removals.
            bounds: int64 [e + 1], where each event's parts start.
            parts: int32, token ids, two for a merge.
        """
        self.check()
        events = np.empty((self.events.size(), 4), np.int64)
        bounds = np.zeros(self.events.size() + 1, np.int64)
        parts = np.empty(self.parts.size(), np.int32)
        cdef int64_t[:, ::1] row = events
        cdef int64_t[::1] bound = bounds
        cdef int32_t[::1] part = parts
        cdef Py_ssize_t i
        for i in range(row.shape[0]):
            row[i, 0], row[i, 1] = self.events[i].split, self.events[i].token
            row[i, 2], row[i, 3] = self.events[i].count, self.events[i].replaced
            bound[i + 1] = self.events[i].end
        for i in range(part.shape[0]):
            part[i] = self.parts[i]
        return events, bounds, parts

    def state(self):
        """The tokens so far, removed ones included, in order of first creation.

        Returns:
            present: bool [t].
            frequencies: int64 [t], occurrences in the text as it is now segmented; 0 for removed tokens.
        """
        self.check()
        present = np.empty(self.tokens.size(), np.bool_)
        frequencies = np.empty(self.tokens.size(), np.int64)
        cdef uint8_t[::1] flag = present.view(np.uint8)
        cdef int64_t[::1] frequency = frequencies
        cdef Py_ssize_t i
        for i in range(frequency.shape[0]):
            flag[i], frequency[i] = self.tokens[i].present, self.tokens[i].frequency
        return present, frequencies
