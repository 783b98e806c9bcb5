cdef double log(double x) noexcept nogil
cdef double exp(double x) noexcept nogil
cdef double softplus(double x) noexcept nogil
