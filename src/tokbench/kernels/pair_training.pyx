# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Byte-pair merging by single steps over counted sequences: merges, barred pairs, and removals of tokens.

The symbols of a sequence are bytes, pre-tokens or any other tokens. In a run of equal symbols, pairs are counted with or
without overlaps. Without overlaps, a pair starts at every second symbol of the run, where merging from the left replaces
it. A run that a step changes is counted again, once per step.

``counted_pairs`` has the counts and positions. The queue of this module breaks ties by the bytes of the two tokens, or by
their ranks.

Reference: ``superbpe`` in :mod:`tokbench.reference.superwords`.
"""

import numpy as np

from cython.operator cimport dereference
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.utility cimport pair as couple
from libcpp.vector cimport vector

from tokbench.kernels.counted_pairs cimport Counted, CountedPairs, break_up, join_up
from tokbench.kernels.exceptions cimport ready_to_throw
from tokbench.kernels.limits cimport next_number
from tokbench.kernels.queue cimport Untold, push, take_out
from tokbench.kernels.symbols cimport Symbol, fetch_ahead, fetch_symbol, lay_out, swallow


cdef extern from *:
    """
    #include <cstdint>
    #include <string>

    struct Foremost {
        int64_t count;
        uint64_t order;             // ranks of both tokens, or the first bytes of the left one
        const std::string *left;    // NULL for ties by ranks
        const std::string *right;
        int32_t pair;
    };

    static inline bool precedes(const Foremost &a, const Foremost &b) {
        if (a.count != b.count) return a.count > b.count;
        if (a.order != b.order || a.left == nullptr) return a.order < b.order;
        const int difference = a.left->compare(*b.left);
        return difference ? difference < 0 : a.right->compare(*b.right) < 0;
    }

    static inline void stand(Untold &, const Foremost &, size_t) {}

    static inline uint64_t first_bytes(const std::string &name) {
        uint64_t value = 0;
        for (size_t i = 0; i < 8; i++) value = value << 8 | (i < name.size() ? (uint8_t)name[i] : 0);
        return value;
    }
    """
    cppclass Foremost:
        int64_t count
        uint64_t order
        const string *left
        const string *right
        int32_t pair

    uint64_t first_bytes(const string &name) noexcept nogil


cdef class PairTraining:
    """State of one training run. Not thread-safe.

    Args:
        text: int32 [n], concatenated sequences of tokens of the alphabet; n is less than 2**31.
        offsets: int64 [sequences + 1], start of each sequence; the last entry is n.
        counts: int64 [sequences], count of each sequence, all positive.
        alphabet: Bytes of the initial tokens, all different.
        ranks: int64 [alphabet], ranks of the initial tokens for ties; merged tokens follow in order of creation. Among
            equal counts, the lowest (left, right) is foremost. Default: None, for ties by the bytes of (left, right).
        overlapping: True to count every adjacent pair, False to count pairs in runs of equal tokens without overlaps.
        removals: True if tokens may be removed.

    Raises:
        ValueError: two tokens of the alphabet are equal, or a symbol is not in it.
        OverflowError: there are 2**31 or more positions.
        MemoryError: there is not enough memory.
    """

    cdef vector[Symbol] symbols
    cdef vector[const string*] names            # of each token: keys of ``spelt``, whose addresses do not change
    cdef vector[int64_t] frequencies            # of each token
    cdef vector[int64_t] ranks                  # of each token; all 0 for ties by bytes
    cdef unordered_map[string, int32_t] spelt
    cdef vector[vector[int32_t]] occurrences    # of each merged token, including stale ones
    cdef CountedPairs pairs                     # its own queue is empty
    cdef vector[uint8_t] barred                 # of each pair
    cdef vector[Foremost] queue
    cdef vector[int32_t] touched                # positions whose pairs the current step changes
    cdef int64_t run_start                      # run of equal symbols that was counted last
    cdef int64_t run_end
    cdef int64_t alphabet
    cdef bint overlapping
    cdef bint by_bytes
    cdef bint removals
    cdef bint whole                             # False after a step that failed midway

    def __cinit__(
        self,
        const int32_t[::1] text,
        const int64_t[::1] offsets,
        const int64_t[::1] counts,
        list alphabet not None,
        const int64_t[::1] ranks=None,
        bint overlapping=False,
        bint removals=False,
    ):
        cdef int64_t i
        cdef string name
        ready_to_throw()
        self.overlapping, self.removals, self.by_bytes = overlapping, removals, ranks is None
        self.alphabet = len(alphabet)
        for i in range(self.alphabet):
            name = <bytes?>alphabet[i]
            self.add_token(name, 0 if ranks is None else ranks[i])
        if <int64_t>self.spelt.size() != self.alphabet:
            raise ValueError("two tokens of the alphabet are equal")
        with nogil:
            for i in range(text.shape[0]):
                if not 0 <= text[i] < self.alphabet:
                    with gil:
                        raise ValueError(f"symbol {text[i]} is not in the alphabet")
            lay_out(self.symbols, text, offsets, counts)
            self.run_start, self.run_end = -1, -1
            for i in range(text.shape[0]):
                self.frequencies[text[i]] += self.symbols[i].weight
                self.recount(<int32_t>i)
            self.enqueue_raised()
        self.whole = True

    cdef int32_t add_token(self, const string &name, int64_t rank) except -1 nogil:
        cdef int32_t id = next_number(self.names.size(), "tokens")
        cdef couple[unordered_map[string, int32_t].iterator, bint] added
        added = self.spelt.insert(couple[string, int32_t](name, id))
        self.names.push_back(&dereference(added.first).first)
        self.frequencies.push_back(0)
        self.ranks.push_back(rank)
        self.occurrences.resize(self.names.size())
        return id

    cdef int32_t result(self, int32_t left, int32_t right) except -1 nogil:
        """Return the token spelt by a pair, created if necessary."""
        cdef string name
        cdef unordered_map[string, int32_t].iterator known
        name.assign(dereference(self.names[left]))
        name.append(dereference(self.names[right]))
        known = self.spelt.find(name)
        if known != self.spelt.end():
            return dereference(known).second
        return self.add_token(name, 0 if self.by_bytes else <int64_t>self.names.size())

    cdef inline int recount(self, int32_t position) except -1 nogil:
        """Count the pair that starts at a position, or all pairs of the run of equal symbols that it is in."""
        cdef Symbol *symbols = self.symbols.data()
        cdef int32_t id = symbols[position].id, after = symbols[position].next
        if id < 0 or after < 0:
            return 0
        if self.overlapping or symbols[after].id != id:
            if symbols[position].pair < 0:
                join_up(self.pairs, symbols, position, self.ranks)
            return 0
        if not self.run_start <= position <= self.run_end:
            self.recount_run(position)
        return 0

    cdef int recount_run(self, int32_t position) except -1 nogil:
        """Count the pairs at every second symbol of a run of equal symbols, from its start."""
        cdef Symbol *symbols = self.symbols.data()
        cdef int32_t id = symbols[position].id
        cdef bint counted = True
        while symbols[position].prev >= 0 and symbols[symbols[position].prev].id == id:
            position = symbols[position].prev
        self.run_start = position
        while symbols[position].next >= 0 and symbols[symbols[position].next].id == id:
            if not counted:
                break_up(self.pairs, symbols + position)
            elif symbols[position].pair < 0:
                join_up(self.pairs, symbols, position, self.ranks)
            counted = not counted
            position = symbols[position].next
        self.run_end = position
        return 0

    cdef int settle_step(self) except -1 nogil:
        """Recount the touched positions and queue the pairs whose counts rose."""
        cdef size_t i
        self.run_start, self.run_end = -1, -1
        for i in range(self.touched.size()):
            self.recount(self.touched[i])
        self.touched.clear()
        return self.enqueue_raised()

    cdef int enqueue(self, int32_t number) except -1 nogil:
        """Queue a pair with its current count; any earlier entry becomes outdated."""
        cdef Counted *pair = &self.pairs.pairs[number]
        cdef Untold untold
        cdef Foremost key
        pair.queued = pair.count
        key.count, key.pair, key.order = pair.count, number, pair.order
        key.left = key.right = NULL
        if self.by_bytes:
            key.left, key.right = self.names[pair.left], self.names[pair.right]
            key.order = first_bytes(dereference(key.left))
        push(self.queue, key, untold)
        return 0

    cdef int enqueue_raised(self) except -1 nogil:
        cdef size_t i
        cdef int32_t number
        self.barred.resize(self.pairs.pairs.size(), 0)
        for i in range(self.pairs.raised.size()):
            number = self.pairs.raised[i]
            if self.pairs.pairs[number].count > self.pairs.pairs[number].queued and not self.barred[number]:
                self.enqueue(number)
        self.pairs.raised.clear()
        return 0

    cdef int32_t foremost(self) except -2 nogil:
        """Return the foremost pair, which stays on top of the queue; -1 if none is left."""
        cdef Untold untold
        cdef Counted *pair
        cdef Foremost top
        while not self.queue.empty():
            top = self.queue[0]
            pair = &self.pairs.pairs[top.pair]
            if top.count == pair.queued and top.count == pair.count and not self.barred[top.pair]:
                return top.pair
            take_out(self.queue, 0, untold)
            if top.count == pair.queued:
                pair.queued = 0
                if pair.count > 0 and not self.barred[top.pair]:
                    self.enqueue(top.pair)
        return -1

    cdef int64_t replace(self, int32_t number, int32_t token) except -1 nogil:
        """Replace a pair by a token at every occurrence, from left to right; return the replaced occurrences."""
        cdef Counted pair = self.pairs.pairs[number]
        cdef vector[int32_t] here
        cdef int64_t replaced = 0
        cdef size_t i
        here.swap(self.pairs.places[number])
        sort(here.begin(), here.end())
        for i in range(here.size()):
            fetch_ahead(self.symbols.data(), self.pairs.pairs.data(), number, here.data(), i, here.size())
            if self.symbols[here[i]].pair == number:
                replaced += self.symbols[here[i]].weight
                self.merge_at(here[i], token)
        self.frequencies[pair.left] -= replaced
        self.frequencies[pair.right] -= replaced
        self.frequencies[token] += replaced
        self.settle_step()
        return replaced

    cdef inline int merge_at(self, int32_t position, int32_t token) except -1 nogil:
        cdef Symbol *symbols = self.symbols.data()
        cdef int32_t before = symbols[position].prev, after
        if before >= 0:
            break_up(self.pairs, symbols + before)
            self.touched.push_back(before)
        break_up(self.pairs, symbols + position)
        break_up(self.pairs, symbols + symbols[position].next)
        if self.removals:
            self.occurrences[token].push_back(position)
        after = swallow(symbols, position, token)
        self.touched.push_back(position)
        if after >= 0:
            self.touched.push_back(after)
        return 0

    cdef int split_at(self, int32_t position, const vector[int32_t] &parts) except -1 nogil:
        """Replace a token by its parts, each at its own offset in bytes."""
        cdef int32_t before = self.symbols[position].prev, after = self.symbols[position].next
        cdef int32_t at = position, previous = before, part
        cdef size_t i
        if before >= 0:
            break_up(self.pairs, &self.symbols[before])
            self.touched.push_back(before)
        break_up(self.pairs, &self.symbols[position])
        for i in range(parts.size()):
            part = parts[i]
            self.symbols[at].id, self.symbols[at].prev, self.symbols[at].next = part, previous, after
            if previous >= 0:
                self.symbols[previous].next = at
            self.frequencies[part] += self.symbols[at].weight
            if part >= self.alphabet:
                self.occurrences[part].push_back(at)
            self.touched.push_back(at)
            previous = at
            at += <int32_t>self.names[part].size()
        if after >= 0:
            self.symbols[after].prev = previous
            self.touched.push_back(after)
        return 0

    cdef int check(self) except -1:
        """Raise an error if an earlier step failed."""
        if not self.whole:
            raise RuntimeError("the training run failed before; begin a new one")
        return 0

    def __len__(self) -> int:
        """Return the number of tokens so far, including removed ones."""
        return self.names.size()

    def token(self, int32_t number) -> bytes:
        """Return the bytes of a token.

        Raises:
            IndexError: there is no such token.
        """
        if not 0 <= number < <int64_t>self.names.size():
            raise IndexError(f"no token {number}")
        return dereference(self.names[number])

    def frequency(self, int32_t number) -> int:
        """Return the occurrences of a token in the current segmentation.

        Raises:
            IndexError: there is no such token.
        """
        if not 0 <= number < <int64_t>self.names.size():
            raise IndexError(f"no token {number}")
        return self.frequencies[number]

    def best(self) -> tuple[int, int, int] | None:
        """Return the foremost pair and its count, (left, right, count); None if no pair is left."""
        cdef int32_t number
        self.check()
        self.whole = False
        with nogil:
            number = self.foremost()
        self.whole = True
        if number < 0:
            return None
        return self.pairs.pairs[number].left, self.pairs.pairs[number].right, self.pairs.pairs[number].count

    def bar(self) -> None:
        """Exclude the foremost pair from all further steps. Counts do not change.

        Raises:
            LookupError: no pair is left.
        """
        if self.best() is None:
            raise LookupError("no pair is left")
        self.barred[self.foremost()] = True

    def merge(self) -> tuple[int, int]:
        """Merge the foremost pair at every occurrence, from left to right.

        Returns:
            The resulting token, which may be an earlier one of the same bytes, and the occurrences made by the merge.

        Raises:
            LookupError: no pair is left.
            OverflowError: there are 2**31 or more tokens or pairs.
            MemoryError: there is not enough memory; the run cannot be continued.
        """
        cdef int32_t number, token
        cdef int64_t replaced
        if self.best() is None:
            raise LookupError("no pair is left")
        self.whole = False
        with nogil:
            number = self.foremost()
            token = self.result(self.pairs.pairs[number].left, self.pairs.pairs[number].right)
            replaced = self.replace(number, token)
        self.whole = True
        return token, replaced

    def remove(self, int32_t token, list parts not None) -> None:
        """Replace a merged token by its parts at every occurrence. Sequences must be of bytes, one per position.

        Args:
            token: A token that a merge made.
            parts: Tokens that are its bytes when joined.

        Raises:
            ValueError: the token is of the alphabet, the parts are not its bytes, or removals were not allowed.
            MemoryError: there is not enough memory; the run cannot be continued.
        """
        cdef vector[int32_t] pieces, here
        cdef string joined
        cdef int32_t part
        cdef size_t i
        self.check()
        for part in parts:
            if not 0 <= part < <int64_t>self.names.size():
                raise ValueError(f"no token {part}")
            joined.append(dereference(self.names[part]))
            pieces.push_back(part)
        if not self.alphabet <= token < <int64_t>self.names.size() or pieces.size() < 2 or joined != dereference(self.names[token]):
            raise ValueError(f"token {token} cannot be split into these parts")
        if not self.removals:
            raise ValueError("removals were not allowed")
        self.whole = False
        with nogil:
            here.swap(self.occurrences[token])
            sort(here.begin(), here.end())
            for i in range(here.size()):
                fetch_symbol(self.symbols.data(), here.data(), i, here.size())
                if self.symbols[here[i]].id == token:
                    self.split_at(here[i], pieces)
            self.frequencies[token] = 0
            self.settle_step()
        self.whole = True
