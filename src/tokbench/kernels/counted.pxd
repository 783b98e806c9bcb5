# Entries of the table in :mod:`tokbench.kernels.count`, and the orders in which they are listed.

from libc.stdint cimport int64_t, uint8_t, uint64_t

from libcpp.vector cimport vector

from tokbench.kernels.pretoken_key cimport Key

cdef extern from *:
    """
    #include <algorithm>
    #include <cstdint>
    #include <cstring>
    #include <vector>

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

    struct Listed {
        uint64_t prefix;            /* first eight bytes, zero-padded, as a number in byte order */
        uint64_t place : 40;        /* of the slot in the table */
        uint64_t count : 24;        /* its count, at most DIGITS */
    };

    enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, FEW_LISTED = 256 };

    /* Move entries to another array in ascending order of a digit; equal ones keep their order. */
    template <class Digit>
    static inline void by_digit(std::vector<Listed>& entries, std::vector<Listed>& others, Digit digit) {
        size_t starts[DIGITS] = {0}, sum = 0;
        for (const Listed& entry : entries) ++starts[digit(entry)];
        for (size_t& start : starts) {
            const size_t here = start;
            start = sum;
            sum += here;
        }
        for (const Listed& entry : entries) others[starts[digit(entry)]++] = entry;
        entries.swap(others);
    }

    /* List the used slots by count descending, then by bytes ascending: a radix sort by the first eight bytes and by
       small counts, then comparisons among the entries that these do not separate. */
    static inline void list_in_order(
        const Slot* slots, size_t size, size_t used, const uint8_t* arena, std::vector<Listed>& entries
    ) {
        const auto less = [slots, arena](const Listed& one, const Listed& other) {
            const Slot &slot = slots[one.place], &other_slot = slots[other.place];
            if (slot.count != other_slot.count) return slot.count > other_slot.count;
            if (one.prefix != other.prefix) return one.prefix < other.prefix;
            const int64_t length = length_of(slot), other_length = length_of(other_slot);
            const int order = std::memcmp(bytes_of(slot, arena), bytes_of(other_slot, arena),
                                          (size_t)(length < other_length ? length : other_length));
            return order ? order < 0 : length < other_length;
        };
        entries.reserve(used);
        uint64_t differ = 0;
        for (size_t i = 0; i < size; ++i) {
            if (!slots[i].count) continue;
            Listed entry = {0, i, (uint64_t)(slots[i].count < DIGITS ? slots[i].count : DIGITS)};
            std::memcpy(&entry.prefix, bytes_of(slots[i], arena), 8);
            entry.prefix = __builtin_bswap64(entry.prefix);
            entries.push_back(entry);
            differ |= entry.prefix ^ entries[0].prefix;
        }
        if (entries.size() <= FEW_LISTED) {
            std::sort(entries.begin(), entries.end(), less);
            return;
        }
        std::vector<Listed> others(entries.size());
        for (int shift = 0; shift < 64; shift += DIGIT_BITS) {
            if (differ >> shift & (DIGITS - 1)) {
                by_digit(entries, others, [shift](const Listed& entry) {
                    return (size_t)(entry.prefix >> shift & (DIGITS - 1));
                });
            }
        }
        by_digit(entries, others, [](const Listed& entry) {  /* counts from DIGITS on come first, in no order */
            return (size_t)(DIGITS - entry.count);
        });
        const auto low = std::find_if(entries.begin(), entries.end(), [](const Listed& entry) {
            return entry.count < DIGITS;
        });
        std::sort(entries.begin(), low, less);
        for (auto first = low; first != entries.end();) {
            auto last = first + 1;
            while (last != entries.end() && last->prefix == first->prefix && last->count == first->count) {
                ++last;
            }
            if (last - first > 1) std::sort(first, last, less);
            first = last;
        }
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
    int add_within(int64_t* total, int64_t count, int64_t size, int64_t limit) noexcept nogil

    cppclass Slot:
        Key key
        int64_t count
        int64_t offset

    cppclass Listed:
        uint64_t place

    void list_in_order(
        const Slot* slots, size_t size, size_t used, const uint8_t* arena, vector[Listed]& entries
    ) except + nogil

    int64_t length_of(const Slot& slot) noexcept nogil
    const uint8_t* bytes_of(const Slot& slot, const uint8_t* arena) noexcept nogil
    void sort_by_bytes(Slot* slots, size_t size, const uint8_t* arena) noexcept nogil
