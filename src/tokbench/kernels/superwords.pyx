# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Superwords: runs of pre-tokens in documents, their counts, and their segmentation by supermerges.

A segmenter of pre-tokens marks each pre-token that is a single token and may join others: it returns ``~id`` for it. So
encoders cache marked pre-tokens like others. A run is a maximal sequence of marked ids in a document. Supermerges
are applied to runs, the lowest rank first, each at all its places from left to right.

Reference: ``boundless`` in :mod:`tokbench.reference.superwords`.
"""

import numpy as np

from cython.operator cimport dereference, preincrement
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.utility cimport pair as couple
from libcpp.vector cimport vector

from tokbench.kernels.exceptions cimport ready_to_throw
from tokbench.kernels.heap cimport sift_down, sift_up
from tokbench.kernels.limits cimport within
from tokbench.kernels.pair_table cimport NO_VALUE, Pair, PairTable, shift_for, slot_of, value_of
from tokbench.kernels.segmenter cimport PretokenSegmenter, Scratch


cdef int check_bounds(const int64_t[::1] bounds, int64_t size) except -1 nogil:
    """Reject bounds that do not ascend inside an array."""
    cdef int64_t i, before = 0
    if bounds.shape[0] < 1:
        with gil:
            raise ValueError("bounds must have one entry more than there are documents")
    for i in range(bounds.shape[0]):
        if not before <= bounds[i] <= size:
            with gil:
                raise ValueError("bounds must ascend inside the array")
        before = bounds[i]
    return 0


cdef class RunCounter:
    """Counter of distinct runs of two or more symbols."""

    cdef unordered_map[string, int64_t] runs

    def __len__(self) -> int:
        """Return the number of distinct runs."""
        return self.runs.size()

    def add(self, const int32_t[::1] ids, const int64_t[::1] bounds) -> None:
        """Count the runs of marked ids in documents.

        Args:
            ids: int32 [tokens], concatenated ids of the documents, ``~id`` for marked pre-tokens.
            bounds: int64 [documents + 1], start of each document's ids.

        Raises:
            ValueError: the bounds do not ascend inside ``ids``.
            MemoryError: there is not enough memory.
        """
        cdef int64_t i, at
        cdef vector[int32_t] run
        ready_to_throw()
        with nogil:
            check_bounds(bounds, ids.shape[0])
            for i in range(bounds.shape[0] - 1):
                at = bounds[i]
                while at < bounds[i + 1]:
                    run.clear()
                    while at < bounds[i + 1] and ids[at] < 0:
                        run.push_back(~ids[at])
                        at += 1
                    if run.size() >= 2:
                        self.count(run.data(), run.size(), 1)
                    at += run.empty()

    def add_counted(
        self, const int32_t[::1] symbols, const int64_t[::1] bounds, const int64_t[::1] counts
    ) -> None:
        """Add sequences with their counts; those of fewer than two symbols are ignored.

        Args:
            symbols: int32 [n], concatenated sequences.
            bounds: int64 [sequences + 1], start of each sequence.
            counts: int64 [sequences], count of each sequence.

        Raises:
            ValueError: the bounds do not ascend inside ``symbols``, or the numbers of sequences differ.
            MemoryError: there is not enough memory.
        """
        cdef int64_t i
        ready_to_throw()
        with nogil:
            check_bounds(bounds, symbols.shape[0])
            if counts.shape[0] != bounds.shape[0] - 1:
                with gil:
                    raise ValueError("there must be one count for each sequence")
            for i in range(counts.shape[0]):
                if bounds[i + 1] - bounds[i] >= 2:
                    self.count(&symbols[bounds[i]], bounds[i + 1] - bounds[i], counts[i])

    cdef int count(self, const int32_t* run, int64_t size, int64_t count) except -1 nogil:
        cdef string key
        cdef unordered_map[string, int64_t].iterator known
        cdef int64_t* times
        key.assign(<const char*>run, size * sizeof(int32_t))
        known = self.runs.find(key)
        if known == self.runs.end():
            self.runs.insert(couple[string, int64_t](key, count))
        else:
            times = &dereference(known).second
            times[0] += count
        return 0

    def counted(self) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
        """Return the distinct runs in no particular order.

        Returns:
            symbols: int32 [n], concatenated runs.
            bounds: int64 [runs + 1], start of each run.
            counts: int64 [runs], occurrences of each run.
        """
        cdef unordered_map[string, int64_t].iterator run = self.runs.begin()
        cdef int64_t total = 0, i = 0, k
        cdef const int32_t* symbols
        while run != self.runs.end():
            total += dereference(run).first.size() // sizeof(int32_t)
            preincrement(run)
        all_symbols = np.empty(total, np.int32)
        all_bounds = np.zeros(self.runs.size() + 1, np.int64)
        all_counts = np.empty(self.runs.size(), np.int64)
        cdef int32_t[::1] written = all_symbols
        cdef int64_t[::1] bounds = all_bounds, counts = all_counts
        run = self.runs.begin()
        while run != self.runs.end():
            symbols = <const int32_t*>dereference(run).first.data()
            bounds[i + 1] = bounds[i] + <int64_t>(dereference(run).first.size() // sizeof(int32_t))
            for k in range(bounds[i + 1] - bounds[i]):
                written[bounds[i] + k] = symbols[k]
            counts[i] = dereference(run).second
            i += 1
            preincrement(run)
        return all_symbols, all_bounds, all_counts


def greedy_pieces(const int32_t[::1] longest, const int64_t[::1] bounds) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split sequences from left to right into the longest known pieces.

    Args:
        longest: int32 [n], length of the longest known piece that starts at each position; 1 if there is none.
        bounds: int64 [sequences + 1], start of each sequence.

    Returns:
        starts: int64 [pieces + 1], start of each piece; the last entry is the end.
        sequences: int64 [pieces], sequence of each piece.

    Raises:
        ValueError: the bounds do not ascend inside ``longest``.
    """
    cdef vector[int64_t] starts, owners
    cdef int64_t i, at
    ready_to_throw()
    with nogil:
        check_bounds(bounds, longest.shape[0])
        for i in range(bounds.shape[0] - 1):
            at = bounds[i]
            while at < bounds[i + 1]:
                starts.push_back(at)
                owners.push_back(i)
                at = min(at + max(longest[at], 1), bounds[i + 1])
        starts.push_back(bounds[bounds.shape[0] - 1])
    all_starts, sequences = np.empty(starts.size(), np.int64), np.empty(owners.size(), np.int64)
    cdef int64_t[::1] start = all_starts, owner = sequences
    for i in range(<int64_t>owners.size()):
        start[i], owner[i] = starts[i], owners[i]
    start[owners.size()] = starts.back()
    return all_starts, sequences


