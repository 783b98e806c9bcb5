# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Base class of the segmentation kernels: the loop over pre-tokens, and reusable working memory.

A method is a subclass that builds immutable tables and implements ``cut``. Other kernels may call ``cut`` in their own
loop, for example the encoder, which scans, caches and segments in one pass::

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
    TOGETHER = 64       # pre-tokens per batch


cdef void* reserve(Scratch* scratch, size_t bytes) except NULL nogil:
    """Return at least ``bytes`` bytes of uninitialised memory, at least 1. The memory never shrinks."""
    if scratch.bytes < bytes:
        release(scratch)
        scratch.memory = PyMem_RawMalloc(bytes + bytes // 2)
        if scratch.memory == NULL:
            with gil:
                raise MemoryError(f"no memory for the segmentation of a pre-token: it takes {bytes + bytes // 2} bytes")
        scratch.bytes = bytes + bytes // 2
    return scratch.memory


cdef void release(Scratch* scratch) noexcept nogil:
    """Free the memory. The scratch may be used again."""
    PyMem_RawFree(scratch.memory)
    scratch.memory = NULL
    scratch.bytes = 0


cdef uint64_t place_of(uint64_t document, int64_t offset) noexcept nogil:
    """Return a number that identifies a byte offset of a document."""
    return mixed(mixed(advanced(document)) + <uint64_t>offset)


cdef class PretokenSegmenter:
    """Segmenter of pre-tokens. Immutable and thus thread-safe.

    Attributes:
        placed: True if the segmentation of a pre-token depends on its document and its place. Such a method draws at
            random and implements ``cut_at``; its ``cut`` uses place 0.
    """

    cdef int64_t cut(self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch) except -1 nogil:
        """Write the ids of one pre-token of ``size`` bytes, 1 to 2^31 - 16, and return their number.

        ``ids`` has room for ``size`` ids.

        Raises:
            MemoryError: there is not enough memory.
        """
        raise NotImplementedError("a segmenter must implement cut")

    cdef int64_t cut_at(
        self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch, uint64_t place
    ) except -1 nogil:
        """Do the same for a pre-token at a place, any 64-bit number that identifies places."""
        return self.cut(text, size, ids, scratch)

    cdef int64_t cut_all(self, Piece* pieces, int64_t n, int32_t* ids, Scratch* scratch) except -1 nogil:
        """Segment several pre-tokens: write their concatenated ids and the number for each, and return the total
        number.

        ``ids`` has room for as many ids as all pre-tokens have bytes. Methods that are faster on batches override this.

        Raises:
            MemoryError: there is not enough memory.
        """
        cdef int64_t k, written = 0
        for k in range(n):
            pieces[k].count = self.cut(pieces[k].text, pieces[k].size, ids + written, scratch)
            written += pieces[k].count
        return written

    def segment(
        self, const uint8_t[::1] data, const int64_t[::1] offsets, document: int | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Segment n pre-tokens, without the GIL.

        Args:
            data: uint8 [bytes], concatenated pre-tokens; they may be empty.
            offsets: int64 [n + 1], start of each pre-token; the last entry is the end of the last one.
            document: 64-bit number of the document ``data`` (default: none). Methods that are ``placed`` use it and the
                offset of each pre-token. Without it, every pre-token is segmented as at place 0.

        Returns:
            ids: int32 [tokens], concatenated segmentations.
            bounds: int64 [n + 1], start of each pre-token's ids; ``bounds[0]`` is 0.

        Raises:
            ValueError: ``offsets`` is empty or does not ascend inside ``data``, or a pre-token has 2 GiB or more.
            MemoryError: there is not enough working memory for the longest pre-token.
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
