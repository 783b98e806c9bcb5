# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: extra_compile_args = -O3
"""Segmentation by a history of merges and removals, in O(n log n) for a pre-token of any length.

Bytes that stand side by side in no token can never be merged across, so a pre-token falls apart there. A piece is a
list of tokens linked by the positions of their first bytes, with a heap of (event, position); entries that a
neighbour's event has overtaken are recognised when they come up. A list has at most two live entries a position, so a
heap that is full is made anew from those.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from tokbench.kernels.segmenter cimport PretokenSegmenter, Scratch, reserve
from tokbench.kernels.trie cimport Trie, TrieView, step, token_at

import numpy as np


cdef enum:
    NO_EVENT = -1
    ROOM = 4        # heap entries for each byte of a piece; more than twice the live ones


cdef struct Piece:
    int32_t* ids
    int32_t* before     # position of the token before, -1 at the start
    int32_t* after      # position of the token after, ``size`` at the end
    int32_t* merges     # event that merges the token here with the next one, or NO_EVENT
    int32_t* splits     # event that removes the token here, or NO_EVENT
    uint64_t* heap      # event << 32 | position
    int64_t entries
    int32_t size        # in bytes


cdef inline uint64_t place_of(int32_t left, int32_t right, int32_t shift) noexcept nogil:
    """Fibonacci hashing of a pair."""
    return (((<uint64_t>left << 32) | <uint64_t>right) * <uint64_t>0x9E3779B97F4A7C15) >> shift


cdef inline int32_t merge_of(const EventTable* table, int32_t left, int32_t right, int32_t now) noexcept nogil:
    """The first event from ``now`` on that merges two neighbours."""
    cdef uint64_t mask = ((<uint64_t>1) << (64 - table.shift)) - 1
    cdef uint64_t place = place_of(left, right, table.shift)
    cdef const Pair* pair
    cdef int32_t event
    while True:
        pair = &table.pairs[place]
        if pair.left < 0:
            return NO_EVENT
        if pair.left == left and pair.right == right:
            break
        place = (place + 1) & mask
    event = pair.event
    while event != NO_EVENT and event < now:
        event = table.same[event]
    return event


cdef inline int32_t split_of(const EventTable* table, int32_t token, int32_t now) noexcept nogil:
    """The first event from ``now`` on that removes a token."""
    cdef int32_t event = table.splits[token]
    while event != NO_EVENT and event < now:
        event = table.same[event]
    return event


cdef void sift_down(uint64_t* heap, int64_t size, int64_t hole, uint64_t entry) noexcept nogil:
    """Put ``entry`` where it belongs at or below ``hole``."""
    cdef int64_t child
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if entry <= heap[child]:
            break
        heap[hole] = heap[child]
        hole = child
    heap[hole] = entry


cdef void renew(Piece* piece) noexcept nogil:
    """Make the heap anew from the live entries."""
    cdef int32_t at = 0
    cdef int64_t k
    piece.entries = 0
    while at < piece.size:
        if piece.merges[at] != NO_EVENT:
            piece.heap[piece.entries] = <uint64_t>piece.merges[at] << 32 | <uint64_t>at
            piece.entries += 1
        if piece.splits[at] != NO_EVENT:
            piece.heap[piece.entries] = <uint64_t>piece.splits[at] << 32 | <uint64_t>at
            piece.entries += 1
        at = piece.after[at]
    for k in range(piece.entries // 2 - 1, -1, -1):
        sift_down(piece.heap, piece.entries, k, piece.heap[k])


cdef inline void push(Piece* piece, int32_t event, int32_t at) noexcept nogil:
    """Queue an event that the piece already shows as live."""
    cdef uint64_t entry = <uint64_t>event << 32 | <uint64_t>at
    cdef int64_t hole = piece.entries, above
    if event == NO_EVENT:
        return
    if hole == ROOM * <int64_t>piece.size:
        renew(piece)
        return
    piece.entries += 1
    while hole:
        above = (hole - 1) // 2
        if piece.heap[above] <= entry:
            break
        piece.heap[hole] = piece.heap[above]
        hole = above
    piece.heap[hole] = entry


cdef inline void look_after(const EventTable* table, Piece* piece, int32_t at, int32_t now) noexcept nogil:
    """Find the merge of the token at a position with the next one."""
    cdef int32_t right = piece.after[at]
    piece.merges[at] = NO_EVENT
    if right < piece.size:
        piece.merges[at] = merge_of(table, piece.ids[at], piece.ids[right], now)
        push(piece, piece.merges[at], at)


cdef inline void put(const EventTable* table, Piece* piece, int32_t at, int32_t token, int32_t now) noexcept nogil:
    """Put a token, already linked, at a position."""
    piece.ids[at] = token
    piece.merges[at] = NO_EVENT
    piece.splits[at] = split_of(table, token, now)
    push(piece, piece.splits[at], at)


cdef void split_at(const EventTable* table, Piece* piece, int32_t at, int32_t event) noexcept nogil:
    """Put the parts of a removed token in its place."""
    cdef int32_t end = piece.after[at], now = event if table.ordered else 0, previous = piece.before[at], next
    cdef int64_t k, length
    cdef int32_t place = at
    # Links first: a full heap is made anew by following them.
    for k in range(table.bounds[event], table.bounds[event + 1]):
        length = table.offsets[table.parts[k] + 1] - table.offsets[table.parts[k]]
        next = place + <int32_t>length
        piece.ids[place] = table.parts[k]
        piece.before[place], piece.after[place] = previous, next
        piece.merges[place] = piece.splits[place] = NO_EVENT
        previous, place = place, next
    if end < piece.size:
        piece.before[end] = previous
    place = at
    while place != end:
        put(table, piece, place, piece.ids[place], now)
        place = piece.after[place]
    place = at
    while place != end:
        look_after(table, piece, place, now)
        place = piece.after[place]
    if piece.before[at] >= 0:
        look_after(table, piece, piece.before[at], now)


cdef void merge_at(const EventTable* table, Piece* piece, int32_t at, int32_t event) noexcept nogil:
    """Put the result of a merge in the place of its two parts."""
    cdef int32_t right = piece.after[at], now = event if table.ordered else 0
    piece.after[at] = piece.after[right]
    if piece.after[at] < piece.size:
        piece.before[piece.after[at]] = at
    piece.merges[right] = piece.splits[right] = NO_EVENT
    put(table, piece, at, table.made[2 * event], now)
    look_after(table, piece, at, now)
    if piece.before[at] >= 0:
        look_after(table, piece, piece.before[at], now)


cdef int64_t replay(
    const EventTable* table, int32_t* atoms, int64_t count, int64_t size, int32_t* ids, Scratch* scratch
) noexcept nogil:
    """Cut a piece of ``size`` bytes in ``count`` symbols; returns the number of ids, -1 without memory.

    ``ids`` may overlap ``atoms`` where it does not start after them.
    """
    cdef Piece piece
    cdef int32_t at = 0, next, event
    cdef int64_t k, written = 0
    cdef uint64_t top
    if count == 1:
        ids[0] = atoms[0]
        return 1
    piece.heap = <uint64_t*>reserve(scratch, size * (ROOM * sizeof(uint64_t) + 5 * sizeof(int32_t)))
    if piece.heap == NULL:
        return -1
    piece.ids = <int32_t*>(piece.heap + ROOM * size)
    piece.before = piece.ids + size
    piece.after = piece.before + size
    piece.merges = piece.after + size
    piece.splits = piece.merges + size
    piece.size = <int32_t>size
    next = -1
    for k in range(count):
        piece.ids[at], piece.before[at], piece.splits[at] = atoms[k], next, NO_EVENT
        piece.after[at] = at + <int32_t>(table.offsets[atoms[k] + 1] - table.offsets[atoms[k]])
        next, at = at, piece.after[at]
        piece.merges[next] = merge_of(table, atoms[k], atoms[k + 1], 0) if k + 1 < count else NO_EVENT
    renew(&piece)
    while piece.entries:
        top = piece.heap[0]
        piece.entries -= 1
        if piece.entries:
            sift_down(piece.heap, piece.entries, 0, piece.heap[piece.entries])
        at, event = <int32_t><uint32_t>top, <int32_t>(top >> 32)
        if piece.merges[at] == event:
            merge_at(table, &piece, at, event)
        elif piece.splits[at] == event:
            split_at(table, &piece, at, event)
    at = 0
    while at < piece.size:
        ids[written] = piece.ids[at]
        written += 1
        at = piece.after[at]
    return written


cdef class EventSegmenter(PretokenSegmenter):
    """Repeatedly does the earliest event that applies, at the leftmost place where it applies.

    Args:
        whole: pre-tokens that are left whole; None for none.
        atoms: the alphabet, all 256 bytes included; a pre-token is first cut by longest match from the left.
        made: int32 [e, 2], the token of each event and 1 where it is removed, 0 where it is made.
        bounds: int64 [e + 1], where each event's parts start.
        parts: int32, token ids; two for a merge.
        joined: uint8 [65536], 1 at ``256 a + b`` where some token holds byte a followed by byte b, else 0; may be 1
            too often, never too seldom.
        ordered: whether an event may follow only earlier ones, so that all are done in their order. Otherwise events
            must all be merges, each pair once.
        offsets: int64 [tokens + 1], where each token starts when they are laid end to end.
    """

    def __init__(
        self, Trie whole, Trie atoms not None, made, bounds, parts, joined, bint ordered, offsets
    ):
        cdef int32_t[:, ::1] rows = np.array(made, dtype=np.int32, order="C").reshape(-1, 2)
        cdef int64_t[::1] bounds_view = np.array(bounds, dtype=np.int64)
        cdef int32_t[::1] parts_view = np.append(parts, 0).astype(np.int32)
        cdef uint8_t[::1] joined_view = np.array(joined, dtype=np.uint8)
        cdef int64_t[::1] offsets_view = np.array(offsets, dtype=np.int64)
        cdef Py_ssize_t events = rows.shape[0], event
        cdef int32_t[::1] splits = np.full(len(offsets) - 1, NO_EVENT, np.int32)
        cdef int32_t[::1] same = np.full(events + 1, NO_EVENT, np.int32)
        cdef int32_t[::1] flat = np.append(np.asarray(rows).reshape(-1), 0).astype(np.int32)
        cdef uint8_t[::1] memory
        cdef int32_t places = 2, left, right
        cdef uint64_t place, mask
        cdef Pair* pairs
        while (1 << places) < 2 * events:
            places += 1
        memory = np.full((1 << places) * sizeof(Pair), 255, dtype=np.uint8)
        pairs = <Pair*>&memory[0]
        mask = (<uint64_t>1 << places) - 1
        for event in range(events - 1, -1, -1):
            if rows[event, 1]:
                same[event] = splits[rows[event, 0]]
                splits[rows[event, 0]] = <int32_t>event
                continue
            left, right = parts_view[bounds_view[event]], parts_view[bounds_view[event] + 1]
            place = place_of(left, right, 64 - places)
            while pairs[place].left >= 0 and not (pairs[place].left == left and pairs[place].right == right):
                place = (place + 1) & mask
            same[event] = pairs[place].event if pairs[place].left >= 0 else NO_EVENT
            pairs[place].left, pairs[place].right, pairs[place].event = left, right, <int32_t>event
        self.whole, self.atoms = whole, atoms
        self.arrays = (memory, splits, same, flat, bounds_view, parts_view, offsets_view, joined_view)
        self.table.pairs, self.table.shift = pairs, 64 - places
        self.table.splits, self.table.same, self.table.made = &splits[0], &same[0], &flat[0]
        self.table.bounds, self.table.parts = &bounds_view[0], &parts_view[0]
        self.table.offsets = &offsets_view[0]
        self.table.joined, self.table.ordered = &joined_view[0], ordered

    cdef int64_t cut(self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch) noexcept nogil:
        cdef const EventTable* table = &self.table
        cdef const TrieView* trie = &self.atoms.view
        cdef int64_t start = 0, end = 0, first = 0, atoms = 0, written = 0, left, i, begun
        cdef int32_t node, token
        if self.whole is not None:
            node = 0
            for i in range(size):
                node = step(&self.whole.view, node, text[i])
                if node < 0:
                    break
            if node > 0 and token_at(&self.whole.view, node) >= 0:
                ids[0] = token_at(&self.whole.view, node)
                return 1
        # Symbols are cut and replayed where ids are written: what is left of a piece never outruns what is read.
        while start < size:
            atoms, begun = 0, start
            while start < size:
                node, end = 0, start + 1
                for i in range(start, size):
                    node = step(trie, node, text[i])
                    if node < 0:
                        break
                    token = token_at(trie, node)
                    if token >= 0:
                        ids[written + atoms] = token
                        end = i + 1
                atoms, start = atoms + 1, end
                if start < size and not table.joined[(<int32_t>text[start - 1] << 8) | text[start]]:
                    break
            left = replay(table, &ids[written], atoms, start - begun, &ids[written], scratch)
            if left < 0:
                return -1
            written += left
        return written


cdef class PostRemovalSegmenter(PretokenSegmenter):
    """Cuts with another segmenter, then puts other tokens in the place of some.

    Args:
        merger: what cuts first.
        present: ids below this stay.
        bounds: int64 [removed + 1], where the tokens that take the place of id ``present + i`` start.
        parts: int32, token ids; as many for an id as it has bytes at most.
    """

    def __init__(self, EventSegmenter merger not None, int32_t present, bounds, parts):
        self.merger, self.present = merger, present
        self.bounds = np.array(bounds, dtype=np.int64)
        self.parts = np.array(parts, dtype=np.int32)

    cdef int64_t cut(self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch) noexcept nogil:
        cdef int64_t count = self.merger.cut(text, size, ids, scratch), total = count, i, k, place
        cdef int32_t removed
        if count < 0:
            return -1
        for i in range(count):
            removed = ids[i] - self.present
            if removed >= 0:
                total += self.bounds[removed + 1] - self.bounds[removed] - 1
        place = total
        for i in range(count - 1, -1, -1):
            removed = ids[i] - self.present
            if removed < 0:
                place -= 1
                ids[place] = ids[i]
            else:
                for k in range(self.bounds[removed + 1] - 1, self.bounds[removed] - 1, -1):
                    place -= 1
                    ids[place] = self.parts[k]
        return total
