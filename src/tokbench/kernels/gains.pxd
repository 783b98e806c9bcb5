# Gains of groups of substrings, and a binary heap of groups with the best one first.

from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from tokbench.kernels.prefetch cimport prefetch


cdef struct Entry:
    int64_t gain
    int32_t length
    int32_t group


cdef struct Evaluation:
    Entry bound     # upper bound on the gains of the group from now on
    Entry exact


cdef inline bint precedes(Entry one, Entry other) noexcept nogil:
    """Order of choice: greater gain, then shorter substring, then lesser bytes."""
    if one.gain != other.gain:
        return one.gain > other.gain
    return one.group < other.group if one.length == other.length else one.length < other.length


cdef inline void sift_down(vector[Entry]& heap, size_t hole, Entry entry) noexcept nogil:
    """Insert ``entry`` at or below ``hole``."""
    cdef size_t child
    while True:
        child = 2 * hole + 1
        if child >= heap.size():
            break
        if 2 * child + 1 < heap.size():
            prefetch(&heap[2 * child + 1])      # the children of both
        if child + 1 < heap.size() and precedes(heap[child + 1], heap[child]):
            child += 1
        if precedes(entry, heap[child]):
            break
        heap[hole] = heap[child]
        hole = child
    heap[hole] = entry


cdef inline int push(vector[Entry]& heap, Entry entry) except -1 nogil:
    cdef size_t hole = heap.size(), above
    heap.push_back(entry)
    while hole > 0:
        above = (hole - 1) // 2
        if precedes(heap[above], entry):
            break
        heap[hole] = heap[above]
        hole = above
    heap[hole] = entry
    return 0


cdef inline Entry pop(vector[Entry]& heap) noexcept nogil:
    cdef Entry top = heap[0], last = heap.back()
    heap.pop_back()
    if heap.size() > 0:
        sift_down(heap, 0, last)
    return top
