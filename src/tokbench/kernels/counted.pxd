# Entries of the table in :mod:`tokbench.kernels.count`, and the orders in which they are listed.

from libc.stdint cimport int64_t, uint8_t, uint64_t

from tokbench.kernels.pretoken_key cimport Key

cdef extern from *:
    """
    #include <algorithm>
    #include <cstdint>
    #include <cstring>

    struct Entry {
        const uint8_t* data;
        int64_t length, count;
        uint64_t prefix;  /* first eight bytes, zero-padded, as a number in byte order */

        bool operator<(const Entry& other) const {
            if (count != other.count) return count > other.count;
            if (prefix != other.prefix) return prefix < other.prefix;
            int order = std::memcmp(data, other.data, (size_t)(length < other.length ? length : other.length));
            return order ? order < 0 : length < other.length;
        }
    };

    struct Slot {
        Key key;
        int64_t count;   /* 0 if the slot is free */
        int64_t offset;  /* in the arena, for pre-tokens longer than a key */
    };

    static inline int64_t length_of(const Slot& slot) {
        const int64_t length = (int64_t)(slot.key.high >> 56);
        return length <= 15 ? length : (int64_t)(slot.key.high & ~((uint64_t)0xFF << 56));
    }

    static inline const uint8_t* bytes_of(const Slot& slot, const uint8_t* arena) {
        return slot.key.high >> 56 <= 15 ? (const uint8_t*)&slot.key : arena + slot.offset;
    }

    /* Move the used slots to the front, in byte order. */
    static inline void sort_by_bytes(Slot* slots, size_t size, const uint8_t* arena) {
        Slot* end = std::remove_if(slots, slots + size, [](const Slot& slot) { return slot.count == 0; });
        std::sort(slots, end, [arena](const Slot& one, const Slot& other) {
            const uint8_t *data = bytes_of(one, arena), *other_data = bytes_of(other, arena);
            uint64_t prefix, other_prefix;  /* from a zero-padded key, or from a pre-token longer than a key */
            std::memcpy(&prefix, data, 8);
            std::memcpy(&other_prefix, other_data, 8);
            if (prefix != other_prefix) return __builtin_bswap64(prefix) < __builtin_bswap64(other_prefix);
            const int64_t length = length_of(one), other_length = length_of(other);
            const int order = std::memcmp(data, other_data, (size_t)(length < other_length ? length : other_length));
            return order ? order < 0 : length < other_length;
        });
    }

    /* Add count times size to a total, up to a limit; return 0 if the limit would be exceeded. */
    static inline int add_within(int64_t *total, int64_t count, int64_t size, int64_t limit) {
        const unsigned __int128 sum = (unsigned __int128)(uint64_t)count * (uint64_t)size + (uint64_t)*total;
        if (count < 0 || sum > (uint64_t)limit) return 0;
        *total = (int64_t)sum;
        return 1;
    }
    """
    uint64_t __builtin_bswap64(uint64_t word) noexcept nogil
    int add_within(int64_t* total, int64_t count, int64_t size, int64_t limit) noexcept nogil

    cppclass Entry:
        const uint8_t* data
        int64_t length
        int64_t count
        uint64_t prefix

    cppclass Slot:
        Key key
        int64_t count
        int64_t offset

    int64_t length_of(const Slot& slot) noexcept nogil
    const uint8_t* bytes_of(const Slot& slot, const uint8_t* arena) noexcept nogil
    void sort_by_bytes(Slot* slots, size_t size, const uint8_t* arena) noexcept nogil
