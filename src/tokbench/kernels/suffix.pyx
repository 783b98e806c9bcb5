# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Repeated substrings of counted words, by sorting suffixes as far as they share bytes.

A radix sort from the first byte on visits the inner nodes of the suffix tree in byte order, no deeper than the longest
requested substring. So no suffix array and no table of common prefixes are stored. Substrings do not cross words.

Threads share the work. Suffixes are partitioned by their first two bytes, for each part of the words. One thread visits
the largest nodes. The small subtrees below them are searched in parallel, and their results are concatenated in the
order of the nodes.

Reference: :mod:`tokbench.reference.unigram`.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset
from libcpp.vector cimport vector

cdef enum:
    SMALL = 16      # ranges up to this many suffixes are sorted by insertion
    END = 0         # key of an exhausted suffix; the key of byte b is b + 1
    KEYS = 257
    DEALT = 2       # bytes by which suffixes are partitioned before any node is visited
    PAIRS = 256 * KEYS
    TREES = 64      # a separate tree has at most this fraction of the suffixes


cdef struct Suffix:
    int32_t start
    int32_t word


cdef struct Character:
    int32_t begun       # characters begun so far
    int32_t lacking     # bytes missing from the last one


cdef struct Range:
    # The suffixes low to high share ``depth`` bytes.
    int64_t low
    int64_t high
    int32_t depth
    Character last
    # length of the longest label of complete characters shared by exactly these suffixes; 0 for none
    int32_t whole
    int32_t characters      # characters of the label


cdef struct Tree:
    # The ranges ``first`` to ``last``; ``before`` numbers of ``trunk.found`` precede their results.
    int64_t first
    int64_t last
    int64_t before


cdef class Branch:
    """State of a search: nodes to visit, and substrings found."""

    cdef vector[Range] stack
    cdef vector[Suffix] spare
    cdef vector[int64_t] found      # start, end, characters and weight of each substring


