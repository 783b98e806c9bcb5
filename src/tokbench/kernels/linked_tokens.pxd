# Tokens of a text that are merged and split in order of rank, linked by the positions of their first bytes.
#
# Each position has the rank of the merge or split that is due there. The lowest is found by scanning in short texts, and
# in long ones from a heap of (rank, position). Outdated entries are recognised when they are popped. A full heap is
# rebuilt, as each position has at most one valid entry.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from tokbench.kernels.heap cimport sift_down, sift_up
from tokbench.kernels.pair_table cimport NO_VALUE
from tokbench.kernels.segmenter cimport Scratch, reserve


cdef enum:
    SHORT = 64              # longest text without a heap, in bytes
    ROOM = 2                # entries of the heap per byte of a text


cdef struct Tokens:
    int32_t size            # in bytes
    int32_t* ids
    int32_t* before         # position of the token before; -1 at the start
    int32_t* after          # position of the token after; ``size`` at the end
    int32_t* due            # lowest rank at a position, or NO_VALUE
    uint64_t* heap          # rank << 32 | position; NULL for short texts
    int64_t entries


cdef inline int start(
    Tokens* tokens, const uint8_t* text, int32_t size, const int32_t* byte_ids, Scratch* scratch
) except -1 nogil:
    """Set the bytes of a text as its tokens, with nothing due."""
    cdef size_t room = 4 * sizeof(int32_t) if size <= SHORT else 4 * sizeof(int32_t) + ROOM * sizeof(uint64_t)
    cdef char* memory = <char*>reserve(scratch, size * room)
    cdef int32_t at
    tokens.size, tokens.entries = size, 0
    tokens.heap = NULL if size <= SHORT else <uint64_t*>memory
    tokens.ids = <int32_t*>(memory if size <= SHORT else memory + size * ROOM * sizeof(uint64_t))
    tokens.before = tokens.ids + size
    tokens.after = tokens.before + size
    tokens.due = tokens.after + size
    for at in range(size):
        tokens.ids[at], tokens.due[at] = byte_ids[text[at]], NO_VALUE
        tokens.before[at], tokens.after[at] = at - 1, at + 1
    return 0


cdef inline int64_t write(const Tokens* tokens, int32_t* ids) noexcept nogil:
    """Write the ids of the tokens; return their number."""
    cdef int64_t written = 0
    cdef int32_t at = 0
    while at < tokens.size:
        ids[written] = tokens.ids[at]
        written += 1
        at = tokens.after[at]
    return written


cdef inline void rebuild(Tokens* tokens) noexcept nogil:
    """Rebuild the heap from the valid entries."""
    cdef int32_t at = 0
    cdef int64_t k
    tokens.entries = 0
    while at < tokens.size:
        if tokens.due[at] != NO_VALUE:
            tokens.heap[tokens.entries] = (<uint64_t>tokens.due[at] << 32) | <uint64_t>at
            tokens.entries += 1
        at = tokens.after[at]
    for k in range(tokens.entries // 2 - 1, -1, -1):
        sift_down(tokens.heap, tokens.entries, k, tokens.heap[k])


cdef inline void set_due(Tokens* tokens, int32_t at, int32_t rank) noexcept nogil:
    """Set the rank that is due at a position."""
    tokens.due[at] = rank
    if tokens.heap == NULL or rank == NO_VALUE:
        return
    if tokens.entries == ROOM * <int64_t>tokens.size:
        rebuild(tokens)
        return
    sift_up(tokens.heap, tokens.entries, (<uint64_t>rank << 32) | <uint64_t>at)
    tokens.entries += 1


cdef inline int32_t take(Tokens* tokens) noexcept nogil:
    """Return the leftmost position of the lowest rank; -1 if there is none."""
    cdef int32_t i, best = -1, lowest = NO_VALUE
    cdef uint64_t top
    if tokens.heap == NULL:
        for i in range(tokens.size):
            if tokens.due[i] < lowest:
                best, lowest = i, tokens.due[i]
        return best
    while tokens.entries:
        top = tokens.heap[0]
        tokens.entries -= 1
        if tokens.entries:
            sift_down(tokens.heap, tokens.entries, 0, tokens.heap[tokens.entries])
        if tokens.due[<uint32_t>top] == <int32_t>(top >> 32):
            return <int32_t><uint32_t>top
    return -1


cdef inline int64_t end_of_piece(const uint8_t* joined, const uint8_t* text, int64_t start, int64_t size) noexcept nogil:
    """Return the end of the piece from ``start`` on: the next two bytes that are not adjacent in any token.

    Args:
        joined: [65536], 1 at ``256 a + b`` if some token contains byte a followed by byte b.
    """
    cdef int64_t end = start + 1
    while end < size and joined[(<int32_t>text[end - 1] << 8) | text[end]]:
        end += 1
    return end
