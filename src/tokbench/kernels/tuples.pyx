# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Segmentation by merges of two or more parts, in O(log n) per applied merge in long pre-tokens.

Two bytes that are not adjacent in any token are never merged, so a pre-token is first split there into pieces. A piece
is a list of tokens, linked by the positions of their first bytes. Each position has the lowest rank of a merge whose
parts start there, found in a trie of parts. The lowest rank of all is found by scanning in short pieces, and in long
ones from a heap of (rank, position). Outdated entries are recognised when they are popped. A full heap is rebuilt, as
each position has at most one valid entry.

Reference: ``merge_tuples`` in :mod:`tokbench.reference.segmentation`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from tokbench.kernels.heap cimport sift_down, sift_up
from tokbench.kernels.limits cimport within
from tokbench.kernels.pair_table cimport NO_VALUE, Pair, slot_of, shift_for, value_of
from tokbench.kernels.segmenter cimport PretokenSegmenter, Scratch, reserve

import numpy as np


cdef enum:
    SHORT = 64              # longest piece without a heap, in bytes
    ROOM = 2                # entries of the heap per byte of a piece


cdef struct Piece:
    int32_t size            # in bytes
    int32_t* ids
    int32_t* before         # position of the token before; -1 at the start
    int32_t* after          # position of the token after; ``size`` at the end
    int32_t* due            # lowest rank of a merge at a position, or NO_VALUE
    uint64_t* heap          # rank << 32 | position; NULL for short pieces
    int64_t entries


