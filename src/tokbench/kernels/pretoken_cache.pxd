# The hash table of cached pre-tokens and their ids (see ``pretoken_key``).
#
# A slot is half a cache line with up to three ids, and is read and written at once. Longer segmentations, and the bytes
# of pre-tokens longer than a key, are in arenas. A full table drops half of its pre-tokens, chosen by a bit of their
# hashes, so that a text which recurs still finds the other half.

from cpython.mem cimport PyMem_RawFree
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp
from libcpp.vector cimport vector

from tokbench.kernels.huge cimport zeroed
from tokbench.kernels.pretoken_key cimport INLINE, Key, hash_of


cdef enum:
    FEW = 3                     # maximum number of ids in a slot
    ELSEWHERE = FEW + 1
    AT_ONCE = FEW + 1           # int32 values written per slot, including its last field
    HALVINGS = 16               # low bits of a hash, used in turn to drop pre-tokens; slots depend on the high bits


cdef struct Slot:
    Key key
    int32_t[3] ids      # or: start of the ids in their arena, start of the bytes in theirs, and number of ids
    int32_t tokens      # 0 if the slot is free, ELSEWHERE if the ids are in the arena


cdef struct Table:
    # A hash table with linear probing, at most half full.
    Slot* slots
    void* owned
    int64_t size        # slots, a power of two
    uint64_t mask
    int shift           # 64 less the binary logarithm of the size
    int64_t used


cdef inline int open_table(Table* table, int bits) except -1 nogil:
    """Allocate an empty table of 2^bits slots."""
    table.slots = <Slot*>zeroed((<int64_t>1 << bits) * sizeof(Slot), &table.owned)
    table.size = <int64_t>1 << bits
    table.mask = table.size - 1
    table.shift = 64 - bits
    table.used = 0
    return 0


cdef inline Slot* slot_in(
    const Table* table, const vector[uint8_t]* arena, const Key* key, uint64_t place, const uint8_t* text, int64_t length
) noexcept nogil:
    """Return the slot of a cached pre-token, or the free slot where it would be stored."""
    cdef Slot* slot = &table.slots[place]
    while slot.tokens and not (
        slot.key.low == key.low
        and slot.key.high == key.high
        and (length <= INLINE or memcmp(arena.data() + slot.ids[1], text, length) == 0)
    ):
        place = (place + 1) & table.mask
        slot = &table.slots[place]
    return slot


cdef inline void put(Table* table, const Slot* slot) noexcept nogil:
    """Copy a slot into a table that does not have its pre-token."""
    cdef uint64_t place = hash_of(slot.key) >> table.shift
    while table.slots[place].tokens:
        place = (place + 1) & table.mask
    table.slots[place] = slot[0]
    table.used += 1


cdef inline int64_t size_of(Key key) noexcept nogil:
    """Return the number of bytes of a key's pre-token."""
    cdef int64_t size = <int64_t>(key.high >> 56)
    return size if size <= INLINE else <int64_t>(key.high & (<uint64_t>(-1) >> 8))


cdef inline int widen(Table* table, int64_t slots) except -1 nogil:
    """Grow a table to at least ``slots`` slots."""
    cdef Table wider
    cdef int64_t i
    cdef int bits = 64 - table.shift
    if slots <= table.size:
        return 0
    while <int64_t>1 << bits < slots:
        bits += 1
    open_table(&wider, bits)
    for i in range(table.size if table.used else 0):
        if table.slots[i].tokens:
            put(&wider, &table.slots[i])
    PyMem_RawFree(table.owned)
    table[0] = wider
    return 0


cdef inline int halve(Table* table, vector[uint8_t]& arena, vector[int32_t]& id_arena, int bit) except -1 nogil:
    """Keep the pre-tokens whose hash has a bit set, from the lowest, 0 to HALVINGS - 1."""
    cdef Table half
    cdef vector[uint8_t] data
    cdef vector[int32_t] ids
    cdef Slot slot
    cdef int64_t i, start
    open_table(&half, 64 - table.shift)
    try:
        data.reserve(arena.size() // 2)
        ids.reserve(id_arena.size() // 2)
        for i in range(table.size):
            slot = table.slots[i]
            if not slot.tokens or not hash_of(slot.key) >> bit & 1:
                continue
            if slot.tokens == ELSEWHERE:
                start = slot.ids[0]
                slot.ids[0] = <int32_t>ids.size()
                ids.insert(ids.end(), id_arena.data() + start, id_arena.data() + start + slot.ids[2])
                if size_of(slot.key) > INLINE:
                    start = slot.ids[1]
                    slot.ids[1] = <int32_t>data.size()
                    data.insert(data.end(), arena.data() + start, arena.data() + start + size_of(slot.key))
            put(&half, &slot)
        PyMem_RawFree(table.owned)
        table[0] = half
        half.owned = NULL
        arena.swap(data)
        id_arena.swap(ids)
    finally:
        PyMem_RawFree(half.owned)
    return 0
