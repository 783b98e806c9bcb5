# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Sorted runs of counted pre-tokens: merged as they are read, so that memory does not grow with what they hold.

Runs come in one of two orders. Those that :meth:`tokbench.kernels.count.Counter.spill` writes are sorted by bytes, and
a merge of them adds up the counts of equal pre-tokens. :meth:`Merge.resort` takes what such a merge gives into runs of
the canonical order, count descending and bytes ascending; a merge of these is the order of files of counts.

Reference: ``runs`` in :mod:`tokbench.reference.ngram`.
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

        /* 1 for a pre-token, 0 at the end, else why there is none. */
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

    /* A pre-token taken in byte order: among equal counts the offset says which comes first. */
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
"""What :meth:`Merge.resort` holds for each pre-token beside its bytes."""

ready_to_throw()


def give_back() -> None:
    """Hand memory that was freed back to the system, where the C library would keep some for later."""
    with nogil:
        trim()


@final
cdef class Merge:
    """The pre-tokens of sorted runs, in the order that the runs have.

    Args:
        paths: the runs, as the system spells their names.
        by_count: whether the runs are in canonical order, each pre-token in one of them; else they are sorted by bytes.
        buffer: bytes of a run that are held at a time.

    Raises:
        OSError: a run cannot be read.
        MemoryError: there is not enough.
    """

    cdef Merger merger
    cdef bytes named
    cdef bint waiting       # whether the merger's pre-token has not been taken yet
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
        """Have a pre-token waiting; 0 where none is left."""
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
        """Write the next pre-tokens behind those that arrays hold already, until nothing is left or no room is.

        ``wanted`` is then the length of a pre-token for which ``data`` had no room, 0 where that is not why it ended.

        Args:
            data: uint8 [bytes], pre-tokens laid end to end.
            offsets: int64 [n + 1], where each starts and the last ends.
            counts: int64 [n].
            rows: how many the arrays hold; the first starts at 0.

        Returns:
            How many they hold now.
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
        """Write the next pre-tokens of runs that are sorted by bytes into one run of canonical order.

        Args:
            path: the run.
            room: bytes of memory to fill before they are sorted; one pre-token is taken however long it is.
            most: pre-tokens to take at a time.

        Returns:
            Whether there were any.
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
        """Write all that is left into one run of the same order."""
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
        """Pass over all that is left, for ``unique``, ``total`` and ``total_bytes``: pre-tokens, occurrences, bytes."""
        with nogil:
            while self.next():
                self.take()
