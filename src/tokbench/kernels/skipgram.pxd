cdef extern from *:
    """
    #ifndef TOKBENCH_LANES
    #define TOKBENCH_LANES
    typedef float lanes __attribute__((vector_size(32), aligned(4), may_alias));

    /* Dot product of two rows whose length is a multiple of eight; the order of addition is the same on any machine. */
    static inline float dot(const float *a, const float *b, int size) {
        lanes sum = {0};
        for (int i = 0; i < size; i += 8)
            sum += *(const lanes *)(a + i) * *(const lanes *)(b + i);
        return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
    }
    #endif
    """
    float dot(const float* a, const float* b, int size) noexcept nogil
