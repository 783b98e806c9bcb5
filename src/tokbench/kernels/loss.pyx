# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Bytes of a text that are not found, in order, in its decoded ids: an upper bound.

Both are read in parallel. After a difference they agree again at the nearest place within ``WINDOW`` bytes at which some
bytes, up to ``ANCHOR``, are equal.

Reference: :mod:`tokbench.reference.loss`.
"""

from libc.stdint cimport int64_t, uint8_t


cdef enum:
    WINDOW = 64
    ANCHOR = 8


cdef inline bint agree(
    const uint8_t* text, int64_t size, const uint8_t* decoded, int64_t decoded_size, int64_t needed
) noexcept nogil:
    """Return whether some bytes are equal; fewer are enough if both end there."""
    cdef int64_t length = min(needed, size), place
    if length < needed:
        if length != decoded_size:
            return False
    elif decoded_size < needed:
        return False
    for place in range(length):
        if text[place] != decoded[place]:
            return False
    return True


cdef int64_t steps_to_agreement(
    const uint8_t* text, int64_t size, const uint8_t* decoded, int64_t decoded_size, int64_t* steps
) noexcept nogil:
    """Return the steps in the text until both agree again, with the smallest sum, and write those in the decoded text.

    Both steps are 1 if they do not agree again.
    """
    cdef int64_t total, ahead, needed
    for total in range(1, 2 * WINDOW):
        needed = max(2, min(ANCHOR, (total + 1) // 2))
        for ahead in range(max(0, total - WINDOW), min(total, WINDOW, size) + 1):
            steps[0] = total - ahead
            if steps[0] <= decoded_size and agree(
                text + ahead, size - ahead, decoded + steps[0], decoded_size - steps[0], needed
            ):
                return ahead
    steps[0] = 1
    return 1


def bytes_lost(const uint8_t[::1] text not None, const uint8_t[::1] decoded not None) -> int:
    """Return an upper bound on the bytes of a text that are not found, in order, in its decoded ids.

    Args:
        text: uint8 [bytes], the text.
        decoded: uint8 [bytes], its decoded ids.
    """
    cdef const uint8_t* a = &text[0] if text.shape[0] else NULL
    cdef const uint8_t* b = &decoded[0] if decoded.shape[0] else NULL
    cdef int64_t size = text.shape[0], decoded_size = decoded.shape[0], i = 0, j = 0, lost = 0, ahead, steps
    with nogil:
        while True:
            while i < size and j < decoded_size and a[i] == b[j]:
                i += 1
                j += 1
            if i >= size:
                break
            if j >= decoded_size:
                lost += size - i
                break
            ahead = steps_to_agreement(a + i, size - i, b + j, decoded_size - j, &steps)
            lost += ahead
            i += ahead
            j += steps
    return lost
