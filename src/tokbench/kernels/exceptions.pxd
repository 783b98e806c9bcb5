# What C++ needs to throw an exception is made by each thread at its first one, and the process ends where there is no
# memory for that. So it is asked for while there is some.

cdef extern from *:
    """
    #include <cxxabi.h>

    static inline void ready_to_throw() {
        void *volatile made = abi::__cxa_get_globals();  /* declared a constant: unused, it would not be called */
        (void)made;
    }
    """
    void ready_to_throw() noexcept nogil
