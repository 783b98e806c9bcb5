# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Conversion of ids to decimal text, to bytes, and back."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

import numpy as np


cdef enum:
    WIDE = 16           # bytes of a token that are copied at once
    DIGITS = 11         # of the longest int32, including its sign or the following space


ctypedef fused Id:
    const int32_t
    const int64_t


def decimals(const int32_t[::1] ids not None) -> bytes:
    """Format non-negative ids as decimal numbers, separated by spaces.

    Raises:
        ValueError: an id is negative.
    """
    cdef int64_t n = ids.shape[0], i, size = 0
    cdef int32_t value
    cdef uint8_t digits[DIGITS]
    cdef int place
    memory = np.empty(max(n, 1) * DIGITS, np.uint8)
    cdef uint8_t[::1] text = memory
    with nogil:
        for i in range(n):
            value = ids[i]
            if value < 0:
                raise ValueError(f"id {value} is negative")
            place = DIGITS
            while True:
                place -= 1
                digits[place] = <uint8_t>(48 + value % 10)
                value //= 10
                if not value:
                    break
            memcpy(&text[size], digits + place, DIGITS - place)
            size += DIGITS - place
            text[size] = 32
            size += 1
    return memory[:max(size - 1, 0)].tobytes()


def from_decimals(const uint8_t[::1] text not None) -> NDArray[np.int64]:
    """Parse decimal numbers separated by white space, with optional signs.

    Returns:
        int64 [numbers].

    Raises:
        ValueError: the text contains anything else, or a number of more than 18 digits.
    """
    cdef int64_t size = text.shape[0], i = 0, n = 0, value, start
    cdef bint negative
    numbers = np.empty(size // 2 + 1, np.int64)
    cdef int64_t[::1] view = numbers
    with nogil:
        while i < size:
            if text[i] == 32 or 9 <= text[i] <= 13:
                i += 1
                continue
            negative = text[i] == c"-"
            i += text[i] == c"-" or text[i] == c"+"
            value = 0
            start = i
            while i < size and 48 <= text[i] <= 57 and i - start < 18:
                value = 10 * value + text[i] - 48
                i += 1
            if i == start or (i < size and not (text[i] == 32 or 9 <= text[i] <= 13)):
                n = -1
                break
            view[n] = -value if negative else value
            n += 1
    if n < 0:
        raise ValueError("not a decimal number")
    return numbers[:n]


def joined(
    Id[::1] ids not None, const uint8_t[::1] data not None, const int64_t[::1] starts not None,
    const int32_t[::1] lengths not None
) -> bytes:
    """Return the concatenated bytes of tokens.

    Args:
        ids: int32 or int64 [n], indices of tokens.
        data: uint8 [bytes], bytes of all tokens.
        starts: int64 [tokens], start of each token in ``data``.
        lengths: int32 [tokens], bytes of each token; -1 for an index without a token.

    Raises:
        IndexError: an id is not the index of a token.
        ValueError: there are more or fewer starts than lengths.
        MemoryError: there is not enough memory.
    """
    cdef int64_t n = ids.shape[0], tokens = lengths.shape[0], limit = data.shape[0] - WIDE, i, size = 0
    cdef int32_t length
    cdef const uint8_t* source
    cdef uint8_t* target
    cdef uint8_t* last
    cdef const uint8_t* bytes_of_tokens = &data[0] if data.shape[0] else NULL
    if starts.shape[0] != tokens:
        raise ValueError(f"{starts.shape[0]} starts for {tokens} tokens")
    with nogil:
        for i in range(n):
            length = lengths[ids[i]] if 0 <= ids[i] < tokens else -1
            if length < 0:
                raise IndexError(f"id {ids[i]} is not the index of a token")
            size += length
    text = PyBytes_FromStringAndSize(NULL, size)
    target = <uint8_t*>PyBytes_AS_STRING(text)
    last = target + size - WIDE
    with nogil:
        for i in range(n):
            length = lengths[ids[i]]
            source = bytes_of_tokens + starts[ids[i]]
            # A copy of a constant size is two instructions; bytes beyond the token are overwritten by the next one.
            if length <= WIDE and target <= last and starts[ids[i]] <= limit:
                memcpy(target, source, WIDE)
            else:
                memcpy(target, source, length)
            target += length
    return text
