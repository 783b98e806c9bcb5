# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The token trie that segmentations and constructions walk: a double array (Aoe 1989, IEEE TSE 15:1066-1077).

The child of node ``v`` by byte ``c`` is slot ``base[v] + c``, and is v's only if ``check`` there says ``v``: a step is
one addition and one look-up. Base, check and token of a node lie together in 12 bytes, mostly in one cache line.

For other kernels (see ``trie.pxd``; all ``noexcept nogil``, no reference counting, read-only, so that any number of
threads may walk one trie)::

    from tokbench.kernels.trie cimport Trie, TrieView, step, token_at

    cdef const TrieView* view = &trie.view     # valid as long as the Trie object is held
    node = step(view, 0, text[i])              # 0 is the root; -1 where there is no such child
    token = token_at(view, node)               # -1 where no token ends

Weights, scores and masks that change while the trie is walked belong in arrays of the caller's, indexed by token.

Reference: ``trie`` in :mod:`tokbench.reference.segmentation`.
"""

from cpython.mem cimport PyMem_RawFree
from libc.stdint cimport int32_t, int64_t, uint8_t

from tokbench.kernels.double_array cimport DoubleArray, grow_whole
from tokbench.kernels.limits cimport within

import numpy as np


cdef class Trie:
    """An immutable trie of tokens.

    Args:
        data: uint8 [bytes], the tokens laid end to end.
        offsets: int64 [tokens + 1], where each starts; as :meth:`tokbench.vocabulary.Vocabulary.flat` gives them.
        included: bool [tokens], the tokens to hold, or None for all. Where the same bytes stand twice among them,
            the lower id is kept.
        backwards: spell the tokens from their last byte to their first, to walk a text from an end leftwards.
        share: called with some work and items, does the work on each item, with as many threads as it has; None for
            one after the other. The trie is the same.

    Attributes:
        nodes: nodes in use, the root included.
        tokens: one more than the largest id held, 0 for none.

    Raises:
        ValueError: a token held is empty, the tokens have more than 2^30 bytes, offsets do not ascend inside
            ``data``, or ``included`` has another length.
        OverflowError: there are 2^31 tokens, or the trie would have as many units.
        MemoryError: the 12 bytes a node cannot be had.
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
        # By hand: numpy's reductions and its indexing by arrays end the process where memory ends within them.
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
        """Units of 12 bytes that the trie occupies."""
        return self.view.slots

    @property
    def max_length(self) -> int:
        """Bytes of the longest token held; 0 for none."""
        return self.view.max_length

    def prefixes(self, const uint8_t[::1] text) -> list[tuple[int, int]]:
        """The tokens that ``text`` starts with, as (length in bytes, id), shortest first."""
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
        """Id of ``token``, or -1 where the trie does not hold it."""
        cdef int32_t node = 0
        cdef Py_ssize_t i
        for i in range(token.shape[0]):
            node = step(&self.view, node, token[i])
            if node < 0:
                return -1
        return token_at(&self.view, node)
