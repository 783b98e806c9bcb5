# Cuts between the bytes of a text as a bit set. The array has two words more than the text needs.

from libc.stdint cimport int32_t, int64_t, uint64_t

cdef extern from *:
    """
    #include <cstdint>
    /* Portable popcount: without a hardware instruction, the builtin is a function call. */
    static inline int64_t popcount(uint64_t bits) {
        bits -= bits >> 1 & 0x5555555555555555ULL;
        bits = (bits & 0x3333333333333333ULL) + (bits >> 2 & 0x3333333333333333ULL);
        return ((bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0FULL) * 0x0101010101010101ULL >> 56;
    }
    """
    int64_t popcount(uint64_t bits) noexcept nogil
    int trailing_zeros "__builtin_ctzll"(unsigned long long) noexcept nogil
    int leading_zeros "__builtin_clzll"(unsigned long long) noexcept nogil


cdef inline uint64_t cuts_from(const uint64_t* cuts, int64_t place) noexcept nogil:
    """Return the 64 cuts from ``place`` on."""
    cdef int64_t at = place >> 6, shift = place & 63
    return (cuts[at] >> shift) | ((cuts[at + 1] << 1) << (63 - shift))


cdef inline int32_t next_cut(const uint64_t* cuts, int32_t place, int32_t end) noexcept nogil:
    """Return the first cut at or after ``place`` and before ``end``; ``end`` if there is none."""
    cdef uint64_t some
    while place < end:
        some = cuts_from(cuts, place)
        if some:
            return min(end, place + trailing_zeros(some))
        place += 64
    return end


cdef inline int32_t last_cut(const uint64_t* cuts, int32_t start, int32_t end) noexcept nogil:
    """Return the last cut at or after ``start`` and before ``end``; ``start - 1`` if there is none."""
    cdef uint64_t some
    while end - start >= 64:
        some = cuts_from(cuts, end - 64)
        if some:
            return end - 1 - leading_zeros(some)
        end -= 64
    if end > start:
        some = cuts_from(cuts, start) << (64 - (end - start))
        if some:
            return end - 1 - leading_zeros(some)
    return start - 1


cdef inline int64_t count_cuts(const uint64_t* cuts, int32_t start, int32_t end) noexcept nogil:
    """Return the number of cuts at or after ``start`` and before ``end``."""
    cdef int64_t count = 0
    while end - start >= 64:
        count += popcount(cuts_from(cuts, start))
        start += 64
    if end > start:
        count += popcount(cuts_from(cuts, start) << (64 - (end - start)))
    return count
