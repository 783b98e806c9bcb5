# What a group of substrings joins, and a binary heap of groups with the foremost on top.

from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from tokbench.kernels.prefetch cimport prefetch


cdef struct Entry:
    int64_t gain
    int32_t length
    int32_t group


cdef struct Evaluation:
    Entry bound     # no less than what the group can join from now on
    Entry exact


cdef inline bint precedes(Entry one, Entry other) noexcept nogil:
    """Order of choice: the greater gain, the shorter substring, the lesser bytes."""
    if one.gain != other.gain:
        return one.gain > other.gain
    return one.group < other.group if one.length == other.length else one.length < other.length


cdef inline void sift_down(vector[Entry]& heap, size_t hole, Entry entry) noexcept nogil:
    """Put ``entry`` where it belongs at or below ``hole``."""
    cdef size_t child
    while True:
        child = 2 * hole + 1
        if child >= heap.size():
            break
        if 2 * child + 1 < heap.size():
            prefetch(&heap[2 * child + 1])      # its children, and those of the other
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