cdef struct Run:
    vector[int32_t] ids
    vector[int32_t] before      # position of the token before; -1 at the start
    vector[int32_t] after       # position of the token after; the size at the end
    vector[int32_t] due         # rank of the pair at a position, or NO_VALUE
    vector[uint64_t] heap       # rank << 32 | position
    vector[int32_t] changed     # positions whose pairs the current rank changed
    int64_t entries


cdef inline void look(const PairTable* table, Run* run, int32_t at) noexcept nogil:
    """Find the rank of the pair at a position."""
    cdef int32_t right = run.after[at]
    run.due[at] = NO_VALUE
    if right < <int32_t>run.ids.size():
        run.due[at] = value_of(table, run.ids[at], run.ids[right])


cdef inline void queue_up(Run* run, int32_t at) noexcept nogil:
    if run.due[at] != NO_VALUE:
        sift_up(run.heap.data(), run.entries, (<uint64_t>run.due[at] << 32) | <uint64_t>at)
        run.entries += 1


cdef int lay_run(const PairTable* table, Run* run, const int32_t* marked, int64_t size) except -1 nogil:
    """Begin with the symbols of a run, given as marked ids."""
    cdef int64_t i
    within(size, "pre-tokens of a run")
    run.ids.resize(size)
    run.before.resize(size)
    run.after.resize(size)
    run.due.resize(size)
    run.heap.resize(3 * size)   # each of less than ``size`` merges changes two pairs
    run.entries = 0
    for i in range(size):
        run.ids[i], run.before[i], run.after[i] = ~marked[i], <int32_t>(i - 1), <int32_t>(i + 1)
    for i in range(size):
        look(table, run, <int32_t>i)
        queue_up(run, <int32_t>i)
    return 0


cdef int join_run(const PairTable* table, const int32_t* results, Run* run) except -1 nogil:
    """Apply the lowest rank at all its places, from left to right, until none applies."""
    cdef int32_t rank, at, right
    cdef size_t i
    while run.entries:
        rank = <int32_t>(run.heap[0] >> 32)
        run.changed.clear()
        while run.entries and <int32_t>(run.heap[0] >> 32) == rank:
            at = <int32_t><uint32_t>run.heap[0]
            run.entries -= 1
            if run.entries:
                sift_down(run.heap.data(), run.entries, 0, run.heap[run.entries])
            if run.due[at] != rank:
                continue
            right = run.after[at]
            run.ids[at], run.due[right] = results[rank], NO_VALUE
            run.after[at] = run.after[right]
            if run.after[at] < <int32_t>run.ids.size():
                run.before[run.after[at]] = at
            look(table, run, at)
            run.changed.push_back(at)
            if run.before[at] >= 0:
                look(table, run, run.before[at])
                run.changed.push_back(run.before[at])
        for i in range(run.changed.size()):
            queue_up(run, run.changed[i])
    return 0


