# Tables with random access. With pages of 4 KiB, each access to a table of some MiB also needs a page table walk. Pages
# of 2 MiB, which Linux provides on request, avoid most of these.

from cpython.mem cimport PyMem_RawCalloc
from libc.stdint cimport uintptr_t

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>
    #ifdef __linux__
    #include <sys/mman.h>
    #endif

    enum { HUGE_PAGE = 1 << 21 };

    /* Request huge pages for the full huge pages inside a block of memory. The request has no other effect. */
    static inline void want_huge_pages(void *memory, size_t bytes) {
    #if defined(__linux__) && defined(MADV_HUGEPAGE)
        const uintptr_t first = ((uintptr_t)memory + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
        const uintptr_t end = ((uintptr_t)memory + bytes) & ~(uintptr_t)(HUGE_PAGE - 1);
        if (end > first) (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
    #else
        (void)memory;
        (void)bytes;
    #endif
    }
    """
    enum: HUGE_PAGE
    void want_huge_pages(void* memory, size_t bytes) noexcept nogil


cdef inline void* zeroed(size_t bytes, void** owned) except NULL nogil:
    """Return ``bytes`` zeroed bytes, at least 1, in huge pages if large enough. Free ``owned`` with PyMem_RawFree."""
    cdef size_t more = HUGE_PAGE if bytes >= <size_t>HUGE_PAGE else 64
    cdef uintptr_t start
    owned[0] = PyMem_RawCalloc(bytes + more, 1)
    if owned[0] == NULL:
        with gil:
            raise MemoryError(f"no memory for a table: it takes {bytes} bytes")
    start = (<uintptr_t>owned[0] + more - 1) & ~<uintptr_t>(more - 1)
    if bytes >= <size_t>HUGE_PAGE:
        want_huge_pages(<void*>start, bytes + HUGE_PAGE - 1)
    return <void*>start
