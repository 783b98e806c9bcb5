# A binary min-heap of 64-bit keys in a caller-owned array.

from libc.stdint cimport int64_t, uint64_t


cdef inline void sift_down(uint64_t* heap, int64_t size, int64_t hole, uint64_t entry) noexcept nogil:
    """Insert ``entry`` at or below ``hole``."""
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


cdef inline void sift_up(uint64_t* heap, int64_t hole, uint64_t entry) noexcept nogil:
    """Insert ``entry`` at or above ``hole``."""
    cdef int64_t above
    while hole:
        above = (hole - 1) // 2
        if heap[above] <= entry:
            break
        heap[hole] = heap[above]
        hole = above
    heap[hole] = entry
