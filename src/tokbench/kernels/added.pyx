# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Added tokens: a scanner that isolates fixed strings in front of another scanner, and the segmentation of such pieces.

Reference: ``added`` in :mod:`tokbench.reference.segmentation` and ``isolated`` in
:mod:`tokbench.reference.segmentation`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from tokbench.kernels.scan cimport WIDEST, Scanner
from tokbench.kernels.segmenter cimport PretokenSegmenter, Scratch
from tokbench.kernels.trie cimport Trie, TrieView, step, token_at

import numpy as np


cdef enum:
    WINDOW = 4096       # bytes searched for a string before the other scanner runs


cdef class AddedScanner(Scanner):
    """Scanner that isolates strings, leftmost first, the longest of those, and splits the text between them by another.

    Args:
        strings: Trie of the strings.
        joined: uint8 [65536], 1 at ``256 a + b`` if some string contains byte a followed by byte b, otherwise 0.
        others: Scanner of the text between the strings, which ends at a string.

    Raises:
        ValueError: ``joined`` has another shape.
    """

    cdef readonly Trie strings
    cdef readonly Scanner others
    cdef const uint8_t[::1] joined
    cdef bint[256] first        # whether a string begins with a byte

    def __init__(self, Trie strings not None, joined: NDArray[np.uint8], Scanner others not None):
        cdef int value
        self.strings, self.others = strings, others
        self.joined = np.array(joined, dtype=np.uint8)
        if self.joined.shape[0] != 65536:
            raise ValueError("joined must have 65536 entries")
        self.settles = others.settles
        for value in range(256):
            self.first[value] = step(&strings.view, 0, <uint8_t>value) >= 0

    cdef int64_t next_boundaries(
        self, const uint8_t* text, int64_t start, int64_t end, int64_t* bounds, int64_t room
    ) noexcept nogil:
        cdef int64_t found = 0, window = WINDOW, stop, place, size
        while start < end and found < room:
            stop = min(end, start + window)
            size = 0
            place = start
            while place < stop:
                if self.first[text[place]]:
                    size = self.longest(text + place, end - place)
                    if size:
                        break
                place += 1
            if not size and stop < end:
                # Any text may follow a settled place, so that a string after the window changes nothing before it.
                place = stop - 1
                while place >= start + WIDEST and not self.others.is_settled(text + start, place - start, stop - start):
                    place -= 1
                if place < start + WIDEST:
                    window *= 2
                    continue
            while start < place and found < room:
                found += self.others.next_boundaries(text, start, place, bounds + found, room - found)
                start = bounds[found - 1]
            if size and start == place and found < room:
                start += size
                bounds[found] = start
                found += 1
            window = WINDOW
        return found

    cdef inline int64_t longest(self, const uint8_t* text, int64_t size) noexcept nogil:
        """Return the length of the longest string at the start of a text; 0 if there is none."""
        cdef const TrieView* trie = &self.strings.view
        cdef int64_t i = 0, found = 0
        cdef int32_t node = 0
        while i < size:
            node = step(trie, node, text[i])
            if node < 0:
                break
            i += 1
            if token_at(trie, node) >= 0:
                found = i
        return found

    cdef bint is_settled(self, const uint8_t* text, int64_t place, int64_t size) noexcept nogil:
        if self.joined[(<int32_t>text[place - 1] << 8) | text[place]]:
            return False
        return self.others.is_settled(text, place, size)


cdef class AddedSegmenter(PretokenSegmenter):
    """Segmenter that returns a pre-token that is an added token as one id, and passes any other on.

    Args:
        others: Segmenter of all other pre-tokens.
        added: Trie of the added tokens.
    """

    cdef readonly PretokenSegmenter others
    cdef readonly Trie added

    def __init__(self, PretokenSegmenter others not None, Trie added not None):
        self.others, self.added = others, added
        self.placed = others.placed

    cdef int64_t cut(self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch) except -1 nogil:
        return 1 if self.found(text, size, ids) else self.others.cut(text, size, ids, scratch)

    cdef int64_t cut_at(
        self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch, uint64_t place
    ) except -1 nogil:
        return 1 if self.found(text, size, ids) else self.others.cut_at(text, size, ids, scratch, place)

    cdef inline bint found(self, const uint8_t* text, int64_t size, int32_t* ids) noexcept nogil:
        cdef const TrieView* trie = &self.added.view
        cdef int64_t i = 0
        cdef int32_t node = 0
        if size > trie.max_length:
            return False
        while i < size and node >= 0:
            node = step(trie, node, text[i])
            i += 1
        if node < 0 or token_at(trie, node) < 0:
            return False
        ids[0] = token_at(trie, node)
        return True
