# Program of a pattern's masks (tokbench.pretokenization.patterns.masks), over up to 512 bytes of text at once. It is
# compiled for several vector widths; the width is selected once, at import.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from tokbench.kernels.byte_ranges cimport in_range

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #if defined(__x86_64__) && defined(__GNUC__)
    #define X86 1
    #include <immintrin.h>
    #endif

    #define WORDS 8
    typedef uint64_t Mask[WORDS] __attribute__((aligned(64)));

    typedef struct { int32_t target, fold, first, last; } Load;
    typedef struct { int32_t operation, target, left, right; } Operation;
    typedef struct {
        const Load *loads;
        const Operation *operations;
        int64_t loads_count, operations_count;
    } Program;

    /* Registers with fixed contents. */
    enum { BEYOND = 0, EVERY = 1, EDGE = 2 };

    static void run_by_words(const Program *program, Mask *registers) {
        for (int64_t i = 0; i < program->operations_count; i++) {
            const Operation step = program->operations[i];
            const uint64_t *left = registers[step.left], *right = registers[step.right];
            uint64_t *target = registers[step.target], before = 0;
            for (int word = 0; word < WORDS; word++) {
                const uint64_t a = left[word], b = right[word];
                switch (step.operation) {
                    case 0: target[word] = a | b; break;
                    case 1: target[word] = a & b; break;
                    case 2: target[word] = a & ~b; break;
                    default: target[word] = a << 1 | before;
                }
                before = a >> 63;
            }
        }
    }

    static void clear(const Program *program, int64_t words, Mask *registers) {
        for (int64_t word = words; word < WORDS; word++) registers[BEYOND][word] = 0;
        memset(registers[EVERY], 0xFF, sizeof(Mask));
        memset(registers[EDGE], 0, sizeof(Mask));
        registers[EDGE][0] = 1;
        for (int64_t i = 0; i < program->loads_count; i++) memset(registers[program->loads[i].target], 0, sizeof(Mask));
    }

    /* Mark the bytes that are not ASCII; return their number. */
    static int64_t beyond_by_words(const uint8_t *text, int64_t words, uint64_t *found) {
        int64_t count = 0;
        for (int64_t word = 0; word < words; word++) {
            found[word] = 0;
            for (int i = 0; i < 64; i += 8) {
                uint64_t bytes;
                memcpy(&bytes, text + 64 * word + i, 8);
                bytes &= 0x8080808080808080u;
                found[word] |= ((bytes >> 7) * 0x0102040810204080u >> 56) << i;
            }
            count += __builtin_popcountll(found[word]);
        }
        return count;
    }

    /* Mark the bytes of every load by one of the functions of byte_ranges, then run the operations. */
    #define LOOK_BY(NAME, IN_RANGE) \\
        static void NAME(const Program *program, const uint8_t *text, int64_t words, Mask *registers) { \\
            clear(program, words, registers); \\
            for (int64_t k = 0; k < program->loads_count; k++) { \\
                const Load load = program->loads[k]; \\
                for (int64_t word = 0; word < words; word++) \\
                    registers[load.target][word] |= IN_RANGE( \\
                        text + 64 * word, (uint8_t)load.fold, (uint8_t)load.first, (uint8_t)load.last); \\
            } \\
            run_by_words(program, registers); \\
        }
    LOOK_BY(look_by_words, in_range_by_words)

    #ifdef NEON
    LOOK_BY(look_neon, in_range)

    static int64_t beyond_neon(const uint8_t *text, int64_t words, uint64_t *found) {
        int64_t count = 0;
        for (int64_t word = 0; word < words; word++) {
            found[word] = in_range(text + 64 * word, 0, 0x80, 0xFF);
            count += __builtin_popcountll(found[word]);
        }
        return count;
    }
    #endif

    typedef int64_t (*Beyond)(const uint8_t *, int64_t, uint64_t *);
    typedef void (*Look)(const Program *, const uint8_t *, int64_t, Mask *);

    #ifdef X86
    /* The word before each; for the first, the last of ``before``. */
    #define CARRIED_16(before, now) \
        _mm_castpd_si128(_mm_shuffle_pd(_mm_castsi128_pd(before), _mm_castsi128_pd(now), 1))
    #define CARRIED_32(before, now) \
        _mm256_blend_epi32(_mm256_permute4x64_epi64(now, 0x93), _mm256_permute4x64_epi64(before, 0x93), 3)

    #define CARRIED_64(before, now) _mm512_alignr_epi64(now, before, 7)
    /* The top bits of the bytes, and the bytes that are at most a width. */
    #define BITS_16(bytes) ((uint64_t)(uint32_t)_mm_movemask_epi8(bytes))
    #define BITS_32(bytes) ((uint64_t)(uint32_t)_mm256_movemask_epi8(bytes))
    #define BITS_64(bytes) ((uint64_t)_mm512_movepi8_mask(bytes))
    #define INSIDE_16(bytes, width) BITS_16(_mm_cmpeq_epi8(_mm_min_epu8(bytes, width), bytes))
    #define INSIDE_32(bytes, width) BITS_32(_mm256_cmpeq_epi8(_mm256_min_epu8(bytes, width), bytes))
    #define INSIDE_64(bytes, width) ((uint64_t)_mm512_cmple_epu8_mask(bytes, width))

    /* Functions for vectors of WIDTH bytes. */
    #define FOR_WIDTH(NAME, TARGET, WIDTH, Vector, LOADED, SET, SUB, INSIDE, BITS, P, S, CARRIED) \\
        __attribute__((target(TARGET))) static int64_t beyond_##NAME( \\
            const uint8_t *text, int64_t words, uint64_t *found) { \\
            int64_t count = 0; \\
            for (int64_t word = 0; word < words; word++) { \\
                uint64_t bits = 0; \\
                for (int i = 0; i < 64; i += WIDTH) \\
                    bits |= BITS(LOADED((const Vector *)(text + 64 * word + i))) << i; \\
                found[word] = bits; \\
                count += __builtin_popcountll(bits); \\
            } \\
            return count; \\
        } \\
        __attribute__((target(TARGET))) static void run_##NAME(const Program *program, Mask *registers) { \\
            for (int64_t i = 0; i < program->operations_count; i++) { \\
                const Operation step = program->operations[i]; \\
                const Vector *left = (const Vector *)registers[step.left]; \\
                const Vector *right = (const Vector *)registers[step.right]; \\
                Vector *target = (Vector *)registers[step.target], before = P##setzero_##S(); \\
                switch (step.operation) { \\
                    case 0: \\
                        for (int k = 0; k < 64 / WIDTH; k++) target[k] = P##or_##S(left[k], right[k]); \\
                        break; \\
                    case 1: \\
                        for (int k = 0; k < 64 / WIDTH; k++) target[k] = P##and_##S(left[k], right[k]); \\
                        break; \\
                    case 2: \\
                        for (int k = 0; k < 64 / WIDTH; k++) target[k] = P##andnot_##S(right[k], left[k]); \\
                        break; \\
                    default: \\
                        for (int k = 0; k < 64 / WIDTH; k++) { \\
                            const Vector now = left[k]; \\
                            target[k] = P##or_##S( \\
                                P##slli_epi64(now, 1), P##srli_epi64(CARRIED(before, now), 63)); \\
                            before = now; \\
                        } \\
                } \\
            } \\
        } \\
        __attribute__((target(TARGET))) static void look_##NAME( \\
            const Program *program, const uint8_t *text, int64_t words, Mask *registers) { \\
            clear(program, words, registers); \\
            for (int64_t k = 0; k < program->loads_count; k++) { \\
                const Load load = program->loads[k]; \\
                const Vector fold = SET((char)load.fold), first = SET((char)load.first); \\
                const Vector width = SET((char)(load.last - load.first)); \\
                for (int64_t word = 0; word < words; word++) { \\
                    uint64_t bits = 0; \\
                    for (int i = 0; i < 64; i += WIDTH) { \\
                        Vector bytes = P##or_##S(LOADED((const Vector *)(text + 64 * word + i)), fold); \\
                        bytes = SUB(bytes, first); \\
                        bits |= INSIDE(bytes, width) << i; \\
                    } \\
                    registers[load.target][word] |= bits; \\
                } \\
            } \\
            run_##NAME(program, registers); \\
        }
    FOR_WIDTH(sse2, "sse2", 16, __m128i, _mm_loadu_si128, _mm_set1_epi8, _mm_sub_epi8, INSIDE_16, BITS_16, _mm_, si128,
              CARRIED_16)
    FOR_WIDTH(avx2, "avx2,popcnt", 32, __m256i, _mm256_loadu_si256, _mm256_set1_epi8, _mm256_sub_epi8, INSIDE_32,
              BITS_32, _mm256_, si256, CARRIED_32)
    FOR_WIDTH(avx512, "avx512f,avx512bw,popcnt", 64, __m512i, _mm512_loadu_si512, _mm512_set1_epi8, _mm512_sub_epi8,
              INSIDE_64, BITS_64, _mm512_, si512, CARRIED_64)
    #endif

    static Beyond beyond = beyond_by_words;
    static Look look = look_by_words;

    static const char *choose_width(int most) {
    #ifdef X86
        __builtin_cpu_init();
        if (most >= 64 && __builtin_cpu_supports("avx512bw")) {
            beyond = beyond_avx512;
            look = look_avx512;
            return "avx512";
        }
        if (most >= 32 && __builtin_cpu_supports("avx2")) {
            beyond = beyond_avx2;
            look = look_avx2;
            return "avx2";
        }
        if (most >= 16) {
            beyond = beyond_sse2;
            look = look_sse2;
            return "sse2";
        }
    #elif defined(NEON)
        if (most >= 16) {
            beyond = beyond_neon;
            look = look_neon;
            return "neon";
        }
    #endif
        beyond = beyond_by_words;
        look = look_by_words;
        return "words";
    }
    """
    enum: WORDS
    ctypedef uint64_t[8] Mask
    ctypedef struct Load:
        int32_t target
        int32_t fold
        int32_t first
        int32_t last
    ctypedef struct Operation:
        int32_t operation
        int32_t target
        int32_t left
        int32_t right
    ctypedef struct Program:
        const Load* loads
        const Operation* operations
        int64_t loads_count
        int64_t operations_count
    enum: BEYOND
    int64_t beyond(const uint8_t* text, int64_t words, uint64_t* found) noexcept nogil
    void look(const Program* program, const uint8_t* text, int64_t words, Mask* registers) noexcept nogil
    const char* choose_width(int most)
    int __builtin_ctzll(uint64_t word) noexcept nogil
