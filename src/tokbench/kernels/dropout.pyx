# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Segmentation by merging with dropout (Provilkov, Emelianenko and Voita 2020, algorithm 1).

At every step, each possible merge is dropped with probability p, and the best remaining merge is applied. Segmentation
ends when no merge remains. Draws for merges worse than the applied one have no effect. So merges are drawn from the
best on until one remains: 1 / (1 - p) draws per step instead of one per pair. No draw is made for a merge made
impossible by a neighbour's. Hugging Face's implementation draws for such merges and restarts the step if one remains,
so it drops slightly less than the paper specifies.

Unlike plain merging, a pre-token cannot be split into independent pieces: as long as any merge is applied, all other
merges have another chance.

Reference: ``bpe_dropout`` in :mod:`tokbench.reference.segmentation`.
"""

from libc.math cimport ceil
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memmove

from tokbench.kernels.merge cimport MergeSegmenter, MergeTable, drops, merge_long
from tokbench.kernels.pair_table cimport NO_VALUE, value_of
from tokbench.kernels.segmenter cimport Scratch
from tokbench.kernels.splitmix cimport advanced, hashed, mixed


cdef enum:
    SHORT = 48                  # longest pre-token merged by scanning


cdef int64_t merge_short(
    const MergeTable* table, int32_t size, int32_t* ids, uint64_t state, uint64_t dropped
) noexcept nogil:
    """Merge up to SHORT ids in place; return the number of remaining ids."""
    cdef int64_t pairs[SHORT]       # rank and place of the pair that starts at each place
    cdef int64_t nothing = <int64_t>NO_VALUE << 32, best, last
    cdef int32_t i
    for i in range(size - 1):
        pairs[i] = <int64_t>value_of(&table.rows, ids[i], ids[i + 1]) << 32 | i
    while True:
        best = -1
        while True:
            last = best
            best = nothing
            for i in range(size - 1):
                if last < pairs[i] < best:
                    best = pairs[i]
            if best == nothing:
                return size
            if not drops(&state, dropped):
                break
        i = <int32_t><uint32_t>best
        ids[i] = table.results[best >> 32]
        size -= 1
        memmove(&ids[i + 1], &ids[i + 2], (size - i - 1) * sizeof(int32_t))
        for i in range(i + 1, size - 1):
            pairs[i] = pairs[i + 1] - 1
        i = <int32_t><uint32_t>best
        if i + 1 < size:
            pairs[i] = <int64_t>value_of(&table.rows, ids[i], ids[i + 1]) << 32 | i
        if i:
            pairs[i - 1] = <int64_t>value_of(&table.rows, ids[i - 1], ids[i]) << 32 | i - 1


cdef class DropoutSegmenter(MergeSegmenter):
    """Segmenter that joins the adjacent pair of the lowest rank that is not dropped, the leftmost first, until all are
    dropped.

    Args:
        merges: As for :class:`MergeSegmenter`.
        byte_ids: As for :class:`MergeSegmenter`.
        joined: As for :class:`MergeSegmenter`.
        dropout: Probability with which a possible merge is dropped in a step, 0 to 1, with a resolution of 2^-53.
        seed: Seed of the draws, 0 to 2^64 - 1 (default: 0).
        placed: Whether draws depend on the place in a document, so that equal pre-tokens may differ (default: False).

    Raises:
        ValueError: an array has another shape, or ``dropout`` is not a probability.
    """

    def __init__(
        self,
        merges: NDArray[np.int32],
        byte_ids: NDArray[np.int32],
        joined: NDArray[np.uint8],
        double dropout,
        uint64_t seed=0,
        bint placed=False,
    ):
        super().__init__(merges, byte_ids, joined, derive=False)
        if not 0 <= dropout <= 1:
            raise ValueError(f"dropout is {dropout}, not a probability")
        self.dropped = <uint64_t>ceil(dropout * 2.0 ** 53)
        self.seed = seed
        self.placed = placed and 0 < dropout < 1

    cdef int64_t cut(self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch) except -1 nogil:
        return self.cut_at(text, size, ids, scratch, 0)

    cdef int64_t cut_at(
        self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch, uint64_t place
    ) except -1 nogil:
        cdef uint64_t state
        cdef int64_t i
        if self.dropped == 0:
            return MergeSegmenter.cut(self, text, size, ids, scratch)
        for i in range(size):
            ids[i] = self.table.byte_ids[text[i]]
        if self.dropped == <uint64_t>1 << 53:
            return size
        state = mixed(hashed(text, size) ^ place ^ mixed(advanced(self.seed)))
        if size <= SHORT:
            return merge_short(&self.table, <int32_t>size, ids, state, self.dropped)
        return merge_long(&self.table, <int32_t>size, ids, scratch, state, self.dropped)