cdef void renew(Piece* piece) noexcept nogil:
    """Rebuild the heap from the valid entries."""
    cdef int32_t at = 0
    cdef int64_t k
    piece.entries = 0
    while at < piece.size:
        if piece.due[at] != NO_VALUE:
            piece.heap[piece.entries] = (<uint64_t>piece.due[at] << 32) | <uint64_t>at
            piece.entries += 1
        at = piece.after[at]
    for k in range(piece.entries // 2 - 1, -1, -1):
        sift_down(piece.heap, piece.entries, k, piece.heap[k])


cdef inline void look(const TupleTable* table, Piece* piece, int32_t at) noexcept nogil:
    """Find the lowest rank of a merge at a position whose token or a following one has changed."""
    cdef int32_t node = 0, due = NO_VALUE, place = at
    while place < piece.size:
        node = value_of(&table.steps, node, piece.ids[place])
        if node == NO_VALUE:
            break
        due = min(due, table.ranks[node])
        place = piece.after[place]
    if due == piece.due[at]:
        return
    piece.due[at] = due
    if piece.heap == NULL or due == NO_VALUE:
        return
    if piece.entries == ROOM * <int64_t>piece.size:
        renew(piece)
        return
    sift_up(piece.heap, piece.entries, (<uint64_t>due << 32) | <uint64_t>at)
    piece.entries += 1


cdef int32_t take(Piece* piece) noexcept nogil:
    """Return the leftmost position of the lowest rank; -1 if there is none."""
    cdef int32_t i, best = -1, lowest = NO_VALUE
    cdef uint64_t top
    if piece.heap == NULL:
        for i in range(piece.size):
            if piece.due[i] < lowest:
                best, lowest = i, piece.due[i]
        return best
    while piece.entries:
        top = piece.heap[0]
        piece.entries -= 1
        if piece.entries:
            sift_down(piece.heap, piece.entries, 0, piece.heap[piece.entries])
        if piece.due[<uint32_t>top] == <int32_t>(top >> 32):
            return <int32_t><uint32_t>top
    return -1


cdef int64_t replay(
    const TupleTable* table, const uint8_t* text, int32_t size, int32_t* ids, Scratch* scratch
) except -1 nogil:
    """Segment a piece; return the number of ids."""
    cdef Piece piece
    cdef int32_t at, end, rank, k
    cdef int64_t written = 0
    cdef size_t room = 4 * sizeof(int32_t) if size <= SHORT else 4 * sizeof(int32_t) + ROOM * sizeof(uint64_t)
    cdef char* memory = <char*>reserve(scratch, size * room)
    piece.size, piece.entries = size, 0
    piece.heap = NULL if size <= SHORT else <uint64_t*>memory
    piece.ids = <int32_t*>(memory if size <= SHORT else memory + size * ROOM * sizeof(uint64_t))
    piece.before = piece.ids + size
    piece.after = piece.before + size
    piece.due = piece.after + size
    for at in range(size):
        piece.ids[at], piece.due[at] = table.byte_ids[text[at]], NO_VALUE
        piece.before[at], piece.after[at] = at - 1, at + 1
    for at in range(size):
        look(table, &piece, at)
    while True:
        at = take(&piece)
        if at < 0:
            break
        rank, end = piece.due[at], piece.after[at]
        piece.due[at] = NO_VALUE
        for k in range(1, table.sizes[rank]):
            piece.due[end] = NO_VALUE
            end = piece.after[end]
        piece.ids[at] = table.results[rank]
        piece.after[at] = end
        if end < size:
            piece.before[end] = at
        for k in range(table.longest):
            look(table, &piece, at)
            at = piece.before[at]
            if at < 0:
                break
    at = 0
    while at < size:
        ids[written] = piece.ids[at]
        written += 1
        at = piece.after[at]
    return written


cdef class TupleSegmenter(PretokenSegmenter):
    """Segmenter that applies the merge of the lowest rank, at its leftmost place, until no merge applies.

    Args:
        results: int32 [m], id made by each merge; its place is the rank.
        bounds: int64 [m + 1], start of each merge's parts.
        parts: int32, ids of the parts, two or more for a merge. The first of merges with equal parts is used.
        byte_ids: int32 [256], id of each byte.
        joined: uint8 [65536], 1 at ``256 a + b`` if some token contains byte a followed by byte b, otherwise 0.
            Additional ones are harmless; missing ones are not.

    Raises:
        ValueError: an array has another length, an id is negative, or a merge has fewer than two parts.
        OverflowError: there are 2^31 parts or more.
    """

    def __init__(
        self,
        results: NDArray[np.int32],
        bounds: NDArray[np.int64],
        parts: NDArray[np.int32],
        byte_ids: NDArray[np.int32],
        joined: NDArray[np.uint8],
    ):
        cdef int32_t[::1] results_view = np.append(results, 0).astype(np.int32)
        cdef int64_t[::1] bounds_view = np.array(bounds, dtype=np.int64)
        cdef int32_t[::1] parts_view = np.append(parts, 0).astype(np.int32)
        cdef int32_t[::1] bytes_view = np.array(byte_ids, dtype=np.int32)
        cdef uint8_t[::1] joined_view = np.array(joined, dtype=np.uint8)
        within(parts_view.shape[0] + 1, "parts")
        cdef int32_t merges = <int32_t>(results_view.shape[0] - 1), total = <int32_t>(parts_view.shape[0] - 1)
        cdef int32_t rank, node, nodes = 1
        cdef int32_t[::1] ranks = np.full(total + 2, NO_VALUE, np.int32)
        cdef int32_t[::1] sizes = np.diff(np.append(bounds, 0)).astype(np.int32)
        cdef int32_t[:, ::1] pairs
        cdef int64_t k, end = 0
        cdef Pair* pair
        if bytes_view.shape[0] != 256 or joined_view.shape[0] != 65536:
            raise ValueError("byte_ids must have 256 entries and joined 65536")
        if bounds_view.shape[0] != merges + 1 or bounds_view[0] != 0 or bounds_view[merges] != total:
            raise ValueError("bounds must have one entry more than results, from 0 to the number of parts")
        if min(np.min(results_view), np.min(parts_view), np.min(bytes_view)) < 0:
            raise ValueError("an id must not be negative")
        self.table.longest = 2
        self.table.steps.shift = shift_for(total)
        pairs = np.full((<int64_t>1 << (64 - self.table.steps.shift), 3), [-1, -1, NO_VALUE], np.int32)
        self.table.steps.pairs = <Pair*>&pairs[0, 0]
        for rank in range(merges):
            if not end + 2 <= bounds_view[rank + 1] <= total:
                raise ValueError(f"merge {rank} has fewer than two parts")
            node = 0
            for k in range(end, bounds_view[rank + 1]):
                pair = slot_of(&self.table.steps, node, parts_view[k])
                if pair.left < 0:
                    pair.left, pair.right, pair.value = node, parts_view[k], nodes
                    nodes += 1
                node = pair.value
            ranks[node] = min(ranks[node], rank)
            end = bounds_view[rank + 1]
            self.table.longest = max(self.table.longest, sizes[rank])
        self.arrays = [results_view, ranks, sizes, bytes_view, joined_view, pairs]
        self.table.ranks, self.table.results, self.table.sizes = &ranks[0], &results_view[0], &sizes[0]
        self.table.byte_ids, self.table.joined = &bytes_view[0], &joined_view[0]

    cdef int64_t cut(self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch) except -1 nogil:
        cdef const TupleTable* table = &self.table
        cdef int64_t start = 0, end, written = 0
        while start < size:
            end = start + 1
            while end < size and table.joined[(<int32_t>text[end - 1] << 8) | text[end]]:
                end += 1
            written += replay(table, &text[start], <int32_t>(end - start), &ids[written], scratch)
            start = end
        return written
