# Asking for memory before it is needed, so that nobody waits for it.

cdef extern from *:
    void prefetch "__builtin_prefetch"(const void* what) noexcept nogil
