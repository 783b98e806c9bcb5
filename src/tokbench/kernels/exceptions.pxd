# Each thread allocates its C++ exception state when it first throws, and the process aborts if there is no memory for
# it. So the state is allocated in advance.

cdef extern from *:
    """
    #include <cxxabi.h>

    static inline void ready_to_throw() {
        void *volatile made = abi::__cxa_get_globals();  /* volatile: an unused call to a const function is removed */
        (void)made;
    }
    """
    void ready_to_throw() noexcept nogil
