# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Edit distance of token sequences (Levenshtein 1966): the fewest insertions, deletions and replacements of tokens.

Equal tokens at both ends are skipped. Only cells near the diagonal are computed: a path of at most d edits stays within
d cells of it (Ukkonen 1985). The band is doubled until the distance fits into it.

Reference: :mod:`tokbench.reference.edit_distance`.
"""

from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from tokbench.kernels.exceptions cimport ready_to_throw

import numpy as np


cdef enum:
    FIRST_BAND = 8


cdef int64_t distance_within(
    const int32_t* a, int64_t n, const int32_t* b, int64_t m, int64_t band, vector[int64_t]* row
) except -1 nogil:
    """Return the distance if it is at most ``band``, otherwise ``band`` + 1. ``m`` is at least ``n``."""
    cdef int64_t width = 2 * band + 1, i, k, j, best, far = band + 1
    cdef int64_t* cells
    if m - n > band:
        return far
    # Cell k of row i belongs to column i + k - band. One more cell stays out of reach.
    row.assign(width + 1, far)
    cells = row.data()
    for k in range(band, min(width, band + m + 1)):
        cells[k] = k - band
    for i in range(1, n + 1):
        for k in range(width):
            j = i + k - band
            best = far
            if 0 <= j <= m:
                best = min(best, cells[k + 1] + 1)
                if j:
                    best = min(best, cells[k] + (a[i - 1] != b[j - 1]))
                    best = min(best, cells[k - 1] + 1 if k else far)
            cells[k] = best
    return cells[m - n + band]


cdef int64_t distance(const int32_t* a, int64_t n, const int32_t* b, int64_t m, vector[int64_t]* row) except -1 nogil:
    cdef int64_t band = FIRST_BAND, found
    while n and m and a[n - 1] == b[m - 1]:
        n -= 1
        m -= 1
    while n and m and a[0] == b[0]:
        a, b = a + 1, b + 1
        n -= 1
        m -= 1
    if n > m:
        a, b, n, m = b, a, m, n
    while n:
        found = distance_within(a, n, b, m, band, row)
        if found <= band:
            return found
        band *= 2
    return m


def distances(
    const int32_t[::1] ids not None,
    const int64_t[::1] bounds not None,
    const int32_t[::1] other_ids not None,
    const int64_t[::1] other_bounds not None,
) -> NDArray[np.int64]:
    """Return the edit distances of pairs of token sequences.

    Args:
        ids: int32 [tokens], concatenated first sequences.
        bounds: int64 [n + 1], start of each; the last entry is the end of the last one.
        other_ids: int32 [tokens], concatenated second sequences.
        other_bounds: int64 [n + 1].

    Returns:
        int64 [n].

    Raises:
        ValueError: the numbers of sequences differ, or bounds do not ascend within the ids.
        MemoryError: there is not enough memory.
    """
    cdef int64_t n = bounds.shape[0] - 1, i
    cdef int64_t[::1] view
    cdef vector[int64_t] row
    if n < 0 or other_bounds.shape[0] != n + 1:
        raise ValueError("the two lists must have equal numbers of sequences")
    for i in range(n + 1):
        if not 0 <= bounds[i] <= ids.shape[0] or not 0 <= other_bounds[i] <= other_ids.shape[0]:
            raise ValueError("bounds must be within the ids")
        if i and (bounds[i] < bounds[i - 1] or other_bounds[i] < other_bounds[i - 1]):
            raise ValueError("bounds must ascend")
    found = np.zeros(n, np.int64)
    view = found
    ready_to_throw()
    with nogil:
        for i in range(n):
            view[i] = distance(
                &ids[0] + bounds[i] if ids.shape[0] else NULL, bounds[i + 1] - bounds[i],
                &other_ids[0] + other_bounds[i] if other_ids.shape[0] else NULL,
                other_bounds[i + 1] - other_bounds[i], &row,
            )
    return found
