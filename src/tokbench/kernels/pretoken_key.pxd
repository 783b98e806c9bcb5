# Keys of sixteen bytes for pre-tokens in hash tables. A pre-token of up to 15 bytes is its own key, zero-padded, with
# its length in the last byte. A longer one is represented by a hash and its length, and its bytes must be compared as
# well. So nearly all lookups are two word comparisons in one cache line.

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

cdef extern from *:
    """
    #include <stdint.h>

    static inline uint64_t folded_product(uint64_t a, uint64_t b) {
        unsigned __int128 product = (unsigned __int128)a * b;
        return (uint64_t)product ^ (uint64_t)(product >> 64);
    }

    typedef struct { uint64_t low, high; } Key;

    /* KEY_MASKS[n] selects the first n bytes of a key. */
    #define KEPT(n) (((uint64_t)1 << 8 * (n)) - 1)
    #define WHOLE (~(uint64_t)0)
    static const Key KEY_MASKS[16] = {
        {KEPT(0), 0}, {KEPT(1), 0}, {KEPT(2), 0}, {KEPT(3), 0}, {KEPT(4), 0}, {KEPT(5), 0}, {KEPT(6), 0}, {KEPT(7), 0},
        {WHOLE, KEPT(0)}, {WHOLE, KEPT(1)}, {WHOLE, KEPT(2)}, {WHOLE, KEPT(3)},
        {WHOLE, KEPT(4)}, {WHOLE, KEPT(5)}, {WHOLE, KEPT(6)}, {WHOLE, KEPT(7)},
    };
    #undef KEPT
    #undef WHOLE

    /* Odd constants with equal numbers of ones and zeros, from wyhash. */
    #define MIX_LOW 0xA0761D6478BD642FULL
    #define MIX_HIGH 0xE7037ED1A0B428DBULL
    """
    uint64_t folded_product(uint64_t a, uint64_t b) noexcept nogil
    uint64_t MIX_LOW
    uint64_t MIX_HIGH
    ctypedef struct Key:
        uint64_t low
        uint64_t high
    const Key* KEY_MASKS


cdef enum:
    INLINE = 15     # length of the longest pre-token that is its own key, in bytes


cdef inline Key inline_key(const uint8_t* data, int64_t length, const uint8_t* limit) noexcept nogil:
    # For at most 15 bytes. No byte at or after ``limit`` is read.
    cdef Key key
    key.low = key.high = 0
    if limit - data >= 16:
        memcpy(&key, data, 16)
    else:
        memcpy(&key, data, length)
    key.low &= KEY_MASKS[length].low
    key.high = key.high & KEY_MASKS[length].high | <uint64_t>length << 56
    return key


cdef inline Key arena_key(const uint8_t* data, int64_t length) noexcept nogil:
    # For 16 bytes or more: a hash and the length; the last byte differs from that of shorter keys.
    cdef Key key
    cdef uint64_t words[2]
    cdef int64_t position = 0
    cdef uint64_t state = length
    while position < length:
        memcpy(words, data + (position if length - position >= 16 else length - 16), 16)
        state = folded_product(words[0] ^ MIX_LOW ^ state, words[1] ^ MIX_HIGH)
        position += 16
    key.low = state
    key.high = <uint64_t>length | <uint64_t>0xFF << 56
    return key


cdef inline Key key_of(const uint8_t* data, int64_t length, const uint8_t* limit) noexcept nogil:
    return inline_key(data, length, limit) if length <= INLINE else arena_key(data, length)


cdef inline uint64_t hash_of(Key key) noexcept nogil:
    return folded_product(key.low ^ MIX_LOW, key.high ^ MIX_HIGH)
