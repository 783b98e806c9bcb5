# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Segmentation by a partition cover: each token in turn joins the bytes of its matches whose two ends are cuts.

Lim, Choo and Lauw, "A partition cover approach to tokenization" (2025), appendix D, algorithm 4. A joined match can be
absorbed by a later token that contains it. Matches are sorted by (id, position): overlapping matches of a token are
tried from left to right, and adjacent matches stay separate.

Reference: ``cover`` in :mod:`tokbench.reference.segmentation`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libcpp.algorithm cimport sort

from tokbench.kernels.matches cimport LONG, SuffixLinks, follow
from tokbench.kernels.segmenter cimport PretokenSegmenter, Scratch, reserve
from tokbench.kernels.trie cimport Trie, TrieView, step, token_at

import numpy as np


cdef enum:
    FEW = 256       # matches stored on the stack
    SMALL = 40      # up to this number of matches, insertion sort is used
    INSIDE = -1     # in place of an id: no cut at this position


cdef inline void order(uint64_t* matches, int64_t size) noexcept nogil:
    cdef int64_t i, j
    cdef uint64_t match
    if size > SMALL:
        sort(matches, matches + size)
        return
    for i in range(1, size):
        match = matches[i]
        j = i
        while j > 0 and matches[j - 1] > match:
            matches[j] = matches[j - 1]
            j -= 1
        matches[j] = match


cdef class CoverSegmenter(PretokenSegmenter):
    """Segmenter that applies the tokens of two or more bytes in the order of their ids.

    Args:
        trie: Trie of the tokens, including the 256 bytes.
        lengths: int32 [tokens], length of each token in bytes.

    Raises:
        ValueError: the trie lacks a byte, or a token has no length.
    """

    cdef Trie trie
    cdef SuffixLinks links      # None if no token is long
    cdef const int32_t[::1] lengths

    def __init__(self, Trie trie not None, lengths: NDArray[np.int32]):
        if any(trie.find(bytes([value])) < 0 for value in range(256)):
            raise ValueError("the trie lacks one of the 256 bytes")
        self.trie = trie
        self.links = SuffixLinks(trie) if trie.view.max_length > LONG else None
        self.lengths = np.array(lengths, np.int32)
        if self.lengths.shape[0] < trie.tokens:
            raise ValueError(f"{self.lengths.shape[0]} lengths for {trie.tokens} tokens")

    cdef int64_t match(
        self, const uint8_t* text, int64_t size, int32_t* ids, uint64_t* matches, int64_t room
    ) noexcept nogil:
        """Write the first ``room`` matches and the ids of the bytes; return the number of matches.

        If the text is a token, ``ids[0]`` is that token and -1 is returned.
        """
        cdef const TrieView* trie = &self.trie.view
        cdef int64_t found = 0, start, end
        cdef int32_t node, token
        if size > LONG and self.links is not None:
            return self.match_by_links(text, size, ids, matches, room)
        for start in range(size):
            node = step(trie, 0, text[start])
            ids[start] = token_at(trie, node)
            end = start + 1
            while end < size:
                node = step(trie, node, text[end])
                if node < 0:
                    break
                end += 1
                token = token_at(trie, node)
                if token >= 0:
                    if end - start == size:
                        ids[0] = token
                        return -1
                    if found < room:
                        matches[found] = (<uint64_t>token << 32) | <uint64_t>start
                    found += 1
        return found

    cdef int64_t match_by_links(
        self, const uint8_t* text, int64_t size, int32_t* ids, uint64_t* matches, int64_t room
    ) noexcept nogil:
        """Do the same as ``match``, from the ends of the matches."""
        cdef const TrieView* trie = &self.trie.view
        cdef const int32_t* suffix = &self.links.suffix[0]
        cdef const int32_t* last = &self.links.last[0]
        cdef int64_t found = 0, end
        cdef int32_t node = 0, match, width
        for end in range(1, size + 1):
            ids[end - 1] = token_at(trie, step(trie, 0, text[end - 1]))
            node = follow(trie, suffix, node, text[end - 1])
            match = last[node]
            while match:
                width = self.links.depth[match]
                if width == size:
                    ids[0] = token_at(trie, match)
                    return -1
                if width > 1:
                    if found < room:
                        matches[found] = (<uint64_t>token_at(trie, match) << 32) | <uint64_t>(end - width)
                    found += 1
                match = last[suffix[match]]
        return found

    cdef int64_t cut(self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch) except -1 nogil:
        # During application, ids[p] is the token that starts at p, or INSIDE.
        cdef uint64_t few[FEW]
        cdef uint64_t* matches = few
        cdef int64_t found = self.match(text, size, ids, matches, FEW), i, p, start, end, written
        cdef int32_t token
        if found < 0:
            return 1        # the ends of the text are always cuts, and no token crosses a part of a joined match
        if found > FEW:
            matches = <uint64_t*>reserve(scratch, found * sizeof(uint64_t))
            self.match(text, size, ids, matches, found)
        order(matches, found)
        for i in range(found):
            token = <int32_t>(matches[i] >> 32)
            start = <int64_t>(<uint32_t>matches[i])
            end = start + self.lengths[token]
            if ids[start] != INSIDE and (end == size or ids[end] != INSIDE):
                ids[start] = token
                for p in range(start + 1, end):
                    ids[p] = INSIDE
        written = 0
        for i in range(size):
            if ids[i] != INSIDE:
                ids[written] = ids[i]
                written += 1
        return written
