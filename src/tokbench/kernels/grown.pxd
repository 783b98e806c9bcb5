# An array that grows by realloc. Large arrays are moved by page tables, so there is never a second copy, and pages that
# were not written need no memory.

cdef extern from *:
    """
    #include <cstdlib>
    #include <cstring>
    #include <new>

    template <class T> struct Grown {
        T* data = nullptr;
        size_t size = 0, capacity = 0;

        Grown() {}
        Grown(const Grown&) = delete;
        Grown& operator=(const Grown&) = delete;
        ~Grown() { std::free(data); }

        void append(const T* more, size_t length) {
            if (length > capacity - size) {
                size_t wider = size + length > 2 * capacity ? size + length : 2 * capacity;
                T* moved = (T*)std::realloc((void*)data, wider * sizeof(T));
                if (!moved) throw std::bad_alloc();
                data = moved;
                capacity = wider;
            }
            if (length) std::memcpy((void*)(data + size), more, length * sizeof(T));
            size += length;
        }

        void release() {
            std::free(data);
            data = nullptr;
            size = capacity = 0;
        }
    };
    """
    cppclass Grown[T]:
        T* data
        size_t size
        void append(const T* more, size_t length) except + nogil
        void release() noexcept nogil
