# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# Pairs whose counts rise and fall, with every position they ever had, and a queue of pairs.
#
# Each symbol links to the pair it starts, which separates live positions from stale ones. The queue is lazy: falling
# counts are updated at the top of the queue. Rising counts are queued again, and the outdated entry is dropped at the
# top.

from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp.vector cimport vector

from tokbench.kernels.queue cimport Key, Untold, push, take_out
from tokbench.kernels.symbols cimport Numbers, Symbol, number_of


cdef extern from *:
    """
    struct Counted {
        int64_t count;          // occurrences, including overlapping ones
        int64_t queued;         // count of its valid entry in the queue; 0 if there is none
        uint64_t order;         // ranks of the left and of the right symbol
        int32_t left, right;
    };

    struct CountedPairs {
        std::vector<Counted> pairs;
        std::vector<std::vector<int32_t>> places;   // per pair, including stale ones
        Numbers numbers;
        std::vector<int32_t> raised;                // pairs whose counts rose since they were last queued
        std::vector<Key> queue;
    };
    """
    struct Counted:
        int64_t count
        int64_t queued
        uint64_t order
        int32_t left
        int32_t right

    cppclass CountedPairs:
        vector[Counted] pairs
        vector[vector[int32_t]] places
        Numbers numbers
        vector[int32_t] raised
        vector[Key] queue


cdef inline int join_up(
    CountedPairs &held, Symbol *symbols, int32_t position, const vector[int64_t] &ranks
) except -1 nogil:
    """Count the pair that starts at a position, if both of its symbols can be merged."""
    cdef Symbol *symbol = symbols + position
    cdef int32_t left = symbol.id, right = symbols[symbol.next].id, number
    cdef Counted pair
    if left < 0 or right < 0:
        return 0
    number = number_of(held.numbers, left, right, held.pairs.size())
    if number == <int64_t>held.pairs.size():
        pair.count, pair.queued, pair.left, pair.right = 0, 0, left, right
        pair.order = <uint64_t>ranks[left] << 32 | <uint64_t>ranks[right]
        held.pairs.push_back(pair)
        held.places.resize(held.pairs.size())
    symbol.pair = number
    held.places[number].push_back(position)
    held.pairs[number].count += symbol.weight
    held.raised.push_back(number)
    return 0


cdef inline void break_up(CountedPairs &held, Symbol *symbol) noexcept nogil:
    """Remove the pair that a symbol starts from the counts."""
    if symbol.pair >= 0:
        held.pairs[symbol.pair].count -= symbol.weight
        symbol.pair = -1


cdef inline int enqueue(CountedPairs &held, int32_t number) except -1 nogil:
    """Queue a pair with its current count; any earlier entry becomes outdated."""
    cdef Counted *pair = &held.pairs[number]
    cdef Untold untold
    cdef Key key
    pair.queued = pair.count
    key.count, key.order, key.pair = pair.count, pair.order, number
    push(held.queue, key, untold)
    return 0


cdef inline int enqueue_raised(CountedPairs &held) except -1 nogil:
    """Queue the pairs whose counts exceed those of their entries."""
    cdef size_t i
    for i in range(held.raised.size()):
        if held.pairs[held.raised[i]].count > held.pairs[held.raised[i]].queued:
            enqueue(held, held.raised[i])
    held.raised.clear()
    return 0


cdef inline int32_t take_foremost(CountedPairs &held) except -2 nogil:
    """Remove the first pair from the queue and return it; -1 if there is none."""
    cdef Untold untold
    cdef Counted *pair
    cdef Key top
    while not held.queue.empty():
        top = held.queue[0]
        take_out(held.queue, 0, untold)
        pair = &held.pairs[top.pair]
        if top.count != pair.queued:
            continue
        pair.queued = 0
        if top.count == pair.count:
            return top.pair
        if pair.count > 0:
            enqueue(held, top.pair)
    return -1
