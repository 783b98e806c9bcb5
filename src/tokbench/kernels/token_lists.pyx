# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Lists of tokens: parsing of a vocabulary's files, concatenation, and validation of merges.

A vocabulary is read whenever a tokenizer is loaded. One pass over a file without an object for each line takes a tenth
of the time of ``splitlines`` and ``bytes.fromhex``.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy

from tokbench.kernels.limits cimport within

import numpy as np


cdef enum:
    NO_DIGIT = -1
    MOST_DIGITS = 10


cdef inline int digit_of(uint8_t sign) noexcept nogil:
    """Return the value of a hexadecimal digit; NO_DIGIT if it is none."""
    if 48 <= sign <= 57:
        return sign - 48
    sign |= 32
    return sign - 87 if 97 <= sign <= 102 else NO_DIGIT


cdef inline bint ends_line(uint8_t sign) noexcept nogil:
    """Return whether ``str.splitlines`` ends a line at this ASCII character."""
    return 10 <= sign <= 13 or 28 <= sign <= 30


cdef inline int64_t after_line(const uint8_t* text, int64_t at, int64_t size) noexcept nogil:
    """Return the start of the next line, for a line that ends at ``at``."""
    return at + 2 if text[at] == 13 and at + 1 < size and text[at + 1] == 10 else at + 1


cdef inline int64_t decode(const uint8_t* text, int64_t* at, int64_t size, uint8_t* made) noexcept nogil:
    """Decode hexadecimal digits, with blanks between bytes, up to a tab or the end of the line.

    Returns:
        The number of bytes written to ``made``, -1 if the digits are invalid. ``at`` is moved to the sign that ends
        them.
    """
    cdef int64_t written = 0
    cdef int high, low
    while at[0] < size and text[at[0]] != 9 and not ends_line(text[at[0]]):
        if text[at[0]] == 32:
            at[0] += 1
            continue
        high = digit_of(text[at[0]])
        low = digit_of(text[at[0] + 1]) if at[0] + 1 < size else NO_DIGIT
        if high < 0 or low < 0:
            return -1
        made[written] = <uint8_t>(high << 4 | low)
        written += 1
        at[0] += 2
    return written


