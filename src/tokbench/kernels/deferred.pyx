# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Segmenters for the first texts, until the tables for many are worth their time.

The tables that make merging fast take as long to build as megabytes of new pre-tokens take without them. A process that
encodes a few texts therefore never builds them. A process that encodes more builds them before it has lost as much time
as they take.

Reference: ``ranked`` in :mod:`tokbench.reference.segmentation`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memmove

from threading import Lock

from tokbench.kernels.segmenter cimport Piece, PretokenSegmenter, Scratch
from tokbench.kernels.trie cimport Trie, TrieView, step, token_at


cdef enum:
    LONGEST = 512               # bytes of a pre-token cut without the tables
    QUADRATIC = 64              # bytes of a pre-token whose parts are searched as long as its bytes are read
    NO_TOKEN = 0x7FFFFFFF


cdef inline int64_t effort_of(int64_t size) noexcept nogil:
    return size + size * min(size, <int64_t>LONGEST) // QUADRATIC


cdef class DeferredSegmenter(PretokenSegmenter):
    """Segmenter that builds its tables once they pay, or when it meets a pre-token of more than 512 bytes.

    Args:
        first: Segmenter that is used until then.
        build: Function without arguments that returns the segmenter used from then on, which gives the same ids.
        worth: Bytes of pre-tokens after which the tables are built. A pre-token of n bytes counts as n + n²/64.

    Attributes:
        built: The segmenter with the tables; None before.
    """

    cdef readonly PretokenSegmenter first
    cdef readonly PretokenSegmenter built
    cdef object build
    cdef int64_t worth
    cdef int64_t spent          # of it
    cdef object lock            # of the thread that builds

    def __init__(self, PretokenSegmenter first not None, build: Callable[[], PretokenSegmenter], int64_t worth):
        self.first = first
        self.build = build
        self.built = None
        self.worth = worth
        self.spent = 0
        self.lock = Lock()

    cdef bint ready(self, int64_t effort, int64_t longest) except -1 nogil:
        """Return whether the tables are built; build them if it is time."""
        if self.built is not None:
            return True
        self.spent += effort
        if self.spent <= self.worth and longest <= LONGEST:
            return False
        with gil:
            with self.lock:
                if self.built is None:
                    self.built = self.build()
        return True

    cdef int64_t cut(self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch) except -1 nogil:
        if self.ready(effort_of(size), size):
            return self.built.cut(text, size, ids, scratch)
        return self.first.cut(text, size, ids, scratch)

    cdef int64_t cut_all(self, Piece* pieces, int64_t n, int32_t* ids, Scratch* scratch) except -1 nogil:
        cdef int64_t k, effort = 0, longest = 0
        if self.built is None:
            for k in range(n):
                effort += effort_of(pieces[k].size)
                longest = max(longest, pieces[k].size)
        if self.ready(effort, longest):
            return self.built.cut_all(pieces, n, ids, scratch)
        return self.first.cut_all(pieces, n, ids, scratch)


cdef class RankSegmenter(PretokenSegmenter):
    """Segmenter that joins the neighbours whose concatenation has the lowest id, in quadratic time.

    A pre-token that is a token is not split. For pre-tokens of up to 512 bytes, and for tokens of any length.

    Args:
        tokens: Trie of the tokens, whose ids are their ranks.
    """

    cdef readonly Trie tokens

    def __init__(self, Trie tokens not None):
        self.tokens = tokens

    cdef int32_t spelled(self, const uint8_t* text, int64_t start, int64_t end) noexcept nogil:
        """Return the token of the bytes between two places; NO_TOKEN if there is none."""
        cdef const TrieView* trie = &self.tokens.view
        cdef int32_t node = 0, token
        cdef int64_t k
        if end - start > trie.max_length:
            return NO_TOKEN
        for k in range(start, end):
            node = step(trie, node, text[k])
            if node < 0:
                return NO_TOKEN
        token = token_at(trie, node)
        return token if token >= 0 else <int32_t>NO_TOKEN

    cdef int64_t cut(self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch) except -1 nogil:
        cdef int32_t[LONGEST + 2] starts    # of each part; the last one is the end
        cdef int32_t[LONGEST + 1] joints    # of each part, the token of it and the next one
        cdef int64_t count, i, best
        cdef int32_t lowest
        ids[0] = self.spelled(text, 0, size)
        if ids[0] != NO_TOKEN:
            return 1
        if size > LONGEST:
            with gil:
                raise ValueError(f"a pre-token has {size} bytes, more than {LONGEST}")
        count = size
        for i in range(count + 1):
            starts[i] = <int32_t>i
        for i in range(count):
            ids[i] = self.spelled(text, i, i + 1)
            joints[i] = self.spelled(text, i, i + 2) if i + 1 < count else <int32_t>NO_TOKEN
        while True:
            lowest, best = NO_TOKEN, 0
            for i in range(count - 1):
                if joints[i] < lowest:
                    lowest, best = joints[i], i
            if lowest == NO_TOKEN:
                return count
            ids[best] = lowest
            count -= 1
            memmove(&ids[best + 1], &ids[best + 2], (count - best - 1) * sizeof(int32_t))
            memmove(&starts[best + 1], &starts[best + 2], (count - best) * sizeof(int32_t))
            memmove(&joints[best], &joints[best + 1], (count - best) * sizeof(int32_t))
            if best + 1 < count:
                joints[best] = self.spelled(text, starts[best], starts[best + 2])
            if best:
                joints[best - 1] = self.spelled(text, starts[best - 1], starts[best + 1])
