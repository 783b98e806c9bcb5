# Bytes in a range, of 64 bytes of text at once: with the vectors of SSE2 or NEON, or with words of 64 bits.

from libc.stdint cimport uint8_t, uint64_t

cdef extern from *:
    """
    #ifndef TOKBENCH_BYTE_RANGES
    #define TOKBENCH_BYTE_RANGES
    #include <stdint.h>
    #include <string.h>
    #if defined(__SSE2__)
    #include <emmintrin.h>
    #elif !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    #error "tokbench.kernels.byte_ranges reads text in words and needs a little-endian machine"
    #elif defined(__aarch64__) && defined(__ARM_NEON)
    #define NEON 1
    #include <arm_neon.h>
    #endif

    /* Mark which of 64 bytes are in first..last (ASCII) after setting the bits of fold: bit i for byte i.

       Seven bits plus at most 0x80 fit into a byte, so no sum carries into the next byte: the top bit of
       low + 0x80 - first is set if low >= first. The product gathers the eight top bits. */
    static inline uint64_t in_range_by_words(const uint8_t *text, uint8_t fold, uint8_t first, uint8_t last) {
        const uint64_t ones = 0x0101010101010101u, tops = ones << 7;
        uint64_t found = 0;
        for (int i = 0; i < 64; i += 8) {
            uint64_t word, low, inside;
            memcpy(&word, text + i, 8);
            word |= ones * fold;
            low = word & ~tops;
            inside = tops & ~word & (low + ones * (0x80 - first)) & ~(low + ones * (0x7F - last));
            found |= ((inside >> 7) * 0x0102040810204080u >> 56) << i;
        }
        return found;
    }

    #ifdef NEON
    /* The bits of 64 bytes that are all 0 or all ones. Each addition joins neighbours, until 8 bytes are left. */
    static inline uint64_t bits_of(const uint8x16_t *bytes) {
        static const uint8_t powers[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
        const uint8x16_t power = vld1q_u8(powers);
        const uint8x16_t low = vpaddq_u8(vandq_u8(bytes[0], power), vandq_u8(bytes[1], power));
        const uint8x16_t high = vpaddq_u8(vandq_u8(bytes[2], power), vandq_u8(bytes[3], power));
        const uint8x16_t all = vpaddq_u8(low, high);
        return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(all, all)), 0);
    }
    #endif

    /* The same, and for bytes beyond ASCII, too, where vectors are used. */
    static inline uint64_t in_range(const uint8_t *text, uint8_t fold, uint8_t first, uint8_t last) {
    #if defined(__SSE2__)
        uint64_t found = 0;
        const __m128i folds = _mm_set1_epi8((char)fold), firsts = _mm_set1_epi8((char)first);
        const __m128i widths = _mm_set1_epi8((char)(last - first));
        for (int i = 0; i < 64; i += 16) {
            __m128i bytes = _mm_or_si128(_mm_loadu_si128((const __m128i *)(text + i)), folds);
            bytes = _mm_sub_epi8(bytes, firsts);
            bytes = _mm_cmpeq_epi8(_mm_min_epu8(bytes, widths), bytes);
            found |= (uint64_t)(uint32_t)_mm_movemask_epi8(bytes) << i;
        }
        return found;
    #elif defined(NEON)
        const uint8x16_t folds = vdupq_n_u8(fold), firsts = vdupq_n_u8(first);
        const uint8x16_t width = vdupq_n_u8((uint8_t)(last - first));
        uint8x16_t inside[4];
        for (int i = 0; i < 4; i++)
            inside[i] = vcleq_u8(vsubq_u8(vorrq_u8(vld1q_u8(text + 16 * i), folds), firsts), width);
        return bits_of(inside);
    #else
        return in_range_by_words(text, fold, first, last);
    #endif
    }
    #endif
    """
    uint64_t in_range(const uint8_t* text, uint8_t fold, uint8_t first, uint8_t last) noexcept nogil
