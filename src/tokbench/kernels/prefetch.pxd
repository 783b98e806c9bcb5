# Prefetching of memory.
#
# Written in assembler where possible: GCC treats a function that only prefetches as one without effects, and removes
# calls that it has not inlined early.

cdef extern from *:
    """
    #ifndef TOKBENCH_PREFETCH
    #if defined(__x86_64__)
    #define TOKBENCH_PREFETCH(what) __asm__ volatile("prefetcht0 %0" : : "m"(*(const char *)(what)))
    #elif defined(__aarch64__)
    #define TOKBENCH_PREFETCH(what) __asm__ volatile("prfm pldl1keep, %0" : : "Q"(*(const char *)(what)))
    #else
    #define TOKBENCH_PREFETCH(what) __builtin_prefetch(what)
    #endif
    #endif
    """
    void prefetch "TOKBENCH_PREFETCH"(const void* what) noexcept nogil
