# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Token trie used by segmentations and constructions: a double array (Aoe 1989, IEEE TSE 15:1066-1077).

The child of node ``v`` for byte ``c`` is slot ``base[v] + c``, if ``check`` of that slot is ``v``. So a step is one
addition and one lookup. Base, check and token of a node are 12 adjacent bytes, usually in one cache line.

For other kernels (see ``trie.pxd``; all functions are ``noexcept nogil``, without reference counting, read-only and
thus thread-safe)::

    from tokbench.kernels.trie cimport Trie, TrieView, step, token_at

    cdef const TrieView* view = &trie.view     # valid as long as the Trie object is referenced
    node = step(view, 0, text[i])              # 0 is the root; -1 if there is no such child
    token = token_at(view, node)               # -1 if no token ends here

Weights, scores and masks that change during use belong in arrays of the caller, indexed by token.

Reference: ``prefixes`` in :mod:`tokbench.reference.segmentation`.
"""

from cpython.mem cimport PyMem_RawFree
from libc.stdint cimport int32_t, int64_t, uint8_t

from tokbench.kernels.double_array cimport DoubleArray, grow_whole
from tokbench.kernels.limits cimport within

import numpy as np


cdef class Trie:
    """Immutable trie of tokens.

    Args:
        data: uint8 [bytes], concatenated tokens.
        offsets: int64 [tokens + 1], start of each token; as from :meth:`tokbench.vocabulary.Vocabulary.flat`.
        included: bool [tokens], tokens of the trie (default: all). Of equal tokens, the lowest id is used.
        backwards: Whether tokens are reversed, for walking a text leftwards (default: False).
        share: Function that runs some work on each item of a list in parallel (default: None, sequentially). The result
            does not depend on it.

    Attributes:
        nodes: Number of nodes in use, including the root.
        tokens: Largest id in the trie + 1; 0 if it is empty.

    Raises:
        ValueError: a token is empty, the tokens have more than 2^30 bytes, offsets do not ascend inside ``data``, or
            ``included`` has another length.
        OverflowError: there are 2^31 tokens or more, or the trie would have as many units.
        MemoryError: there is not enough memory; a node needs 12 bytes.
    """

    def __cinit__(
        self,
        const uint8_t[::1] data,
        const int64_t[::1] offsets,
        included: NDArray[np.bool_] | None = None,
        bint backwards=False,
        share: Callable[[Callable[[int], object], Iterable[int]], object] | None = None,
    ):
        cdef Py_ssize_t tokens = offsets.shape[0] - 1
        cdef int32_t[::1] order
        cdef DoubleArray array
        cdef const uint8_t[::1] chosen = None
        cdef int64_t length, total = 0
        cdef int32_t held = 0, longest = 0, token

        if tokens < 0:
            raise ValueError("offsets must have one entry more than there are tokens")
        within(tokens, "tokens")
        if included is not None:
            if len(included) != tokens:
                raise ValueError(f"included has {len(included)} entries for {tokens} tokens")
            chosen = np.ascontiguousarray(included, np.bool_).view(np.uint8)
        # Not by numpy: its reductions and fancy indexing abort the process if memory runs out inside them.
        order = np.empty(max(tokens, 1), np.int32)
        for token in range(<int32_t>tokens):
            if not 0 <= offsets[token] <= offsets[token + 1] <= data.shape[0]:
                raise ValueError("offsets must ascend inside data")
            if chosen is not None and not chosen[token]:
                continue
            length = offsets[token + 1] - offsets[token]
            if not length:
                raise ValueError("a token is empty")
            total += length
            if total > 1 << 30:
                raise ValueError("the tokens have more than 2^30 bytes")
            longest = max(longest, <int32_t>length)
            order[held] = token
            held += 1
        self.tokens = order[held - 1] + 1 if held else 0
        array.units = NULL
        try:
            grow_whole(&array, &data[0] if data.shape[0] else NULL, &offsets[0], backwards, order, held, share)
        finally:
            self.units = array.units
        self.nodes = array.nodes
        self.view.units = self.units
        self.view.slots = <int32_t>array.slots
        self.view.max_length = longest

    def __dealloc__(self):
        PyMem_RawFree(self.units)

    @property
    def slots(self) -> int:
        """Number of units of 12 bytes that the trie occupies."""
        return self.view.slots

    @property
    def max_length(self) -> int:
        """Length of the longest token in bytes; 0 if the trie is empty."""
        return self.view.max_length

    def prefixes(self, const uint8_t[::1] text) -> list[tuple[int, int]]:
        """Return the tokens at the start of ``text`` as (length in bytes, id), shortest first."""
        cdef int32_t node = 0, token
        cdef Py_ssize_t i
        found = []
        for i in range(text.shape[0]):
            node = step(&self.view, node, text[i])
            if node < 0:
                break
            token = token_at(&self.view, node)
            if token >= 0:
                found.append((i + 1, token))
        return found

    def find(self, const uint8_t[::1] token) -> int:
        """Return the id of ``token``; -1 if it is not in the trie."""
        cdef int32_t node = 0
        cdef Py_ssize_t i
        for i in range(token.shape[0]):
            node = step(&self.view, node, token[i])
            if node < 0:
                return -1
        return token_at(&self.view, node)
