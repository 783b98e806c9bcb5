# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Segmentation by a history of merges and removals, in O(log n) per applied event in long pre-tokens.

Two bytes that are not adjacent in any token are never merged, so a pre-token is first split there into pieces. Each
position of a piece has its next event: the removal of its token, or the merge with the next one.

Reference: ``by_events`` in :mod:`tokbench.reference.segmentation`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from tokbench.kernels.limits cimport within
from tokbench.kernels.linked_tokens cimport Tokens, end_of_piece, set_due, start, take, write
from tokbench.kernels.pair_table cimport NO_VALUE, Pair, slot_of, shift_for, value_of
from tokbench.kernels.segmenter cimport PretokenSegmenter, Scratch
from tokbench.kernels.trie cimport Trie, TrieView, step, token_at

import numpy as np


cdef enum:
    NO_EVENT = NO_VALUE


cdef inline int32_t from_now(const EventTable* table, int32_t event, int32_t now) noexcept nogil:
    """Return the first equal event that is not before ``now``."""
    while event < now:
        event = table.same[event]
    return event


cdef inline void look(const EventTable* table, Tokens* tokens, int32_t at, int32_t now) noexcept nogil:
    """Find the next event from ``now`` on at a position whose token or neighbour has changed."""
    cdef int32_t right = tokens.after[at], due = from_now(table, table.splits[tokens.ids[at]], now)
    if right < tokens.size:
        due = min(due, from_now(table, value_of(&table.merges, tokens.ids[at], tokens.ids[right]), now))
    set_due(tokens, at, due)


cdef inline void merge_at(const EventTable* table, Tokens* tokens, int32_t at, int32_t event) noexcept nogil:
    """Replace two parts by the result of a merge."""
    cdef int32_t right = tokens.after[at]
    tokens.ids[at] = table.tokens[event]
    tokens.due[right] = NO_EVENT
    tokens.after[at] = tokens.after[right]
    if tokens.after[at] < tokens.size:
        tokens.before[tokens.after[at]] = at


cdef inline void split_at(const EventTable* table, Tokens* tokens, int32_t at, int32_t event) noexcept nogil:
    """Replace a removed token by its parts."""
    cdef int32_t end = tokens.after[at], previous = tokens.before[at], place = at
    cdef int64_t k
    for k in range(table.bounds[event], table.bounds[event + 1]):
        tokens.ids[place], tokens.before[place] = table.parts[k], previous
        tokens.due[place] = NO_EVENT
        previous = place
        place += table.lengths[table.parts[k]]
        tokens.after[previous] = place
    if end < tokens.size:
        tokens.before[end] = previous


cdef int64_t replay(
    const EventTable* table, const uint8_t* text, int32_t size, int32_t* ids, Scratch* scratch
) except -1 nogil:
    """Segment a piece; return the number of ids."""
    cdef Tokens tokens
    cdef int32_t at, end, event, last
    start(&tokens, text, size, table.byte_ids, scratch)
    for at in range(size):
        look(table, &tokens, at, 0)
    while True:
        at = take(&tokens)
        if at < 0:
            break
        event, end = tokens.due[at], tokens.after[at]
        tokens.due[at] = NO_EVENT
        if table.removes[event]:
            split_at(table, &tokens, at, event)
        else:
            merge_at(table, &tokens, at, event)
            end = tokens.after[at]
        last = at
        while last != end:
            look(table, &tokens, last, event)
            last = tokens.after[last]
        if tokens.before[at] >= 0:
            look(table, &tokens, tokens.before[at], event)
    return write(&tokens, ids)


cdef int check_ids(const int32_t[::1] ids, int64_t tokens) except -1:
    cdef int64_t i
    for i in range(ids.shape[0]):
        if not 0 <= ids[i] < tokens:
            raise ValueError(f"id {ids[i]} is not one of {tokens} tokens")
    return 0


cdef int check_parts(
    const int32_t[::1] byte_ids, const int32_t[::1] tokens, const uint8_t[::1] removes, const int64_t[::1] bounds,
    const int32_t[::1] parts, const int32_t[::1] lengths,
) except -1:
    """Reject events that would write past a piece or never end."""
    cdef int64_t event, k, length, end = 0
    check_ids(byte_ids, lengths.shape[0])
    check_ids(tokens, lengths.shape[0])
    check_ids(parts, lengths.shape[0])
    for k in range(lengths.shape[0]):
        if lengths[k] < 1:
            raise ValueError(f"token {k} has {lengths[k]} bytes")
    for k in range(byte_ids.shape[0]):
        if lengths[byte_ids[k]] != 1:
            raise ValueError(f"token {byte_ids[k]} is not a byte")
    for event in range(tokens.shape[0]):
        if bounds[event] != end or not end + 2 <= bounds[event + 1] <= parts.shape[0]:
            raise ValueError(f"event {event} has fewer than two parts, or those of another")
        if not removes[event] and bounds[event + 1] != end + 2:
            raise ValueError(f"event {event} merges other than two parts")
        length = 0
        for k in range(end, bounds[event + 1]):
            length += lengths[parts[k]]
        if length != lengths[tokens[event]]:
            raise ValueError(f"the parts of event {event} are not as long as its token")
        end = bounds[event + 1]
    return 0


