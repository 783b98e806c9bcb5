# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Slices of byte arrays: concatenation, repetition and splitting."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy


def lay(
    const uint8_t[::1] data,
    const int64_t[::1] starts,
    const int64_t[::1] offsets,
    int64_t first,
    int64_t last,
    uint8_t[::1] laid,
) -> None:
    """Copy the slices ``first`` to ``last`` (exclusive) to their positions.

    Args:
        data: uint8 [bytes].
        starts: int64 [slices], start of each slice in ``data``.
        offsets: int64 [slices + 1], position of each slice in ``laid``; differences are the lengths.
        first: First slice to copy.
        last: End of the range.
        laid: uint8 [offsets[-1]], output.
    """
    cdef int64_t i, size
    with nogil:
        for i in range(first, last):
            size = offsets[i + 1] - offsets[i]
            if size:
                memcpy(&laid[offsets[i]], &data[starts[i]], size)


def repeat(
    const int32_t[::1] values, const int64_t[::1] offsets, int64_t first, int64_t last, int32_t[::1] repeated
) -> None:
    """Write the values ``first`` to ``last`` (exclusive) for every byte of their slices.

    Args:
        values: int32 [slices].
        offsets: int64 [slices + 1], start of each slice.
        first: First slice.
        last: End of the range.
        repeated: int32 [offsets[-1]], output.
    """
    cdef int64_t i, place
    with nogil:
        for i in range(first, last):
            for place in range(offsets[i], offsets[i + 1]):
                repeated[place] = values[i]


def cut(const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] ends) -> list[bytes]:
    """Return the slices ``data[start:end]`` as separate ``bytes`` objects.

    Args:
        data: uint8 [bytes].
        starts: int64 [slices].
        ends: int64 [slices], each greater than its start.
    """
    cdef int64_t i
    return [
        PyBytes_FromStringAndSize(<const char*>&data[starts[i]], ends[i] - starts[i]) for i in range(starts.shape[0])
    ]
