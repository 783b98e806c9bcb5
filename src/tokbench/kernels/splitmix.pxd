# Repeatable random numbers for kernels: SplitMix64 (Steele, Lea and Flood 2014), seeded by a hash of the input.

from libc.stdint cimport int64_t, uint8_t, uint64_t


cdef inline uint64_t mixed(uint64_t state) noexcept nogil:
    # Return SplitMix64's output for a state.
    state = (state ^ (state >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    state = (state ^ (state >> 27)) * <uint64_t>0x94D049BB133111EB
    return state ^ (state >> 31)


cdef inline uint64_t advanced(uint64_t state) noexcept nogil:
    # Return the next state.
    return state + <uint64_t>0x9E3779B97F4A7C15


cdef inline uint64_t hashed(const uint8_t* text, int64_t size) noexcept nogil:
    # Return the 64-bit FNV-1a hash.
    cdef uint64_t value = <uint64_t>0xCBF29CE484222325
    cdef int64_t i
    for i in range(size):
        value = (value ^ text[i]) * <uint64_t>0x100000001B3
    return value