cdef class EventSegmenter(PretokenSegmenter):
    """Segmenter that replays every event in order, each at every match from left to right.

    Args:
        whole: Trie of the pre-tokens that are not split.
        byte_ids: int32 [256], id of each byte.
        tokens: int32 [e], token made or removed by each event.
        removes: bool [e], whether the event is a removal.
        bounds: int64 [e + 1], start of each event's parts.
        parts: int32, ids of the parts, two for a merge; together they have the bytes of the token.
        lengths: int32, length in bytes of every token, including removed ones.
        joined: uint8 [65536], 1 at ``256 a + b`` if some token contains byte a followed by byte b, otherwise 0.
            Additional ones are harmless; missing ones are not.

    Raises:
        ValueError: an array has another length, an id is unknown, or the lengths of the parts do not add up to the
            token's.
        OverflowError: there are 2^31 events or more.
    """

    def __init__(
        self,
        Trie whole not None,
        byte_ids: NDArray[np.int32],
        tokens: NDArray[np.int32],
        removes: NDArray[np.uint8],
        bounds: NDArray[np.int64],
        parts: NDArray[np.int32],
        lengths: NDArray[np.int32],
        joined: NDArray[np.uint8],
    ):
        cdef int32_t[::1] bytes_view = np.array(byte_ids, dtype=np.int32)
        cdef int32_t[::1] tokens_view = np.append(tokens, 0).astype(np.int32)
        cdef uint8_t[::1] removes_view = np.append(removes, 0).astype(np.uint8)
        cdef int64_t[::1] bounds_view = np.array(bounds, dtype=np.int64)
        cdef int32_t[::1] parts_view = np.append(parts, 0).astype(np.int32)
        cdef int32_t[::1] lengths_view = np.array(lengths, dtype=np.int32)
        cdef uint8_t[::1] joined_view = np.array(joined, dtype=np.uint8)
        within(tokens_view.shape[0], "events")
        cdef int32_t events = <int32_t>(tokens_view.shape[0] - 1), event, left, right
        cdef int32_t[::1] splits = np.full(len(lengths), NO_EVENT, np.int32)
        cdef int32_t[::1] same = np.full(events + 1, NO_EVENT, np.int32)
        cdef int32_t[:, ::1] pairs
        cdef Pair* pair
        if bytes_view.shape[0] != 256 or joined_view.shape[0] != 65536:
            raise ValueError("byte_ids must have 256 entries and joined 65536")
        if removes_view.shape[0] != events + 1 or bounds_view.shape[0] != events + 1:
            raise ValueError("removes must have as many entries as tokens, and bounds one more")
        check_parts(bytes_view, tokens_view[:events], removes_view, bounds_view, parts_view[:len(parts)], lengths_view)
        self.table.merges.shift = shift_for(events)
        pairs = np.full((<int64_t>1 << (64 - self.table.merges.shift), 3), [-1, -1, NO_EVENT], np.int32)
        self.table.merges.pairs = <Pair*>&pairs[0, 0]
        for event in range(events - 1, -1, -1):
            if removes_view[event]:
                same[event] = splits[tokens_view[event]]
                splits[tokens_view[event]] = event
                continue
            left, right = parts_view[bounds_view[event]], parts_view[bounds_view[event] + 1]
            pair = slot_of(&self.table.merges, left, right)
            same[event] = pair.value
            pair.left, pair.right, pair.value = left, right, event
        self.whole = whole
        self.arrays = [pairs, splits, same, bytes_view, joined_view]
        self.arrays += [tokens_view, removes_view, bounds_view, parts_view, lengths_view]
        self.table.splits, self.table.same = &splits[0], &same[0]
        self.table.tokens, self.table.removes = &tokens_view[0], &removes_view[0]
        self.table.bounds, self.table.parts = &bounds_view[0], &parts_view[0]
        self.table.lengths = &lengths_view[0]
        self.table.byte_ids, self.table.joined = &bytes_view[0], &joined_view[0]

    cdef int64_t cut(self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch) except -1 nogil:
        cdef const EventTable* table = &self.table
        cdef const TrieView* trie = &self.whole.view
        cdef int64_t first = 0, end = 0, written = 0
        cdef int32_t node = 0
        while end < size and node >= 0:
            node = step(trie, node, text[end])
            end += 1
        if node >= 0 and token_at(trie, node) >= 0:
            ids[0] = token_at(trie, node)
            return 1
        while first < size:
            end = end_of_piece(table.joined, text, first, size)
            written += replay(table, &text[first], <int32_t>(end - first), &ids[written], scratch)
            first = end
        return written