cdef class Suffixes:
    """Suffixes of counted words, and the repeated substrings found in them.

    Steps: :meth:`tally` for each part, :meth:`place`, :meth:`put` for each part, :meth:`divide`, :meth:`search` for
    each tree, :meth:`found`. Parts and trees may be processed in any order and by several threads.

    Args:
        data: uint8 [n], concatenated words; n is less than 2**31.
        offsets: int64 [words + 1], start of each word; the last entry is n.
        counts: int64 [words], count of each word.
        edges: int64 [parts + 1], first word of each part, and the number of words.
        max_length: Length of the longest substring, in characters.
        whole_characters: Whether characters are those of UTF-8, where an invalid byte is a character. Otherwise every
            byte is a character.
        by_occurrence: Whether to count occurrences instead of types.
        distinct_ends: Whether the end of each word counts as a distinct continuation.

    Raises:
        ValueError: the text is too long.
    """

    cdef const uint8_t[::1] data
    cdef const int64_t[::1] offsets
    cdef const int64_t[::1] counts
    cdef const int64_t[::1] edges
    cdef int32_t max_length
    cdef bint whole_characters
    cdef bint by_occurrence
    cdef bint distinct_ends
    cdef vector[Suffix] suffixes
    # [parts, PAIRS]: number of suffixes with these first bytes, then position of the next one
    cdef vector[int32_t] places
    cdef Branch trunk
    cdef vector[Range] ranges
    cdef vector[Tree] trees
    cdef vector[vector[int64_t]] leaves     # results of each tree

    def __init__(
        self, const uint8_t[::1] data, const int64_t[::1] offsets, const int64_t[::1] counts,
        const int64_t[::1] edges, int64_t max_length, bint whole_characters, bint by_occurrence, bint distinct_ends,
    ):
        if data.shape[0] >= 2**31:
            raise ValueError(f"a text of {data.shape[0]} bytes cannot be sorted, the limit is {2**31 - 1}")
        self.data, self.offsets, self.counts, self.edges = data, offsets, counts, edges
        self.max_length = <int32_t>min(max_length, 2**30)
        self.whole_characters, self.by_occurrence = whole_characters, by_occurrence
        self.distinct_ends = distinct_ends
        self.trunk = Branch()
        self.places.resize((edges.shape[0] - 1) * PAIRS)

    cdef inline Character advance(self, Character last, uint8_t byte) noexcept nogil:
        """Process one more byte. A byte that is invalid in UTF-8 is a character."""
        if last.lacking > 0 and byte & 0xC0 == 0x80:
            last.lacking -= 1
            return last
        last.begun += 1
        last.lacking = 0
        if self.whole_characters and byte >= 0xC2:
            last.lacking = 1 if byte < 0xE0 else 2 if byte < 0xF0 else 3 if byte < 0xF5 else 0
        return last

    cdef inline int32_t key(self, const Suffix *suffix, int32_t depth) noexcept nogil:
        cdef int64_t at = <int64_t>suffix.start + depth
        return self.data[at] + 1 if at < self.offsets[suffix.word + 1] else END

    cdef void deal(self, int64_t part, bint counted) noexcept nogil:
        """Count the suffixes of a part's words, or store them at their positions."""
        cdef int32_t *places = self.places.data() + part * PAIRS
        cdef Suffix suffix
        cdef Character last
        cdef int64_t word, i, end
        cdef int32_t before, pair
        for word in range(self.edges[part], self.edges[part + 1]):
            last.begun = last.lacking = 0
            end = self.offsets[word + 1]
            for i in range(self.offsets[word], end):
                before = last.begun
                last = self.advance(last, self.data[i])
                if last.begun > before:
                    pair = self.data[i] * KEYS + (self.data[i + 1] + 1 if i + 1 < end else END)
                    if not counted:
                        suffix.start, suffix.word = <int32_t>i, <int32_t>word
                        self.suffixes[places[pair]] = suffix
                    places[pair] += 1

    def tally(self, int64_t part) -> None:
        """Count the suffixes of a part by their first two bytes."""
        with nogil:
            self.deal(part, True)

    def place(self) -> None:
        """Assign positions to each part, in the order of the parts."""
        cdef int64_t parts = self.edges.shape[0] - 1, part, pair
        cdef int32_t size = 0, held
        with nogil:
            for pair in range(PAIRS):
                for part in range(parts):
                    held = self.places[part * PAIRS + pair]
                    self.places[part * PAIRS + pair] = size
                    size += held
            self.suffixes.resize(size)

    def put(self, int64_t part) -> None:
        """Store the suffixes of a part at their positions."""
        with nogil:
            self.deal(part, False)

    def divide(self) -> int:
        """Visit the largest nodes; return the number of trees left to search."""
        cdef Range every, shared
        cdef Tree tree
        cdef Branch trunk = self.trunk
        cdef int64_t most, size
        with nogil:
            self.places.clear()
            self.places.shrink_to_fit()
            most = 1 + <int64_t>self.suffixes.size() // TREES
            every.low, every.high, every.depth, every.whole, every.characters = 0, self.suffixes.size(), 0, 0, 0
            every.last.begun = every.last.lacking = 0
            if every.high > 0:
                trunk.stack.push_back(every)
            size = most     # of the current tree
            while trunk.stack.size() > 0:
                shared = trunk.stack.back()
                trunk.stack.pop_back()
                if shared.high - shared.low > most:
                    self.visit(shared, trunk)
                    continue
                if self.trees.empty() or size + shared.high - shared.low > most or (
                    self.trees.back().before < <int64_t>trunk.found.size()
                ):
                    tree.first = tree.last = self.ranges.size()
                    tree.before = trunk.found.size()
                    self.trees.push_back(tree)
                    size = 0
                self.ranges.push_back(shared)
                self.trees[self.trees.size() - 1].last = self.ranges.size()
                size += shared.high - shared.low
            self.leaves.resize(self.trees.size())
        return self.trees.size()

    def search(self, int64_t tree) -> None:
        """Visit the nodes of a tree."""
        cdef Branch branch = Branch()
        cdef Range shared
        cdef int64_t i
        with nogil:
            for i in range(self.trees[tree].first, self.trees[tree].last):
                branch.stack.push_back(self.ranges[i])
                while branch.stack.size() > 0:
                    shared = branch.stack.back()
                    branch.stack.pop_back()
                    self.visit(shared, branch)
            self.leaves[tree].swap(branch.found)

    def found(self) -> NDArray[np.int64]:
        """Return the substrings found.

        Returns:
            int64 [m, 4], in byte order: start and end of an occurrence in ``data``, number of characters, count.
        """
        cdef int64_t size = self.trunk.found.size(), at = 0, before = 0
        cdef size_t tree
        for tree in range(self.leaves.size()):
            size += self.leaves[tree].size()
        numbers = np.empty(size, np.int64)
        cdef int64_t[::1] flat = numbers
        with nogil:
            for tree in range(self.leaves.size()):
                at = self.take(flat, at, self.trunk.found, before, self.trees[tree].before)
                before = self.trees[tree].before
                at = self.take(flat, at, self.leaves[tree], 0, self.leaves[tree].size())
            self.take(flat, at, self.trunk.found, before, self.trunk.found.size())
        return numbers.reshape(-1, 4)

    cdef int64_t take(
        self, int64_t[::1] flat, int64_t at, const vector[int64_t]& numbers, int64_t first, int64_t last
    ) noexcept nogil:
        """Copy the numbers ``first`` to ``last`` to ``at``; return the next position."""
        if last > first:
            memcpy(&flat[at], numbers.data() + first, (last - first) * sizeof(int64_t))
        return at + last - first

    cdef int sort(self, int64_t low, int64_t high, int32_t depth, vector[Suffix]& spare) except -1 nogil:
        """Sort suffixes by the byte at ``depth``; stable."""
        cdef int64_t tally[KEYS + 1]
        cdef int64_t i, j
        cdef int32_t key
        cdef Suffix suffix
        if high - low <= SMALL:
            for i in range(low + 1, high):
                suffix = self.suffixes[i]
                key = self.key(&suffix, depth)
                j = i
                while j > low and self.key(&self.suffixes[j - 1], depth) > key:
                    self.suffixes[j] = self.suffixes[j - 1]
                    j -= 1
                self.suffixes[j] = suffix
            return 0
        if <int64_t>spare.size() < high - low:
            spare.resize(high - low)
        memset(tally, 0, sizeof(tally))
        for i in range(low, high):
            tally[self.key(&self.suffixes[i], depth) + 1] += 1
        for key in range(KEYS):
            tally[key + 1] += tally[key]
        for i in range(low, high):
            key = self.key(&self.suffixes[i], depth)
            spare[tally[key]] = self.suffixes[i]
            tally[key] += 1
        memcpy(&self.suffixes[low], spare.data(), (high - low) * sizeof(Suffix))
        return 0

    cdef int64_t first_of(self, int64_t low, int64_t high, int32_t depth) noexcept nogil:
        """Return the first sorted suffix with the same byte at ``depth`` as the last one before ``high``."""
        cdef int32_t key = self.key(&self.suffixes[high - 1], depth)
        cdef int64_t middle, step = 1
        high -= 1
        if high - low < SMALL:
            while high > low and self.key(&self.suffixes[high - 1], depth) == key:
                high -= 1
            return high
        while high - step > low and self.key(&self.suffixes[high - step], depth) == key:
            high -= step
            step *= 2
        low = max(low, high - step)
        while low < high:
            middle = low + (high - low) // 2
            if self.key(&self.suffixes[middle], depth) < key:
                low = middle + 1
            else:
                high = middle
        return low

    cdef int report(self, const Range *shared, int64_t length, int64_t characters, Branch branch) except -1 nogil:
        cdef int64_t start = self.suffixes[shared.low].start, weight = shared.high - shared.low, i
        if self.by_occurrence or characters == 1:
            weight = 0
            for i in range(shared.low, shared.high):
                weight += self.counts[self.suffixes[i].word]
        if weight > 1 or characters == 1:
            branch.found.push_back(start)
            branch.found.push_back(start + length)
            branch.found.push_back(characters)
            branch.found.push_back(weight)
        return 0

    cdef int report_word(self, const Range *alone, Branch branch) except -1 nogil:
        """Report the word of a suffix that shares no more bytes with others, if the suffix is the full word."""
        cdef Suffix suffix = self.suffixes[alone.low]
        cdef int64_t start = self.offsets[suffix.word], end = self.offsets[suffix.word + 1], i = start
        cdef Character last
        last.begun = last.lacking = 0
        if suffix.start != start:
            return 0
        while i < end and last.begun <= self.max_length:
            last = self.advance(last, self.data[i])
            i += 1
        if 1 < last.begun <= self.max_length and last.lacking == 0:
            self.report(alone, end - start, last.begun, branch)
        return 0

    cdef int visit(self, Range shared, Branch branch) except -1 nogil:
        """Report the substring shared by exactly these suffixes, if it branches, and push the longer ranges."""
        cdef int64_t high, low
        cdef int32_t key
        cdef Range below
        if shared.depth > 0 and shared.last.lacking == 0:
            shared.whole, shared.characters = shared.depth, shared.last.begun
            if shared.characters == 1:
                self.report(&shared, shared.whole, 1, branch)
        if shared.high - shared.low == 1 and shared.last.begun > (1 if shared.last.lacking else 0):
            if self.distinct_ends:
                self.report_word(&shared, branch)
            return 0
        if shared.depth >= DEALT:
            self.sort(shared.low, shared.high, shared.depth, branch.spare)
        low = self.key(&self.suffixes[shared.low], shared.depth)
        high = self.key(&self.suffixes[shared.high - 1], shared.depth)
        if low < high or (self.distinct_ends and low == END):
            if shared.characters > 1:
                self.report(&shared, shared.whole, shared.characters, branch)
            shared.whole = shared.characters = 0
        high = shared.high
        while high > shared.low:
            low = self.first_of(shared.low, high, shared.depth)
            key = self.key(&self.suffixes[low], shared.depth)
            if key != END:
                below = shared
                below.low, below.high, below.depth = low, high, shared.depth + 1
                below.last = self.advance(shared.last, <uint8_t>(key - 1))
                if below.last.begun <= self.max_length + (below.whole > 0 and below.last.lacking > 0):
                    branch.stack.push_back(below)
            high = low
        return 0