cdef class SuperwordSegmenter(PretokenSegmenter):
    """Segmenter of documents: pre-tokens by another segmenter, then supermerges in runs of single-token pre-tokens.

    Args:
        base: Segmenter of pre-tokens, not ``placed``.
        sides: bool [tokens], True for tokens that may join others if they are a pre-token. Other ids are never marked.
        merges: int32 [m, 3], supermerges in order of rank: left, right, result.

    Raises:
        ValueError: ``base`` is placed, or an id is negative.
        OverflowError: there are 2^31 merges or more.
    """

    cdef PretokenSegmenter base
    cdef const uint8_t[::1] sides
    cdef const int32_t[::1] results
    cdef PairTable table
    cdef object pairs

    def __init__(self, PretokenSegmenter base not None, sides: NDArray[np.bool_], merges: NDArray[np.int32]):
        cdef const int32_t[:, ::1] rows = np.ascontiguousarray(merges, np.int32).reshape(-1, 3)
        cdef int32_t[:, ::1] pairs
        cdef int64_t rank
        cdef Pair* pair
        if base.placed or (rows.shape[0] and np.min(merges) < 0):
            raise ValueError("the base must not be placed, and an id must not be negative")
        within(rows.shape[0] + 1, "merges")
        self.base = base
        self.sides = np.append(sides, False).astype(np.uint8)
        self.results = np.append(np.asarray(rows)[:, 2], 0).astype(np.int32)
        self.table.shift = shift_for(rows.shape[0])
        pairs = np.full((<int64_t>1 << (64 - self.table.shift), 3), [-1, -1, NO_VALUE], np.int32)
        self.table.pairs = <Pair*>&pairs[0, 0]
        self.pairs = pairs
        for rank in range(rows.shape[0] - 1, -1, -1):
            pair = slot_of(&self.table, rows[rank, 0], rows[rank, 1])
            pair.left, pair.right, pair.value = rows[rank, 0], rows[rank, 1], <int32_t>rank

    cdef int64_t cut(self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch) except -1 nogil:
        """Write the ids of a pre-token; ``~id`` if it is a single token that may join others."""
        cdef int64_t written = self.base.cut(text, size, ids, scratch)
        if written == 1 and ids[0] < self.sides.shape[0] and self.sides[ids[0]]:
            ids[0] = ~ids[0]
        return written

    def marked(self, const uint8_t[::1] data, const int64_t[::1] offsets) -> NDArray[np.int32]:
        """Return the ids of the pre-tokens of a document, int32 [tokens], ``~id`` for marked ones."""
        return PretokenSegmenter.segment(self, data, offsets)[0]

    def segment(
        self, const uint8_t[::1] data, const int64_t[::1] offsets, document: int | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Segment one document.

        Args:
            data: uint8 [bytes], the document.
            offsets: int64 [n + 1], boundaries of its pre-tokens.
            document: Not used.

        Returns:
            ids: int32 [tokens].
            bounds: int64 [2], 0 and the number of tokens.
        """
        ids = self.marked(data, offsets)
        return self.join(ids, np.array([0, len(ids)]))

    def join(
        self, const int32_t[::1] ids, const int64_t[::1] bounds
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Apply supermerges to the runs of marked ids in documents, without the GIL.

        Args:
            ids: int32 [tokens], concatenated ids of the documents, ``~id`` for marked pre-tokens.
            bounds: int64 [documents + 1], start of each document's ids, from 0.

        Returns:
            ids: int32 [joined tokens], all without marks.
            bounds: int64 [documents + 1].

        Raises:
            ValueError: the bounds do not ascend inside ``ids``.
            OverflowError: a run has 2^31 pre-tokens or more.
            MemoryError: there is not enough memory.
        """
        cdef int64_t i, at, end, written = 0
        cdef int32_t place
        cdef Run run
        joined = np.empty(max(ids.shape[0], 1), np.int32)
        ends = np.zeros(bounds.shape[0], np.int64)
        cdef int32_t[::1] output = joined
        cdef int64_t[::1] output_ends = ends
        ready_to_throw()
        with nogil:
            check_bounds(bounds, ids.shape[0])
            for i in range(bounds.shape[0] - 1):
                at = bounds[i]
                while at < bounds[i + 1]:
                    end = at
                    while end < bounds[i + 1] and ids[end] < 0:
                        end += 1
                    if end - at < 2:
                        output[written] = ids[at] if ids[at] >= 0 else ~ids[at]
                        written += 1
                        at += 1
                        continue
                    lay_run(&self.table, &run, &ids[at], end - at)
                    join_run(&self.table, &self.results[0], &run)
                    place = 0
                    while place < end - at:
                        output[written] = run.ids[place]
                        written += 1
                        place = run.after[place]
                    at = end
                output_ends[i + 1] = written
        return joined[:written].copy(), ends
