# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# Words of a text in the merging trainers: linked symbols, and the numbers of their pairs.

from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from tokbench.kernels.huge cimport want_huge_pages
from tokbench.kernels.limits cimport next_number, within
from tokbench.kernels.pair_table cimport Pair, PairTable, shift_for, slot_of
from tokbench.kernels.prefetch cimport prefetch


cdef extern from *:
    """
    #include <vector>

    struct Numbers {        // numbers of pairs, in a table that grows
        PairTable table = {nullptr, 0};
        std::vector<Pair> memory;
    };

    static const int64_t AHEAD = 8;     // distance, in positions of a pair, between prefetch and use

    /* Prefetch a symbol that is needed soon; the symbols of a pair are scattered in memory. */
    template <class Symbol>
    static inline void fetch_symbol(const Symbol *symbols, const int32_t *positions, int64_t i, int64_t end) {
        if (i + 2 * AHEAD < end) TOKBENCH_PREFETCH(symbols + positions[i + 2 * AHEAD]);
    }

    /* Prefetch a symbol that is needed soon, and the pairs next to one that is needed sooner and was prefetched: a
       merge changes their counts. */
    template <class Symbol, class Known>
    static inline void fetch_ahead(
        const Symbol *symbols, const Known *pairs, int32_t merged, const int32_t *positions, int64_t i, int64_t end
    ) {
        fetch_symbol(symbols, positions, i, end);
        if (i + AHEAD >= end) return;
        const Symbol *first = symbols + positions[i + AHEAD];
        if (first->pair != merged) return;
        if (first->prev >= 0 && symbols[first->prev].pair >= 0) TOKBENCH_PREFETCH(pairs + symbols[first->prev].pair);
        if (symbols[first->next].pair >= 0) TOKBENCH_PREFETCH(pairs + symbols[first->next].pair);
    }
    """
    cppclass Numbers:
        PairTable table
        vector[Pair] memory

    void fetch_symbol[S](const S *symbols, const int32_t *positions, int64_t i, int64_t end) noexcept nogil
    void fetch_ahead[S, Known](
        const S *symbols, const Known *pairs, int32_t merged, const int32_t *positions, int64_t i, int64_t end
    ) noexcept nogil


cdef struct Symbol:
    int64_t weight      # count of the word
    int32_t id          # -1 for a symbol that is never merged, or was merged into one to the left
    int32_t pair        # pair of this symbol and the next; -1 for none
    int32_t prev        # position; -1 at the start of the word
    int32_t next        # position; -1 at the end of the word


cdef inline int lay_out(
    vector[Symbol] &symbols, const int32_t[::1] text, const int64_t[::1] offsets, const int64_t[::1] counts
) except -1 nogil:
    """Link the symbols of each word, without pairs."""
    cdef int64_t word, begin, end, i
    cdef Symbol *symbol
    within(text.shape[0], "positions")
    symbols.reserve(text.shape[0])
    want_huge_pages(symbols.data(), text.shape[0] * sizeof(Symbol))
    symbols.resize(text.shape[0])
    for word in range(counts.shape[0]):
        begin, end = offsets[word], offsets[word + 1]
        for i in range(begin, end):
            symbol = &symbols[i]
            symbol.weight, symbol.id, symbol.pair = counts[word], text[i], -1
            symbol.prev = <int32_t>(i - 1) if i > begin else -1
            symbol.next = <int32_t>(i + 1) if i + 1 < end else -1
    return 0


cdef inline int32_t swallow(Symbol *symbols, int32_t position, int32_t id) noexcept nogil:
    """Merge two symbols into one that starts no pair yet; return the position of the one after them, or -1."""
    cdef Symbol *first = symbols + position
    cdef Symbol *second = symbols + first.next
    cdef int32_t after = second.next
    second.id = second.pair = first.pair = -1
    first.id, first.next = id, after
    if after >= 0:
        symbols[after].prev = position
    return after


cdef inline int widen(Numbers &numbers) except -1 nogil:
    """Double the size of the table."""
    cdef vector[Pair] wider
    cdef Pair empty
    cdef size_t i
    empty.left = empty.right = -1
    empty.value = 0
    wider.resize(max(<size_t>1 << 10, 2 * numbers.memory.size()), empty)
    numbers.table.pairs, numbers.table.shift = wider.data(), shift_for(<int64_t>wider.size() // 2)
    numbers.memory.swap(wider)
    for i in range(wider.size()):
        if wider[i].left >= 0:
            slot_of(&numbers.table, wider[i].left, wider[i].right)[0] = wider[i]
    return 0


cdef inline int32_t number_of(Numbers &numbers, int32_t left, int32_t right, size_t known) except -1 nogil:
    """Return the number of a pair; a new pair gets the number ``known``."""
    cdef Pair *slot
    if 2 * (known + 1) > numbers.memory.size():
        widen(numbers)
    slot = slot_of(&numbers.table, left, right)
    if slot.left < 0:
        slot.value = next_number(known, "pairs")
        slot.left, slot.right = left, right
    return slot.value
