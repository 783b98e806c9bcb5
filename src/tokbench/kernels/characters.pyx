# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Segmentation by merging that begins with the symbols of an alphabet, such as characters, and with bytes between them.

With characters it is that of SentencePiece, and of BPE models of ``tokenizers`` with byte fallback. Pairs may share a
rank; of those the leftmost is joined first. Two bytes that are not adjacent in any token are never joined, so a pre-token
is first split there into independent pieces.

Reference: ``merge_characters`` and ``merge_alphabet`` in :mod:`tokbench.reference.segmentation`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from tokbench.kernels.limits cimport within
from tokbench.kernels.merge cimport SHORT, MergeTable, merge_long, merge_short
from tokbench.kernels.pair_table cimport NO_VALUE, Pair, slot_of, shift_for
from tokbench.kernels.segmenter cimport PretokenSegmenter, Scratch
from tokbench.kernels.trie cimport Trie, TrieView, step, token_at

import numpy as np


cdef class CharacterSegmenter(PretokenSegmenter):
    """Segmenter that joins the adjacent pair of the lowest rank, the leftmost first, beginning with an alphabet.

    A pre-token is split from the left into the longest symbols of the alphabet; a byte at which none begins is one symbol.

    Args:
        pairs: int32 [m, 3], (left id, right id, resulting id). Of equal pairs the first is used.
        ranks: int32 [m], rank of each pair, 0 or more; pairs may share a rank.
        alphabet: Trie of the tokens that are symbols.
        byte_ids: int32 [256], id of each byte.
        joined: uint8 [65536], 1 at ``256 a + b`` if some token contains byte a followed by byte b, otherwise 0.

    Raises:
        ValueError: an argument has another shape, or a rank is negative.
    """

    cdef MergeTable table
    cdef readonly Trie alphabet
    cdef object arrays

    def __init__(
        self,
        pairs: NDArray[np.int32],
        ranks: NDArray[np.int32],
        Trie alphabet not None,
        byte_ids: NDArray[np.int32],
        joined: NDArray[np.uint8],
    ):
        cdef int32_t[:, ::1] rows = np.array(pairs, dtype=np.int32, order="C").reshape(-1, 3)
        cdef int32_t[::1] ranks_view = np.append(np.array(ranks, dtype=np.int32), 0).astype(np.int32)
        cdef int32_t[::1] results = np.append(np.asarray(rows)[:, 2], 0).astype(np.int32)
        cdef int32_t[::1] bytes_view = np.array(byte_ids, dtype=np.int32)
        cdef uint8_t[::1] joined_view = np.array(joined, dtype=np.uint8)
        cdef int32_t[:, ::1] slots
        cdef int32_t row
        cdef Pair* pair
        if bytes_view.shape[0] != 256 or joined_view.shape[0] != 65536:
            raise ValueError("byte_ids must have 256 entries and joined 65536")
        if ranks_view.shape[0] != rows.shape[0] + 1 or np.min(ranks_view) < 0:
            raise ValueError("ranks must have one entry for each pair, 0 or more")
        within(rows.shape[0], "pairs")
        self.table.rows.shift = shift_for(rows.shape[0])
        slots = np.full((<int64_t>1 << (64 - self.table.rows.shift), 3), [-1, -1, NO_VALUE], np.int32)
        self.arrays = (results, ranks_view, bytes_view, joined_view, slots)
        self.table.rows.pairs = <Pair*>&slots[0, 0]
        self.table.ranks, self.table.results = &ranks_view[0], &results[0]
        self.table.byte_ids, self.table.joined = &bytes_view[0], &joined_view[0]
        self.alphabet = alphabet
        for row in range(<int32_t>rows.shape[0] - 1, -1, -1):
            pair = slot_of(&self.table.rows, rows[row, 0], rows[row, 1])
            pair.left, pair.right = rows[row, 0], rows[row, 1]
            pair.value = row

    cdef int64_t cut(self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch) except -1 nogil:
        cdef int64_t start = 0, written = 0, count
        while start < size:
            # Ids are joined in place: the write position of a piece never passes the read position in the text.
            count = 0
            while True:
                start += self.begin(text + start, size - start, ids + written, &count)
                if start == size or not self.table.joined[(<int32_t>text[start - 1] << 8) | text[start]]:
                    break
            if count <= SHORT:
                written += merge_short(&self.table, <int32_t>count, ids + written)
            else:
                written += merge_long(&self.table, <int32_t>count, ids + written, scratch, 0, 0)
        return written

    cdef inline int64_t begin(self, const uint8_t* text, int64_t size, int32_t* ids, int64_t* count) noexcept nogil:
        """Append the id of the longest symbol at the start of a text, or of its first byte; return the number of bytes."""
        cdef const TrieView* trie = &self.alphabet.view
        cdef int64_t length = 1, i = 0
        cdef int32_t node = 0, symbol = self.table.byte_ids[text[0]]
        while i < size:
            node = step(trie, node, text[i])
            if node < 0:
                break
            i += 1
            if token_at(trie, node) >= 0:
                symbol, length = token_at(trie, node), i
        ids[count[0]] = symbol
        count[0] += 1
        return length
