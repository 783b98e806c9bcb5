# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Sorted runs of counted pre-tokens, merged while they are read, so that memory does not grow with their size.

Runs have one of two orders. Runs written by :meth:`tokbench.kernels.count.Counter.spill` are sorted by bytes, and
merging them adds up the counts of equal pre-tokens. :meth:`Merge.resort` converts the result of such a merge to runs in
canonical order, count descending and bytes ascending. Merging those gives the order of files of counts.

Reference: ``spilled`` in :mod:`tokbench.reference.ngram`.
"""

from cython cimport final
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from tokbench.kernels.exceptions cimport ready_to_throw
from tokbench.kernels.grown cimport Grown
from tokbench.kernels.runs cimport RunWriter, ended_well

import os

cdef extern from *:
    """
    #include <memory>
    #ifdef __GLIBC__
    #include <malloc.h>
    #endif

    static inline void trim() {
    #ifdef __GLIBC__
        malloc_trim(0);
    #endif
    }

    struct Merger {
        std::vector<std::unique_ptr<RunReader>> readers;
        std::vector<RunReader*> heap;
        std::vector<uint8_t> token;
        int64_t count = 0;
        bool by_count = false;

        bool before(const RunReader* one, const RunReader* other) const {
            if (by_count && one->count != other->count) return one->count > other->count;
            if (one->prefix != other->prefix) return one->prefix < other->prefix;
            const int64_t common = one->length < other->length ? one->length : other->length;
            const int order = std::memcmp(one->data, other->data, (size_t)common);
            return order ? order < 0 : one->length < other->length;
        }

        void sink(size_t place) {
            RunReader* moved = heap[place];
            for (;;) {
                size_t child = 2 * place + 1;
                if (child >= heap.size()) break;
                if (child + 1 < heap.size() && before(heap[child + 1], heap[child])) child++;
                if (!before(heap[child], moved)) break;
                heap[place] = heap[child];
                place = child;
            }
            heap[place] = moved;
        }

        int open(const char* path, size_t size) {
            readers.emplace_back(new RunReader());
            if (int failed = readers.back()->open(path, size)) return failed;
            const int found = readers.back()->next();
            if (found < 0) return found;
            if (found) heap.push_back(readers.back().get());
            return 0;
        }

        void begin(bool canonical) {
            by_count = canonical;
            for (size_t place = heap.size(); place-- > 0;) sink(place);
        }

        int advance() {
            const int found = heap[0]->next();
            if (found < 0) return found;
            if (!found) {
                heap[0] = heap.back();
                heap.pop_back();
            }
            if (!heap.empty()) sink(0);
            return 0;
        }

        /* Return 1 for a pre-token, 0 at the end, otherwise an error. */
        int next() {
            if (heap.empty()) return 0;
            token.assign(heap[0]->data, heap[0]->data + heap[0]->length);
            count = heap[0]->count;
            if (int failed = advance()) return failed;
            if (by_count) return 1;
            while (!heap.empty() && (size_t)heap[0]->length == token.size()
                   && std::memcmp(heap[0]->data, token.data(), token.size()) == 0) {
                count += heap[0]->count;
                if (int failed = advance()) return failed;
            }
            return 1;
        }
    };

    /* A pre-token read in byte order, so that among equal counts the offset gives the order. */
    struct Ranked {
        int64_t count, offset, length;
        bool operator<(const Ranked& other) const {
            return count != other.count ? count > other.count : offset < other.offset;
        }
    };
    """
    int RUN_CUT
    void trim() noexcept nogil

    cppclass Merger:
        vector[uint8_t] token
        int64_t count
        int open(const char* path, size_t size) except + nogil
        void begin(bint canonical) noexcept nogil
        int next() except + nogil

    cppclass Ranked:
        int64_t count
        int64_t offset
        int64_t length


RANKED_BYTES = sizeof(Ranked)
"""Bytes that :meth:`Merge.resort` needs per pre-token, in addition to the pre-token itself."""

ready_to_throw()


def give_back() -> None:
    """Return freed memory to the system, because the C library may keep some for later."""
    with nogil:
        trim()


@final
cdef class Merge:
    """Pre-tokens of sorted runs, in the order of the runs.

    Args:
        paths: Paths of the runs, encoded for the file system.
        by_count: Whether the runs are in canonical order, with each pre-token in one run (default: False, sorted by
            bytes).
        buffer: Bytes of a run in memory at a time (default: 2^18).

    Attributes:
        unique, total, total_bytes: Number of pre-tokens, sum of their counts, and bytes of the text, as read so far.
        wanted: Length of the pre-token for which :meth:`fill` had no room; otherwise 0.

    Raises:
        OSError: a run cannot be read.
        MemoryError: there is not enough memory.
    """

    cdef Merger merger
    cdef bytes named
    cdef bint waiting       # whether the merger's current pre-token was not consumed yet
    cdef readonly int64_t unique, total, total_bytes
    cdef readonly int64_t wanted

    def __cinit__(self, list paths, bint by_count=False, int64_t buffer=1 << 18):
        cdef bytes path
        self.named = b""
        for path in paths:
            self.named = path
            self.failed(self.merger.open(path, buffer))
        self.merger.begin(by_count)

    cdef int failed(self, int number) except -1:
        if number == RUN_CUT:
            raise OSError(f"{os.fsdecode(self.named)}: a temporary file was cut short while it was in use")
        return ended_well(5 if number < 0 else number, self.named)

    cdef inline int next(self) except -1 nogil:
        """Make a pre-token available; return 0 if none is left."""
        cdef int found
        if self.waiting:
            return 1
        found = self.merger.next()
        if found < 0:
            with gil:
                self.failed(found)
        self.waiting = found
        return found

    cdef inline void take(self) noexcept nogil:
        self.waiting = False
        self.unique += 1
        self.total += self.merger.count
        self.total_bytes += self.merger.count * <int64_t>self.merger.token.size()

    def fill(
        self,
        uint8_t[::1] data not None,
        int64_t[::1] offsets not None,
        int64_t[::1] counts not None,
        int64_t rows=0,
    ) -> int:
        """Append the next pre-tokens to arrays until none is left or there is no room.

        ``wanted`` is then the length of a pre-token that did not fit into ``data``, or 0 if that is not the reason.

        Args:
            data: uint8 [bytes], concatenated pre-tokens.
            offsets: int64 [n + 1], start of each pre-token, and end of the last.
            counts: int64 [n].
            rows: Number of pre-tokens already in the arrays (default: 0); the first starts at 0.

        Returns:
            The number of pre-tokens in the arrays now.
        """
        cdef int64_t most = min(counts.shape[0], offsets.shape[0] - 1), room = data.shape[0], end, length
        self.wanted = 0
        if not rows:
            offsets[0] = 0
        with nogil:
            end = offsets[rows]
            while rows < most and self.next():
                length = self.merger.token.size()
                if length > room - end:
                    self.wanted = length
                    break
                memcpy(&data[end], self.merger.token.data(), length)
                end += length
                counts[rows] = self.merger.count
                rows += 1
                offsets[rows] = end
                self.take()
        return rows

    def resort(self, bytes path not None, int64_t room, int64_t most=1 << 62) -> bool:
        """Write the next pre-tokens of runs sorted by bytes to one run in canonical order.

        Args:
            path: Path of the output run.
            room: Bytes of memory to fill before sorting. At least one pre-token is read, of any length.
            most: Maximum number of pre-tokens (default: 2^62).

        Returns:
            False if no pre-tokens were left.
        """
        cdef Grown[uint8_t] data
        cdef Grown[Ranked] ranked
        cdef Ranked entry
        cdef RunWriter writer
        cdef const char* named = path
        cdef int failed = 0
        cdef size_t i
        with nogil:
            while ranked.size < <size_t>most and self.next():
                entry.length = self.merger.token.size()
                if ranked.size and data.size + entry.length + (ranked.size + 1) * sizeof(Ranked) > <size_t>room:
                    break
                entry.count = self.merger.count
                entry.offset = data.size
                data.append(self.merger.token.data(), entry.length)
                ranked.append(&entry, 1)
                self.take()
            sort(ranked.data, ranked.data + ranked.size)
            if ranked.size:
                failed = writer.open(named)
                for i in range(ranked.size):
                    if failed:
                        break
                    entry = ranked.data[i]
                    failed = writer.put(data.data + entry.offset, entry.length, entry.count)
                failed = failed or writer.close()
        ended_well(failed, path)
        return ranked.size > 0

    def write(self, bytes path not None) -> None:
        """Write all remaining pre-tokens to one run in the same order."""
        cdef RunWriter writer
        cdef const char* named = path
        cdef int failed
        with nogil:
            failed = writer.open(named)
            while not failed and self.next():
                failed = writer.put(self.merger.token.data(), self.merger.token.size(), self.merger.count)
                self.take()
            failed = failed or writer.close()
        ended_well(failed, path)

    def drain(self) -> None:
        """Read all remaining pre-tokens, for ``unique``, ``total`` and ``total_bytes``."""
        with nogil:
            while self.next():
                self.take()
