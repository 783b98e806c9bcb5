# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Runs of bytes shared with other texts, by a hash table of all runs of one length.

Reference: ``shared_bytes`` in :mod:`tokbench.reference.ngram`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp

import numpy as np

cdef uint64_t BASE = 0x9E3779B97F4A7C15      # odd, so that each byte of a run changes its hash
cdef uint64_t SPREAD = 0xD6E8FEB86659FD93    # multiplier whose product's high bits index the table


cdef class RunTable:
    """Hash table of the distinct runs of ``length`` bytes in some texts, at the place of their first occurrence.

    Args:
        data: uint8 [bytes], concatenated texts; fewer than 2^31 bytes.
        offsets: int64 [texts + 1], start of each text.
        length: Length of a run in bytes.
    """

    cdef const uint8_t[::1] data
    cdef const int64_t[::1] offsets
    cdef int32_t[::1] places     # 1 + the place of the run in each slot, 0 if it is free
    cdef uint8_t[::1] shared     # 1 if the run that first occurs at a place is in another text
    cdef int64_t length
    cdef uint64_t leading        # weight of the byte that leaves a run
    cdef int bits

    def __init__(self, const uint8_t[::1] data, const int64_t[::1] offsets, int64_t length) -> None:
        cdef int64_t slots = 4
        self.data, self.offsets, self.length, self.bits = data, offsets, length, 2
        while 3 * slots < 4 * data.shape[0]:
            slots *= 2
            self.bits += 1
        self.places = np.zeros(slots, np.int32)
        self.shared = np.zeros(max(1, data.shape[0]), np.uint8)
        self.leading = 1
        cdef int64_t step, text
        for step in range(length - 1):
            self.leading *= BASE
        with nogil:
            for text in range(offsets.shape[0] - 1):
                self._enter(offsets[text], offsets[text + 1])

    cdef uint64_t _first(self, const uint8_t* text) noexcept nogil:
        cdef uint64_t total = 0
        cdef int64_t place
        for place in range(self.length):
            total = total * BASE + text[place] + 1
        return total

    cdef int64_t _slot(self, uint64_t total, const uint8_t* run) noexcept nogil:
        """Return the slot of a run, or the free slot for it."""
        cdef int64_t slot = <int64_t>((total * SPREAD) >> (64 - self.bits))
        while self.places[slot] and memcmp(&self.data[self.places[slot] - 1], run, self.length):
            slot = (slot + 1) & (self.places.shape[0] - 1)
        return slot

    cdef void _enter(self, int64_t start, int64_t end) noexcept nogil:
        cdef uint64_t total
        cdef int64_t place, slot
        if end - start < self.length:
            return
        total = self._first(&self.data[start])
        for place in range(start, end - self.length + 1):
            if place > start:
                total = (total - (self.data[place - 1] + 1) * self.leading) * BASE
                total += self.data[place + self.length - 1] + 1
            slot = self._slot(total, &self.data[place])
            if not self.places[slot]:
                self.places[slot] = <int32_t>(place + 1)

    def mark(self, const uint8_t[::1] text) -> None:
        """Mark the runs that occur in another text.

        Args:
            text: uint8 [bytes].
        """
        cdef uint64_t total
        cdef int64_t place, slot
        if text.shape[0] < self.length:
            return
        with nogil:
            total = self._first(&text[0])
            for place in range(text.shape[0] - self.length + 1):
                if place:
                    total = (total - (text[place - 1] + 1) * self.leading) * BASE + text[place + self.length - 1] + 1
                slot = self._slot(total, &text[place])
                if self.places[slot]:
                    self.shared[self.places[slot] - 1] = 1

    def shared_bytes(self) -> NDArray[np.int64]:
        """Return the number of bytes of each text inside a marked run, int64 [texts], and clear all marks."""
        counted = np.zeros(self.offsets.shape[0] - 1, np.int64)
        cdef int64_t[::1] found = counted
        cdef int64_t text, start, end, place, reach
        cdef uint64_t total
        with nogil:
            for text in range(found.shape[0]):
                start, end = self.offsets[text], self.offsets[text + 1]
                if end - start < self.length:
                    continue
                reach = start
                total = self._first(&self.data[start])
                for place in range(start, end - self.length + 1):
                    if place > start:
                        total = (total - (self.data[place - 1] + 1) * self.leading) * BASE
                        total += self.data[place + self.length - 1] + 1
                    if self.shared[self.places[self._slot(total, &self.data[place])] - 1]:
                        found[text] += place + self.length - max(reach, place)
                        reach = place + self.length
        self.shared[:] = 0
        return counted
