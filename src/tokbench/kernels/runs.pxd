# Runs: sorted files of pre-tokens and counts, written once and read once by the same process. A record is the length
# and the count, as little-endian base-128 numbers, followed by the bytes.

from libc.stdint cimport int64_t, uint8_t, uint64_t

cdef extern from *:
    """
    #include <cerrno>
    #include <cstdint>
    #include <cstdio>
    #include <cstring>
    #include <vector>

    enum { RUN_READ = -1, RUN_CUT = -2, RUN_HEAD = 20 };

    struct RunWriter {
        FILE* file = nullptr;

        ~RunWriter() { if (file) std::fclose(file); }

        /* Each function returns errno, 0 on success. */
        int open(const char* path) {
            file = std::fopen(path, "wb");
            if (!file) return errno;
            std::setvbuf(file, nullptr, _IOFBF, 1 << 18);
            return 0;
        }

        int put(const uint8_t* data, uint64_t length, uint64_t count) {
            uint8_t head[RUN_HEAD];
            size_t n = 0;
            for (uint64_t number : {length, count}) {
                for (; number >= 128; number >>= 7) head[n++] = (uint8_t)(number | 128);
                head[n++] = (uint8_t)number;
            }
            errno = 0;
            if (std::fwrite(head, 1, n, file) == n && std::fwrite(data, 1, length, file) == length) return 0;
            return errno ? errno : EIO;
        }

        int close() {
            FILE* ended = file;
            file = nullptr;
            return std::fclose(ended) ? errno : 0;
        }
    };

    struct RunReader {
        FILE* file = nullptr;
        std::vector<uint8_t> buffer;
        size_t start = 0, end = 0;
        const uint8_t* data = nullptr;
        int64_t length = 0, count = 0;
        uint64_t prefix = 0;  /* first eight bytes, zero-padded, as a number in byte order */

        ~RunReader() { if (file) std::fclose(file); }

        int open(const char* path, size_t size) {
            buffer.resize(size < 64 ? 64 : size);
            file = std::fopen(path, "rb");
            if (!file) return errno;
            std::setvbuf(file, nullptr, _IONBF, 0);
            return 0;
        }

        /* Read until `wanted` bytes or all remaining ones are at start; return 0 on a read error. */
        int have(size_t wanted) {
            if (end - start >= wanted) return 1;
            std::memmove(buffer.data(), buffer.data() + start, end - start);
            end -= start;
            start = 0;
            if (buffer.size() < wanted) buffer.resize(wanted);
            end += std::fread(buffer.data() + end, 1, buffer.size() - end, file);
            return !std::ferror(file);
        }

        int number(uint64_t *found) {
            *found = 0;
            for (int shift = 0; start < end && shift < 64; shift += 7) {
                uint8_t byte = buffer[start++];
                *found |= (uint64_t)(byte & 127) << shift;
                if (byte < 128) return 1;
            }
            return 0;
        }

        /* Return 1 for a record, 0 at the end, otherwise an error. */
        int next() {
            uint64_t size, times;
            if (!have(RUN_HEAD)) return RUN_READ;
            if (start == end) return 0;
            if (!number(&size) || !number(&times) || size > (uint64_t)1 << 62) return RUN_CUT;
            if (!have((size_t)size)) return RUN_READ;
            if (end - start < size) return RUN_CUT;
            data = buffer.data() + start;
            length = (int64_t)size;
            count = (int64_t)times;
            start += (size_t)size;
            prefix = 0;
            std::memcpy(&prefix, data, (size_t)(length < 8 ? length : 8));
            prefix = __builtin_bswap64(prefix);
            return 1;
        }
    };
    """
    cppclass RunWriter:
        int open(const char* path) noexcept nogil
        int put(const uint8_t* data, uint64_t length, uint64_t count) noexcept nogil
        int close() noexcept nogil


cdef inline int ended_well(int number, bytes path) except -1:
    # Raise OSError for an error number other than 0.
    if number:
        raise OSError(number, "a temporary file cannot be written or read", path.decode("utf-8", "surrogateescape"))
    return 0
