# Each thread allocates its C++ exception state when it first throws, and the process aborts if there is no memory for
# it. So the state is allocated in advance. C++ libraries other than GCC's keep it in memory that every thread has.

cdef extern from *:
    """
    #include <cstddef>
    #include <cxxabi.h>

    static inline void ready_to_throw() {
    #ifdef __GLIBCXX__
        void *volatile made = abi::__cxa_get_globals();  /* volatile: an unused call to a const function is removed */
        (void)made;
    #endif
    }
    """
    void ready_to_throw() noexcept nogil
