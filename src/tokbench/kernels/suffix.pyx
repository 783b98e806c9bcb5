# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Repeated substrings of counted words: their suffixes, sorted by their first bytes as far as these are shared.

A radix sort from the first byte on visits the inner nodes of the suffix tree in byte order and goes no deeper than the
longest substring wanted, so that no suffix array or table of common prefixes is kept. No substring crosses words.

Reference: :mod:`tokbench.reference.unigram`.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset
from libcpp.vector cimport vector

cdef enum:
    SMALL = 16      # ranges up to this many suffixes are sorted by insertion
    END = 0         # key of a suffix that is used up; that of byte b is b + 1


cdef struct Suffix:
    int32_t start
    int32_t word


cdef struct Character:
    int32_t begun       # characters begun so far
    int32_t lacking     # bytes that the last one lacks


cdef struct Range:
    # The suffixes low to high share ``depth`` bytes.
    int64_t low
    int64_t high
    int32_t depth
    Character last
    int32_t whole           # bytes of the longest label of whole characters that just these suffixes share; 0 for none
    int32_t characters      # characters of that label


cdef class Suffixes:
    """The suffixes under way, and what has been found in them."""

    cdef const uint8_t[::1] data
    cdef const int64_t[::1] offsets
    cdef const int64_t[::1] counts
    cdef int32_t max_length
    cdef bint whole_characters
    cdef bint by_occurrence
    cdef bint distinct_ends
    cdef vector[Suffix] suffixes
    cdef vector[Suffix] spare
    cdef vector[Range] stack
    cdef vector[int64_t] found      # start, end, characters and weight of each substring

    cdef inline Character advance(self, Character last, uint8_t byte) noexcept nogil:
        """Read one more byte; one that is out of place in UTF-8 is a character of its own."""
        if last.lacking > 0 and byte & 0xC0 == 0x80:
            last.lacking -= 1
            return last
        last.begun += 1
        last.lacking = 0
        if self.whole_characters and byte >= 0xC2:
            last.lacking = 1 if byte < 0xE0 else 2 if byte < 0xF0 else 3 if byte < 0xF5 else 0
        return last

    cdef int start(self) except -1 nogil:
        cdef Range every
        cdef Suffix suffix
        cdef Character last
        cdef int64_t word, i
        self.suffixes.reserve(self.data.shape[0])
        for word in range(self.counts.shape[0]):
            last.begun = last.lacking = 0
            for i in range(self.offsets[word], self.offsets[word + 1]):
                suffix.start, suffix.word = <int32_t>i, <int32_t>word
                every.depth = last.begun
                last = self.advance(last, self.data[i])
                if last.begun > every.depth:
                    self.suffixes.push_back(suffix)
        self.spare.resize(self.suffixes.size())
        every.low, every.high, every.depth, every.whole, every.characters = 0, self.suffixes.size(), 0, 0, 0
        every.last.begun = every.last.lacking = 0
        if every.high > 0:
            self.stack.push_back(every)
        return 0

    cdef inline int32_t key(self, const Suffix *suffix, int32_t depth) noexcept nogil:
        cdef int64_t at = <int64_t>suffix.start + depth
        return self.data[at] + 1 if at < self.offsets[suffix.word + 1] else END

    cdef void sort(self, int64_t low, int64_t high, int32_t depth) noexcept nogil:
        """Order suffixes by the byte at ``depth``; stable."""
        cdef int64_t tally[258]
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
            return
        memset(tally, 0, sizeof(tally))
        for i in range(low, high):
            tally[self.key(&self.suffixes[i], depth) + 1] += 1
        for key in range(257):
            tally[key + 1] += tally[key]
        for i in range(low, high):
            key = self.key(&self.suffixes[i], depth)
            self.spare[tally[key]] = self.suffixes[i]
            tally[key] += 1
        for i in range(low, high):
            self.suffixes[i] = self.spare[i - low]

    cdef int report(self, const Range *shared, int64_t length, int64_t characters) except -1 nogil:
        cdef int64_t start = self.suffixes[shared.low].start, weight = shared.high - shared.low, i
        if self.by_occurrence or characters == 1:
            weight = 0
            for i in range(shared.low, shared.high):
                weight += self.counts[self.suffixes[i].word]
        if weight > 1 or characters == 1:
            self.found.push_back(start)
            self.found.push_back(start + length)
            self.found.push_back(characters)
            self.found.push_back(weight)
        return 0

    cdef int report_word(self, const Range *alone) except -1 nogil:
        """Report the word of a suffix that shares no more with others, if the suffix is the whole word."""
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
            self.report(alone, end - start, last.begun)
        return 0

    cdef int visit(self, Range shared) except -1 nogil:
        """Report the substring that just these suffixes share, if it branches, and stack the longer ranges."""
        cdef int64_t high, low
        cdef int32_t key
        cdef Range below
        if shared.depth > 0 and shared.last.lacking == 0:
            shared.whole, shared.characters = shared.depth, shared.last.begun
            if shared.characters == 1:
                self.report(&shared, shared.whole, 1)
        if shared.high - shared.low == 1 and shared.last.begun > (1 if shared.last.lacking else 0):
            if self.distinct_ends:
                self.report_word(&shared)
            return 0
        self.sort(shared.low, shared.high, shared.depth)
        low = self.key(&self.suffixes[shared.low], shared.depth)
        high = self.key(&self.suffixes[shared.high - 1], shared.depth)
        if low < high or (self.distinct_ends and low == END):
            if shared.characters > 1:
                self.report(&shared, shared.whole, shared.characters)
            shared.whole = shared.characters = 0
        high = shared.high
        while high > shared.low:
            low = high - 1
            key = self.key(&self.suffixes[low], shared.depth)
            while low > shared.low and self.key(&self.suffixes[low - 1], shared.depth) == key:
                low -= 1
            if key != END:
                below = shared
                below.low, below.high, below.depth = low, high, shared.depth + 1
                below.last = self.advance(shared.last, <uint8_t>(key - 1))
                if below.last.begun <= self.max_length + (below.whole > 0 and below.last.lacking > 0):
                    self.stack.push_back(below)
            high = low
        return 0


