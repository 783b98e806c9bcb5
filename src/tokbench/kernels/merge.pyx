# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Segmentation by merging, exactly as byte-pair encoding is defined, in O(n log n) for a pre-token of any length.

If the derivations of the tokens are complete, the result is found without merging
(:mod:`tokbench.kernels.derivations`). Several short pre-tokens are then merged in parallel lanes
(:mod:`tokbench.kernels.abreast`). Otherwise all merges are made one after the other, as follows.

Two bytes that are not adjacent in any token are never merged, so a pre-token is first split there into independent
pieces. Short pieces are merged by scanning for the lowest rank. Long pieces use a heap of (rank, position), in which
entries outdated by a neighbour's merge are recognised when they are popped.

Reference: ``merge`` in :mod:`tokbench.reference.segmentation`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memmove

from tokbench.kernels.abreast cimport MOST_BYTES, Abreast, AbreastView, Lane, begin, merge_once, write
from tokbench.kernels.derivations cimport Derivations, cut_derived
from tokbench.kernels.heap cimport sift_down, sift_up
from tokbench.kernels.limits cimport within
from tokbench.kernels.pair_table cimport NO_VALUE, Pair, slot_of, shift_for, value_of
from tokbench.kernels.segmenter cimport Piece, PretokenSegmenter, Scratch, reserve

import numpy as np


cdef enum:
    LANES = 8                   # short pre-tokens merged in parallel


cdef inline int32_t rank_of(const MergeTable* table, int32_t row) noexcept nogil:
    return NO_VALUE if row == NO_VALUE else table.ranks[row]


cdef int64_t merge_short(const MergeTable* table, int32_t size, int32_t* ids) noexcept nogil:
    """Merge up to SHORT ids in place; return the number of remaining ids."""
    cdef int32_t rows[SHORT]        # of the pair that starts at each place; the last place starts none
    cdef int32_t ranks[SHORT]
    cdef int32_t i, best, lowest
    for i in range(size - 1):
        rows[i] = value_of(&table.rows, ids[i], ids[i + 1])
        ranks[i] = rank_of(table, rows[i])
    while True:
        lowest = NO_VALUE
        best = 0
        for i in range(size - 1):
            if ranks[i] < lowest:
                lowest = ranks[i]
                best = i
        if lowest == NO_VALUE:
            return size
        ids[best] = table.results[rows[best]]
        size -= 1
        memmove(&ids[best + 1], &ids[best + 2], (size - best - 1) * sizeof(int32_t))
        if best + 1 < size:
            memmove(&rows[best + 1], &rows[best + 2], (size - best - 2) * sizeof(int32_t))
            memmove(&ranks[best + 1], &ranks[best + 2], (size - best - 2) * sizeof(int32_t))
            rows[best] = value_of(&table.rows, ids[best], ids[best + 1])
            ranks[best] = rank_of(table, rows[best])
        if best:
            rows[best - 1] = value_of(&table.rows, ids[best - 1], ids[best])
            ranks[best - 1] = rank_of(table, rows[best - 1])


