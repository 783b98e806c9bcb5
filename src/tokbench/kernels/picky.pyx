# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Byte-pair merging with removals: Picky BPE, and plain BPE with token frequencies.

A removal restores pairs that were merged before, so counts rise as well as fall, and a pair may be merged again.
``counted_pairs`` stores them.

Training terminates: each merge adds occurrences of its result and removes only shorter tokens. So the numbers of
occurrences, longest tokens first, increase in lexicographic order, and no state of the text repeats.

Reference: ``train_picky_bpe`` in :mod:`tokbench.reference.bpe`.
"""

import numpy as np

from cython.operator cimport dereference
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.utility cimport pair as couple
from libcpp.vector cimport vector

from tokbench.kernels.counted_pairs cimport Counted, CountedPairs, break_up, enqueue_raised, join_up, take_foremost
from tokbench.kernels.limits cimport next_number, within
from tokbench.kernels.symbols cimport Symbol, fetch_ahead, fetch_symbol, lay_out, swallow


cdef struct Token:
    int64_t frequency
    int32_t length      # in symbols of the alphabet
    int32_t left        # parts of its first merge; -1 for the alphabet
    int32_t right
    bint present


cdef struct Event:
    int64_t count       # of the pair before the merge
    int64_t replaced    # occurrences of the result made by the merge
    int64_t end         # end of its parts; they start at the end of the previous event's
    int32_t token
    bint split


cdef class Training:
    """State of one training run.

    Args:
        text: int32 [n], concatenated words in symbols of the alphabet; -1 for symbols that are never merged; n is less
            than 2**31. Equal strings must be equal symbols.
        offsets: int64 [words + 1], start of each word; the last entry is n.
        counts: int64 [words], count of each word, all positive.
        ranks: int64 [alphabet], rank of each symbol of the alphabet for ties, from 0 to alphabet - 1. Merged tokens
            follow in order of first creation. Among equal counts, the lowest (left, right) is merged.
        threshold: A token is removed if its share in a merge is greater; 1 removes nothing.

    Raises:
        OverflowError: there are 2**31 or more positions.
        MemoryError: there is not enough memory.
    """

    cdef const int32_t[::1] text
    cdef double threshold
    cdef int64_t present                        # number of tokens present
    cdef vector[Symbol] symbols
    cdef vector[Token] tokens
    cdef vector[vector[int32_t]] occurrences    # of each token beyond the alphabet, including stale ones
    cdef unordered_map[string, int32_t] spelt   # tokens beyond the alphabet, by their symbols
    cdef vector[int64_t] ranks                  # of each token
    cdef CountedPairs pairs
    cdef vector[Event] events
    cdef vector[int32_t] parts
    cdef bint whole                             # False after a step that failed midway

    def __cinit__(
        self, const int32_t[::1] text, const int64_t[::1] offsets, const int64_t[::1] counts,
        const int64_t[::1] ranks, double threshold,
    ):
        self.text, self.threshold = text, threshold
        with nogil:
            self.start(offsets, counts, ranks)
        self.whole = True

    cdef int start(
        self, const int64_t[::1] offsets, const int64_t[::1] counts, const int64_t[::1] ranks
    ) except -1 nogil:
        """Lay out the symbols and queue the pairs of the alphabet."""
        cdef const Symbol *symbol
        cdef int64_t i
        self.present = ranks.shape[0]
        for i in range(ranks.shape[0]):
            self.add_token(1, ranks[i], -1, -1)
        lay_out(self.symbols, self.text, offsets, counts)
        for i in range(self.text.shape[0]):
            symbol = &self.symbols[i]
            if symbol.id >= 0:
                self.tokens[symbol.id].frequency += symbol.weight
            if symbol.next >= 0:
                self.count(<int32_t>i)
        return enqueue_raised(self.pairs)

    cdef int32_t add_token(self, int32_t length, int64_t rank, int32_t left, int32_t right) except -1 nogil:
        cdef Token token
        cdef int32_t id = next_number(self.tokens.size(), "tokens")
        token.frequency, token.length, token.left, token.right = 0, length, left, right
        token.present = left < 0
        self.tokens.push_back(token)
        self.ranks.push_back(rank)
        self.occurrences.resize(self.tokens.size())
        return id

    cdef inline int count(self, int32_t position) except -1 nogil:
        """Count the pair that starts at a position."""
        return join_up(self.pairs, self.symbols.data(), position, self.ranks)

    cdef int merge(self, int32_t merged) except -1 nogil:
        """Replace a pair at every occurrence, from left to right, and remove tokens made redundant by that."""
        cdef Counted pair = self.pairs.pairs[merged]
        cdef vector[int32_t] here
        cdef int32_t token = -1
        cdef int64_t replaced = 0
        cdef size_t i
        here.swap(self.pairs.places[merged])
        sort(here.begin(), here.end())
        for i in range(here.size()):
            fetch_ahead(self.symbols.data(), self.pairs.pairs.data(), merged, here.data(), i, here.size())
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
        self.use_up(pair.left, replaced, 2 if pair.left == pair.right else 1)
        if pair.left != pair.right:
            self.use_up(pair.right, replaced, 1)
        return enqueue_raised(self.pairs)

    cdef int record(self, int32_t token, bint split, int64_t count, int64_t replaced) except -1 nogil:
        """Record an event, after its parts."""
        cdef Event event
        event.token, event.split, event.count, event.replaced = token, split, count, replaced
        event.end = <int64_t>self.parts.size()
        self.events.push_back(event)
        return 0

    cdef int32_t result(self, int32_t position, int32_t left, int32_t right) except -1 nogil:
        """Return the token spelt by the pair at a position, created if necessary."""
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
        cdef Symbol *symbols = self.symbols.data()
        cdef int32_t before = symbols[position].prev
        if before >= 0:
            break_up(self.pairs, symbols + before)
        break_up(self.pairs, symbols + position)
        break_up(self.pairs, symbols + symbols[position].next)
        self.occurrences[token].push_back(position)
        if swallow(symbols, position, token) >= 0:
            self.count(position)
        if before >= 0:
            self.count(before)
        return 0

    cdef int use_up(self, int32_t token, int64_t merged, int32_t times) except -1 nogil:
        """Subtract ``times`` occurrences per merge, and remove the part if its merged share exceeds the threshold."""
        self.tokens[token].frequency -= times * merged
        cdef double share = <double>merged / <double>(self.tokens[token].frequency + merged)
        if share > self.threshold and self.tokens[token].left >= 0:
            self.split(token)
        return 0

    cdef int split(self, int32_t token) except -1 nogil:
        """Remove a token and replace every occurrence by its present parts."""
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
            fetch_symbol(self.symbols.data(), here.data(), i, here.size())
            if self.symbols[here[i]].id == token:
                self.split_at(here[i], first)
        self.tokens[token].frequency = 0
        return self.record(token, True, 0, 0)

    cdef int split_at(self, int32_t position, int64_t first) except -1 nogil:
        """Replace a token by the parts from ``first`` on."""
        cdef int32_t before = self.symbols[position].prev, after = self.symbols[position].next
        cdef int32_t at = position, previous = before, part
        cdef int64_t i
        if before >= 0:
            break_up(self.pairs, &self.symbols[before])
        break_up(self.pairs, &self.symbols[position])
        for i in range(first, <int64_t>self.parts.size()):
            part = self.parts[i]
            self.symbols[at].id, self.symbols[at].prev, self.symbols[at].next = part, previous, after
            if previous >= 0:
                self.symbols[previous].next = at
                self.count(previous)
            self.tokens[part].frequency += self.symbols[at].weight
            if self.tokens[part].left >= 0:
                self.occurrences[part].push_back(at)
            previous = at
            at += self.tokens[part].length
        if after >= 0:
            self.symbols[after].prev = previous
            self.count(previous)
        return 0

    cdef int check(self) except -1:
        """Raise an error if an earlier step failed."""
        if not self.whole:
            raise RuntimeError("the training run failed before; begin a new one")
        return 0

    def run(self, int64_t size) -> None:
        """Merge the most frequent pair repeatedly until ``size`` tokens are present or no pair is left.

        Raises:
            OverflowError: there are 2**31 or more tokens or pairs.
            MemoryError: there is not enough memory; the run cannot be continued.
        """
        cdef int32_t merged
        self.check()
        within(size, "tokens")
        self.whole = False
        with nogil:
            while self.present < size:
                merged = take_foremost(self.pairs)
                if merged < 0:
                    break
                self.merge(merged)
        self.whole = True

    def history(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
        """Return the events so far.

        Returns:
            events: int64 [e, 4], in order: 1 for a removal or 0 for a merge; the token; the count of the pair before
                the merge, including overlapping occurrences; the occurrences of the result made by the merge. The last
                two are 0 for removals.
            bounds: int64 [e + 1], start of each event's parts.
            parts: int32, ids of the parts, two for a merge.
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

    def state(self) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Return the tokens so far, including removed ones, in order of first creation.

        Returns:
            present: bool [t].
            frequencies: int64 [t], occurrences in the text in its current segmentation; 0 for removed tokens.
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
