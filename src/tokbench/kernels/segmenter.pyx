# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What every segmentation kernel shares: the loop over pre-tokens, and memory that one call reuses.

A method is a subclass that sets up immutable tables and implements ``cut``. The same ``cut`` serves callers in C that
bring their own loop, such as an encoder that scans, remembers and segments in one pass::

    from tokbench.kernels.segmenter cimport PretokenSegmenter, Scratch, release

    cdef Scratch scratch                        # one per thread
    scratch.memory, scratch.bytes = NULL, 0
    n = segmenter.cut(text, size, ids, &scratch)
    release(&scratch)
"""

from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

import numpy as np

from tokbench.kernels.limits cimport LONGEST
from tokbench.kernels.splitmix cimport advanced, mixed


cdef enum:
    TOGETHER = 64       # pre-tokens that are cut at once


cdef void* reserve(Scratch* scratch, size_t bytes) except NULL nogil:
    """At least ``bytes`` of memory, 1 or more, its content undefined. Never shrinks."""
    if scratch.bytes < bytes:
        release(scratch)
        scratch.memory = PyMem_RawMalloc(bytes + bytes // 2)
        if scratch.memory == NULL:
            with gil:
                raise MemoryError(f"no memory for the segmentation of a pre-token: it takes {bytes + bytes // 2} bytes")
        scratch.bytes = bytes + bytes // 2
    return scratch.memory


cdef void release(Scratch* scratch) noexcept nogil:
    """Give the memory back; the scratch may be used again."""
    PyMem_RawFree(scratch.memory)
    scratch.memory = NULL
    scratch.bytes = 0


cdef uint64_t place_of(uint64_t document, int64_t offset) noexcept nogil:
    """What tells the place at a byte offset of a document from all others."""
    return mixed(mixed(advanced(document)) + <uint64_t>offset)


cdef class PretokenSegmenter:
    """Cuts pre-tokens into tokens. Immutable, hence safe to use from any number of threads at once.

    Attributes:
        placed: whether the cut of a pre-token depends on the document that it stands in and on its place there. Such a
            method draws at random and implements ``cut_at``; its ``cut`` is that of place 0.
    """

    cdef int64_t cut(self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch) except -1 nogil:
        """Write the ids of one pre-token of ``size`` bytes, 1 to 2^31 - 16, and return how many they are.

        ``ids`` has room for ``size`` of them.

        Raises:
            MemoryError: there is not enough.
        """
        raise NotImplementedError("a segmenter must implement cut")

    cdef int64_t cut_at(
        self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch, uint64_t place
    ) except -1 nogil:
        """The same where the pre-token stands at a place, any 64-bit number that tells places apart."""
        return self.cut(text, size, ids, scratch)

    cdef int64_t cut_all(self, Piece* pieces, int64_t n, int32_t* ids, Scratch* scratch) except -1 nogil:
        """Cut several pre-tokens: write their ids end to end, of each how many they are, and return how many in all.

        ``ids`` has room for as many as all have bytes. Methods override it that gain by having several at hand.

        Raises:
            MemoryError: there is not enough.
        """
        cdef int64_t k, written = 0
        for k in range(n):
            pieces[k].count = self.cut(pieces[k].text, pieces[k].size, ids + written, scratch)
            written += pieces[k].count
        return written

    def segment(
        self, const uint8_t[::1] data, const int64_t[::1] offsets, document: int | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Segment n pre-tokens, without the interpreter's lock.

        Args:
            data: uint8 [bytes], the pre-tokens laid end to end; they may be empty.
            offsets: int64 [n + 1], where each starts; the last entry is where the last one ends.
            document: 64-bit number of the document that ``data`` is; methods that are ``placed`` cut the pre-token
                at an offset by the two numbers. Left out, every pre-token is cut as at place 0.

        Returns:
            ids: int32 [tokens], the segmentations laid end to end.
            bounds: int64 [n + 1], where each pre-token's ids start; ``bounds[0]`` is 0.

        Raises:
            ValueError: ``offsets`` is empty, does not ascend inside ``data``, or spans a pre-token of 2 GiB or more.
            MemoryError: the working memory of the longest pre-token cannot be had.
        """
        cdef Py_ssize_t pretokens = offsets.shape[0] - 1, i, first = 0, last
        cdef int64_t size, written = 0, before, k
        cdef Piece[TOGETHER] pieces
        cdef int32_t[::1] ids
        cdef int64_t[::1] bounds
        cdef Scratch scratch
        cdef bint placed = self.placed and document is not None
        cdef uint64_t seed = document if placed else 0
        if pretokens < 0:
            raise ValueError("offsets must have one entry more than there are pre-tokens")
        with nogil:
            before = 0
            for i in range(pretokens + 1):
                if not before <= offsets[i] <= data.shape[0]:
                    raise ValueError("offsets must ascend inside data")
                if i and offsets[i] - before > LONGEST:
                    raise ValueError(f"a pre-token has {offsets[i] - before} bytes, more than {LONGEST}")
                before = offsets[i]
        all_ids = np.empty(max(offsets[pretokens] - offsets[0], 1), np.int32)
        all_bounds = np.zeros(pretokens + 1, np.int64)
        ids, bounds = all_ids, all_bounds
        scratch.memory = NULL
        scratch.bytes = 0
        with nogil:
            try:
                for i in range(pretokens if placed else 0):
                    size = offsets[i + 1] - offsets[i]
                    if size:
                        written += self.cut_at(
                            &data[offsets[i]], size, &ids[written], &scratch, place_of(seed, offsets[i])
                        )
                    bounds[i + 1] = written
                while first < pretokens and not placed:
                    last = min(first + TOGETHER, pretokens)
                    k = 0
                    for i in range(first, last):
                        pieces[k].text = &data[offsets[i]]
                        pieces[k].size = offsets[i + 1] - offsets[i]
                        k += pieces[k].size > 0
                    self.cut_all(pieces, k, &ids[written], &scratch)
                    k = 0
                    for i in range(first, last):
                        if offsets[i + 1] > offsets[i]:
                            written += pieces[k].count
                            k += 1
                        bounds[i + 1] = written
                    first = last
            finally:
                release(&scratch)
        return all_ids[:written].copy(), all_bounds