cdef int64_t merge_long(
    const MergeTable* table, int32_t size, int32_t* ids, Scratch* scratch, uint64_t state, uint64_t dropped
) except -1 nogil:
    """Merge any number of ids in place; return the number of remaining ids.

    An entry of the heap is a rank and a position. It is outdated if the pair at its position has another rank now.
    Dropped entries wait until the next merge and are pushed again after it.
    """
    # Each merge removes one entry and adds at most two, so there are at most 2 (size - 1) entries. Waiting entries have
    # distinct positions.
    cdef int64_t n = size, longs = 3 * n if dropped else 2 * n
    cdef uint64_t* heap = <uint64_t*>reserve(scratch, longs * sizeof(uint64_t) + 3 * n * sizeof(int32_t))
    cdef uint64_t* waiting = heap + 2 * n
    cdef int32_t* before = <int32_t*>(heap + longs)
    cdef int32_t* after = before + size
    cdef int32_t* rows = after + size
    cdef int32_t i, rank, left, right
    cdef int64_t entries = 0, waits = 0, k
    cdef uint64_t top
    for i in range(size):
        before[i] = i - 1
        after[i] = i + 1
        rows[i] = value_of(&table.rows, ids[i], ids[i + 1]) if i + 1 < size else NO_VALUE
        if rows[i] != NO_VALUE:
            heap[entries] = (<uint64_t>table.ranks[rows[i]] << 32) | <uint64_t>i
            entries += 1
    for k in range(entries // 2 - 1, -1, -1):
        sift_down(heap, entries, k, heap[k])
    while entries:
        top = heap[0]
        entries -= 1
        if entries:
            sift_down(heap, entries, 0, heap[entries])
        i = <int32_t><uint32_t>top
        rank = <int32_t>(top >> 32)
        if rank_of(table, rows[i]) != rank:
            continue
        if dropped and drops(&state, dropped):
            waiting[waits] = top
            waits += 1
            continue
        while waits:
            waits -= 1
            sift_up(heap, entries, waiting[waits])
            entries += 1
        right = after[i]
        ids[i] = table.results[rows[i]]
        rows[right] = NO_VALUE
        ids[right] = -1
        after[i] = after[right]
        right = after[i]
        rows[i] = NO_VALUE
        if right < size:
            before[right] = i
            rows[i] = value_of(&table.rows, ids[i], ids[right])
            if rows[i] != NO_VALUE:
                sift_up(heap, entries, (<uint64_t>table.ranks[rows[i]] << 32) | <uint64_t>i)
                entries += 1
        left = before[i]
        if left >= 0:
            rows[left] = value_of(&table.rows, ids[left], ids[i])
            if rows[left] != NO_VALUE:
                sift_up(heap, entries, (<uint64_t>table.ranks[rows[left]] << 32) | <uint64_t>left)
                entries += 1
    k = 0
    for i in range(size):
        if ids[i] >= 0:
            ids[k] = ids[i]
            k += 1
    return k


cdef class MergeSegmenter(PretokenSegmenter):
    """Segmenter that joins the adjacent pair of the lowest rank, the leftmost first, until no pair has a rank.

    Args:
        merges: int32 [m, 3], (left id, right id, resulting id); the row is the rank. The first of equal pairs is used.
        byte_ids: int32 [256], id of each byte.
        joined: uint8 [65536], 1 at ``256 a + b`` if some token contains byte a followed by byte b, otherwise 0.
            Additional ones are harmless; missing ones are not.
        by_result: Whether the resulting id is the rank, so that all pairs of one result share it (default: False).
        derive: Whether to use :class:`tokbench.kernels.derivations.Derivations` if complete, with equal ids (default:
            True).

    Raises:
        ValueError: an argument has another shape, or a result that is a rank is negative.
    """

    def __init__(
        self,
        merges: NDArray[np.int32],
        byte_ids: NDArray[np.int32],
        joined: NDArray[np.uint8],
        by_result: bool = False,
        derive: bool = True,
    ):
        cdef int32_t[:, ::1] rows = np.array(merges, dtype=np.int32, order="C").reshape(-1, 3)
        cdef int32_t[::1] bytes_view = np.array(byte_ids, dtype=np.int32)
        cdef uint8_t[::1] joined_view = np.array(joined, dtype=np.uint8)
        cdef int32_t rank
        cdef Pair* pair
        cdef int32_t[:, ::1] pairs
        cdef int32_t[::1] results, ranks
        if bytes_view.shape[0] != 256 or joined_view.shape[0] != 65536:
            raise ValueError("byte_ids must have 256 entries and joined 65536")
        within(rows.shape[0], "merges")
        results = np.append(np.asarray(rows)[:, 2], 0).astype(np.int32)
        if by_result:
            if np.min(results) < 0:
                raise ValueError("a result that is a rank must not be below 0")
            results = np.arange(np.max(results) + 1, dtype=np.int32)
        ranks = np.arange(results.shape[0], dtype=np.int32)
        self.arrays = (results, ranks, bytes_view, joined_view)
        self.table.results, self.table.ranks = &results[0], &ranks[0]
        self.table.byte_ids = &bytes_view[0]
        self.table.joined = &joined_view[0]
        self.derivations = Derivations(rows, bytes_view, by_result) if derive else None
        if self.derivations is not None and self.derivations.complete:
            self.abreast = Abreast(self.derivations)
            return
        self.table.rows.shift = shift_for(rows.shape[0])
        pairs = np.full((<int64_t>1 << (64 - self.table.rows.shift), 3), [-1, -1, NO_VALUE], np.int32)
        self.arrays += (pairs,)
        self.table.rows.pairs = <Pair*>&pairs[0, 0]
        for rank in range(rows.shape[0] - 1, -1, -1):
            pair = slot_of(&self.table.rows, rows[rank, 0], rows[rank, 1])
            pair.left, pair.right = rows[rank, 0], rows[rank, 1]
            pair.value = rows[rank, 2] if by_result else rank

    cdef int64_t cut(self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch) except -1 nogil:
        if self.table.rows.pairs == NULL:
            return cut_derived(&self.derivations.view, text, size, ids, scratch)
        return self.replay(text, size, ids, scratch)

    cdef int64_t cut_all(self, Piece* pieces, int64_t n, int32_t* ids, Scratch* scratch) except -1 nogil:
        if self.table.rows.pairs != NULL or not self.abreast.complete:
            return PretokenSegmenter.cut_all(self, pieces, n, ids, scratch)
        return self.cut_abreast(pieces, n, ids, scratch)

    cdef int64_t cut_abreast(self, Piece* pieces, int64_t n, int32_t* ids, Scratch* scratch) except -1 nogil:
        cdef const AbreastView* view = &self.abreast.view
        cdef Lane[LANES] lanes
        cdef int64_t[LANES] which, starts       # of each lane: its piece, and the position of its ids
        cdef int64_t[LANES] order               # of lanes, busy ones first
        cdef int64_t k, lane, busy = 0, taken = 0, start = 0, written = 0
        for k in range(LANES):
            order[k] = k
        # Until all pieces are done, each has room for as many ids as bytes.
        while taken < n or busy:
            if taken < n and busy < LANES:
                if pieces[taken].size <= MOST_BYTES:
                    lane = order[busy]
                    busy += 1
                    begin(&lanes[lane], view, pieces[taken].text, pieces[taken].size)
                    which[lane], starts[lane] = taken, start
                else:
                    pieces[taken].count = self.cut(pieces[taken].text, pieces[taken].size, ids + start, scratch)
                start += pieces[taken].size
                taken += 1
                continue
            k = 0
            while k < busy:
                lane = order[k]
                if merge_once(&lanes[lane], view):
                    k += 1
                else:
                    pieces[which[lane]].count = write(&lanes[lane], view, ids + starts[lane])
                    busy -= 1
                    order[k], order[busy] = order[busy], lane
        start = 0
        for k in range(n):
            if start > written:
                memmove(ids + written, ids + start, pieces[k].count * sizeof(int32_t))
            written += pieces[k].count
            start += pieces[k].size
        return written

    cdef int64_t replay(self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch) except -1 nogil:
        """Segment by making one merge after the other."""
        cdef const MergeTable* table = &self.table
        cdef int64_t start = 0, end, written = 0, left
        while start < size:
            # Ids are merged in place: the write position of a piece never passes the read position in the text.
            ids[written] = table.byte_ids[text[start]]
            end = start + 1
            while end < size and table.joined[(<int32_t>text[end - 1] << 8) | text[end]]:
                ids[written + end - start] = table.byte_ids[text[end]]
                end += 1
            if end - start <= SHORT:
                left = merge_short(table, <int32_t>(end - start), &ids[written])
            else:
                left = merge_long(table, <int32_t>(end - start), &ids[written], scratch, 0, 0)
            written += left
            start = end
        return written
