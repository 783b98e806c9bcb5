# Asking for memory before it is needed, so that nobody waits for it.
#
# Written in assembler where that is known: GCC takes a function that only asks for memory to do nothing, and leaves out
# the calls that it has not inlined early.

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
