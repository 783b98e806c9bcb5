# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Split trees of pre-tokens, and ToaST's segmentation: the topmost nodes that are tokens.

Schmidt and others, "Tokenization with Split Trees" (2026). A node is split where the rarer of its two parts is most
frequent. A tree is descended from left to right with a stack of the ends of open nodes.

Reference: :mod:`tokbench.reference.toast`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcmp
from libcpp.vector cimport vector

import numpy as np

from tokbench.kernels.segmenter cimport PretokenSegmenter, Scratch, release, reserve
from tokbench.kernels.trie cimport Trie, TrieView, step, token_at


cdef class SplitTreeSegmenter(PretokenSegmenter):
    """Segmenter that descends the split tree of a pre-token, and emits the first token on each path.

    Args:
        tokens: Trie of the tokens, including the 256 bytes.
        known: Trie of the known strings, including the 256 bytes.
        known_backwards: Trie of the same strings, reversed (``Trie(..., backwards=True)``).
        counts: int64 [strings], occurrences of each known string, not negative.

    Raises:
        ValueError: a trie lacks a byte, or a known string has no count.
    """

    cdef Trie tokens
    cdef Trie known
    cdef Trie known_backwards
    cdef const int64_t[::1] counts

    def __init__(
        self, Trie tokens not None, Trie known not None, Trie known_backwards not None, const int64_t[::1] counts
    ):
        for trie in (tokens, known, known_backwards):
            if any(trie.find(bytes([value])) < 0 for value in range(256)):
                raise ValueError("a trie lacks one of the 256 bytes")
        if max(known.tokens, known_backwards.tokens) > counts.shape[0] or min(counts) < 0:
            raise ValueError("a known string has no count")
        self.tokens = tokens
        self.known = known
        self.known_backwards = known_backwards
        self.counts = counts

    cdef int64_t split(self, const uint8_t* text, int64_t size, int64_t* before) noexcept nogil:
        """Return the length of the left part of a node of two bytes or more; ``before`` [size] is scratch memory.

        Ties are broken by the shortest left part. If no split has two known parts, the left part is the longest known
        proper prefix.
        """
        cdef const TrieView* forward = &self.known.view
        cdef const TrieView* backward = &self.known_backwards.view
        cdef int64_t place, prefix = 0, longest = 1, best = 0, most = -1, least
        cdef int32_t node = 0, string
        while prefix < size - 1:
            node = step(forward, node, text[prefix])
            if node < 0:
                break
            prefix += 1
            string = token_at(forward, node)
            before[prefix] = self.counts[string] if string >= 0 else -1
            if string >= 0:
                longest = prefix
        node = 0
        for place in range(size - 1, 0, -1):
            node = step(backward, node, text[place])
            if node < 0:
                break
            string = token_at(backward, node)
            if string >= 0 and place <= prefix and before[place] >= 0:
                least = min(before[place], self.counts[string])
                if least >= most:
                    most = least
                    best = place
        return best if best else longest

    cdef bint is_token(self, const uint8_t* text, int64_t size, int32_t* token) noexcept nogil:
        cdef const TrieView* trie = &self.tokens.view
        cdef int64_t place
        cdef int32_t node = 0
        if size > trie.max_length:
            return False
        for place in range(size):
            node = step(trie, node, text[place])
            if node < 0:
                return False
        token[0] = token_at(trie, node)
        return token[0] >= 0

    cdef int64_t cut(self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch) except -1 nogil:
        cdef int64_t* ends = <int64_t*>reserve(scratch, 2 * (size + 1) * sizeof(int64_t))
        cdef int64_t* before = ends + size + 1
        cdef int64_t start = 0, open = 1, written = 0
        ends[0] = size
        while open:
            if self.is_token(text + start, ends[open - 1] - start, &ids[written]):
                written += 1
                start = ends[open - 1]
                open -= 1
            else:
                ends[open] = start + self.split(text + start, ends[open - 1] - start, before)
                open += 1
        return written


def tree_nodes(
    SplitTreeSegmenter segmenter not None,
    const uint8_t[::1] data,
    const int64_t[::1] offsets,
    int64_t first,
    int64_t last,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the nodes of two bytes or more of the split trees of pre-tokens.

    Args:
        segmenter: Any segmenter with the known strings.
        data: uint8 [bytes], concatenated pre-tokens; fewer than 2^31 bytes.
        offsets: int64 [n + 1], start of each pre-token.
        first, last: Range of pre-tokens, ``first <= i < last``.

    Returns:
        starts: int32 [nodes], first byte of each node in ``data``.
        ends: int32 [nodes], byte after its last one.

    Raises:
        MemoryError: there is not enough memory.
    """
    cdef vector[int32_t] starts, ends
    cdef Scratch scratch
    cdef int64_t item, size, start, open, i
    cdef int64_t* stack
    cdef int64_t* before
    cdef const uint8_t* text
    scratch.memory = NULL
    scratch.bytes = 0
    with nogil:
        try:
            for item in range(first, last):
                size = offsets[item + 1] - offsets[item]
                if size == 0:
                    continue
                text = &data[offsets[item]]
                stack = <int64_t*>reserve(&scratch, 2 * (size + 1) * sizeof(int64_t))
                before = stack + size + 1
                stack[0] = size
                start, open = 0, 1
                while open:
                    if stack[open - 1] - start == 1:
                        start += 1
                        open -= 1
                        continue
                    starts.push_back(<int32_t>(offsets[item] + start))
                    ends.push_back(<int32_t>(offsets[item] + stack[open - 1]))
                    stack[open] = start + segmenter.split(text + start, stack[open - 1] - start, before)
                    open += 1
        finally:
            release(&scratch)
    nodes = np.empty((2, starts.size()), np.int32)
    cdef int32_t[:, ::1] view = nodes
    for i in range(<int64_t>starts.size()):
        view[0, i] = starts[i]
        view[1, i] = ends[i]
    return nodes[0], nodes[1]


def number_strings(
    const uint8_t[::1] data, const int64_t[::1] offsets, const int64_t[::1] order
) -> NDArray[np.int32]:
    """Number distinct strings in byte order.

    Args:
        data: uint8 [bytes], concatenated strings.
        offsets: int64 [n + 1], start of each string.
        order: int64 [n], indices of the strings in byte order.

    Returns:
        int32 [n], number of each string; equal strings have equal numbers.
    """
    numbers = np.empty(order.shape[0], np.int32)
    cdef int32_t[::1] view = numbers
    cdef int32_t number = -1
    cdef int64_t i, size, last = -1, this
    with nogil:
        for i in range(order.shape[0]):
            this = order[i]
            size = offsets[this + 1] - offsets[this]
            if last < 0 or offsets[last + 1] - offsets[last] != size or (
                size and memcmp(&data[offsets[last]], &data[offsets[this]], size)
            ):
                number += 1
            view[this] = number
            last = this
    return numbers