def parse_tokens(const uint8_t[::1] text) -> list[bytes]:
    """Return the bytes of each line of hexadecimal digits, as ``bytes.fromhex`` does.

    Args:
        text: uint8 [bytes], the content of a file.

    Raises:
        ValueError: a line is not hexadecimal; its only argument is the number of the line, from 1.
    """
    cdef int64_t size = text.shape[0], at = 0, written
    cdef const uint8_t* signs = &text[0] if size else NULL
    cdef uint8_t[::1] made = np.empty(size // 2 + 1, np.uint8)
    cdef list tokens = []
    while at < size:
        written = decode(signs, &at, size, &made[0])
        if written < 0 or (at < size and signs[at] == 9):
            raise ValueError(len(tokens) + 1)
        tokens.append(PyBytes_FromStringAndSize(<const char*>&made[0], written))
        if at < size:
            at = after_line(signs, at, size)
    return tokens


def parse_ids(const uint8_t[::1] text, int64_t most) -> NDArray[np.int32]:
    """Return the number on each line, int32 [lines]; decimal digits without leading zeros, 0 to ``most``.

    Args:
        text: uint8 [bytes], the content of a file.
        most: Largest number, below 2^31.

    Raises:
        ValueError: a line is not such a number; its only argument is the number of the line, from 1.
    """
    cdef int64_t size = text.shape[0], at = 0, first, value, lines = 0
    cdef int32_t[::1] numbers
    made = np.empty(size // 2 + 1, np.int32)
    numbers = made
    while at < size:
        first, value = at, 0
        while at < size and 48 <= text[at] <= 57 and at - first < MOST_DIGITS:
            value = value * 10 + text[at] - 48
            at += 1
        lines += 1
        if at == first or value > most or (text[first] == 48 and at - first > 1) or (at < size and text[at] != 10):
            raise ValueError(lines)
        numbers[lines - 1] = <int32_t>value
        at += 1
    return made[:lines].copy()


def flat_tokens(tuple tokens not None) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Concatenate tokens.

    Returns:
        data: uint8 [bytes], concatenated tokens.
        offsets: int64 [tokens + 1], start of each token; the last entry is the end of the last one.

    Raises:
        TypeError: a token is not ``bytes``.
    """
    cdef int64_t n = len(tokens), k, total = 0
    cdef int64_t[::1] starts
    cdef uint8_t[::1] target
    cdef bytes token
    offsets = np.empty(n + 1, np.int64)
    starts = offsets
    starts[0] = 0
    for k in range(n):
        token = tokens[k]
        if token is None:
            raise TypeError("a token is not bytes")
        total += PyBytes_GET_SIZE(token)
        starts[k + 1] = total
    data = np.empty(total, np.uint8)
    target = data
    for k in range(n):
        token = tokens[k]
        if starts[k + 1] > starts[k]:
            memcpy(&target[starts[k]], PyBytes_AS_STRING(token), starts[k + 1] - starts[k])
    return data, offsets


cdef inline uint64_t hash_of(const uint8_t* token, int64_t size) noexcept nogil:
    cdef uint64_t hashed = <uint64_t>size
    cdef int64_t k
    for k in range(size):
        hashed = (hashed ^ token[k]) * <uint64_t>0x9E3779B97F4A7C15
        hashed ^= hashed >> 29
    return hashed


cdef inline int64_t slot_of(
    const int32_t* slots, int64_t mask, const uint8_t* data, const int64_t* offsets, const uint8_t* token, int64_t size
) noexcept nogil:
    """Return the slot of a token, or the free slot for it."""
    cdef int64_t slot = <int64_t>(hash_of(token, size) & <uint64_t>mask)
    cdef int32_t known
    while slots[slot] >= 0:
        known = slots[slot]
        if offsets[known + 1] - offsets[known] == size and memcmp(data + offsets[known], token, size) == 0:
            break
        slot = (slot + 1) & mask
    return slot


def parse_merges(
    const uint8_t[::1] text, const uint8_t[::1] data, const int64_t[::1] offsets
) -> NDArray[np.int32]:
    """Return the merges in a file: two parts in hexadecimal, separated by a tab, on each line.

    Args:
        text: uint8 [bytes], the content of a file.
        data: uint8 [bytes], concatenated tokens, from :func:`flat_tokens`.
        offsets: int64 [tokens + 1], start of each token.

    Returns:
        int32 [lines, 3], index of the two parts and of their concatenation. Of equal tokens, the last one is used.

    Raises:
        ValueError: a line is invalid, or one of the three is not a token; the only argument is the number of the line,
            from 1.
    """
    cdef int64_t size = text.shape[0], n = offsets.shape[0] - 1, at = 0, k, mask = 1, lines = 0, left, right, most = 0
    cdef int64_t[3] sizes, starts
    cdef int32_t[:, ::1] rows
    cdef int32_t[::1] slots
    cdef uint8_t[::1] made = np.empty(size // 2 + 1, np.uint8)
    cdef const uint8_t* signs = &text[0] if size else NULL
    cdef const uint8_t* tokens = &data[0] if data.shape[0] else NULL
    cdef bint wrong = False
    within(n, "tokens")
    for k in range(n):
        if not 0 <= offsets[k] <= offsets[k + 1] <= data.shape[0]:
            raise ValueError("offsets must ascend inside data")
    while mask < 2 * n:
        mask *= 2
    mask -= 1
    slots = np.full(mask + 1, -1, np.int32)
    for k in range(size):
        most += signs[k] == 10
    merges = np.empty((most + 1, 3), np.int32)
    rows = merges
    with nogil:
        for k in range(n):
            slots[slot_of(&slots[0], mask, tokens, &offsets[0], tokens + offsets[k], offsets[k + 1] - offsets[k])] = (
                <int32_t>k
            )
        while at < size and not wrong:
            left = decode(signs, &at, size, &made[0])
            wrong = left < 0 or at >= size or signs[at] != 9
            if not wrong:
                at += 1
                right = decode(signs, &at, size, &made[left])
                wrong = right < 0 or (at < size and signs[at] != 10)
            if not wrong:
                starts[0], starts[1], starts[2] = 0, left, 0
                sizes[0], sizes[1], sizes[2] = left, right, left + right
                for k in range(3):
                    rows[lines, k] = slots[slot_of(&slots[0], mask, tokens, &offsets[0], &made[starts[k]], sizes[k])]
                    wrong |= rows[lines, k] < 0
            lines += 1
            at += 1
    if wrong:
        raise ValueError(lines)
    return merges[:lines]


def wrong_merge(
    const int32_t[:, ::1] merges, const uint8_t[::1] data, const int64_t[::1] offsets
) -> tuple[int, bool] | None:
    """Return the first merge whose result is not the concatenation of its parts; None if there is none.

    Args:
        merges: int32 [m, 3], (left, right, result).
        data: uint8 [bytes], concatenated tokens.
        offsets: int64 [tokens + 1], start of each token.

    Returns:
        The index of the merge, and whether one of its three tokens does not exist.
    """
    cdef int64_t n = offsets.shape[0] - 1, row, k, left, right
    cdef const uint8_t* tokens = &data[0] if data.shape[0] else NULL
    for row in range(merges.shape[0]):
        for k in range(3):
            if not 0 <= merges[row, k] < n:
                return row, True
        left = offsets[merges[row, 0] + 1] - offsets[merges[row, 0]]
        right = offsets[merges[row, 1] + 1] - offsets[merges[row, 1]]
        k = offsets[merges[row, 2]]
        if (
            offsets[merges[row, 2] + 1] - k != left + right
            or memcmp(tokens + k, tokens + offsets[merges[row, 0]], left) != 0
            or memcmp(tokens + k + left, tokens + offsets[merges[row, 1]], right) != 0
        ):
            return row, False
    return None


def joined_bytes(const uint8_t[::1] data, const int64_t[::1] offsets) -> NDArray[np.uint8]:
    """Return uint8 [65536], 1 at ``256 a + b`` if some token contains byte a followed by byte b.

    Args:
        data: uint8 [bytes], concatenated tokens.
        offsets: int64 [tokens + 1], start of each token.
    """
    cdef int64_t k, at
    cdef uint8_t[::1] pairs
    joined = np.zeros(65536, np.uint8)
    pairs = joined
    for k in range(offsets.shape[0] - 1):
        for at in range(offsets[k] + 1, offsets[k + 1]):
            pairs[<int32_t>data[at - 1] << 8 | data[at]] = 1
    return joined