def repeats(
    const uint8_t[::1] data, const int64_t[::1] offsets, const int64_t[::1] counts, int64_t max_length,
    bint whole_characters, bint by_occurrence, bint distinct_ends,
):
    """Substrings that occur repeatedly and could not be longer: some two occurrences are followed differently.

    By type, a substring counts once for each place in the unique words, as for ``tokenizers``; by occurrence, a place
    counts as often as its word, as for sentencepiece. In the suffix arrays of both, all ends of words are one way to
    go on. With distinct ends each is a way of its own, so that words which occur twice are found too.

    Args:
        data: uint8 [n], the words laid end to end; n is less than 2**31.
        offsets: int64 [words + 1], where each word starts; the last entry is n.
        counts: int64 [words], occurrences of each word.
        max_length: longest substring, in characters.
        whole_characters: characters are those of UTF-8, where a byte that is out of place is one of its own; else
            every byte is a character.
        by_occurrence: count by occurrence rather than by type.
        distinct_ends: every end of a word is a way of its own to go on.

    Returns:
        int64 [m, 4] in order of the substrings' bytes: start and end of an occurrence in ``data``, characters, count.
        Substrings of one character are all there, always counted by occurrence.

    Raises:
        ValueError: the text is too long.
    """
    if data.shape[0] >= 2**31:
        raise ValueError(f"a text of {data.shape[0]} bytes cannot be sorted, the limit is {2**31 - 1}")
    cdef Suffixes suffixes = Suffixes()
    cdef Range shared
    suffixes.data, suffixes.offsets, suffixes.counts = data, offsets, counts
    suffixes.max_length = <int32_t>min(max_length, 2**30)
    suffixes.whole_characters, suffixes.by_occurrence = whole_characters, by_occurrence
    suffixes.distinct_ends = distinct_ends
    with nogil:
        suffixes.start()
        while suffixes.stack.size() > 0:
            shared = suffixes.stack.back()
            suffixes.stack.pop_back()
            suffixes.visit(shared)
    found = np.empty((suffixes.found.size() // 4, 4), np.int64)
    cdef int64_t[::1] flat = found.reshape(-1)
    if suffixes.found.size() > 0:
        memcpy(&flat[0], suffixes.found.data(), suffixes.found.size() * sizeof(int64_t))
    return found
