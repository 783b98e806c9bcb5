# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Segmentation of short pre-tokens by merging, several at a time.

Only the merges that text can need are used (:mod:`tokbench.kernels.derivations`). Every token is made of one pair, and
tokens are numbered by rank. So the number of the token made of a pair is also the rank of the merge. Rank and place
together order all merges of a pre-token.

About half of the merges are certain from the start. These join two bytes for which every other token that could use one
of them, with the byte before or the byte after, has a higher rank. They can be made first, because no other merge
depends on their order. After that, each round makes one merge in each pre-token.

Pairs are in a perfect hash table. A first hash selects the turn (seed) of the second hash. Turns are chosen for the
fullest buckets first, so that all pairs of a bucket get free entries. A pair that is not in the table meets the entry
of another pair and is recognised by comparison.

Source of the table: Belazzougui, Botelho and Dietzfelbinger, "Hash, displace, and compress" (2009), sections 2 and 3.

Reference: ``merge`` in :mod:`tokbench.reference.segmentation`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from tokbench.kernels.derivations cimport Derivations, Derived
from tokbench.kernels.pair_table cimport shift_for

import numpy as np


cdef enum:
    BYTES = 256
    FEWER_BITS = 2          # binary logarithm by which there are fewer turns than places for twice the pairs
    FREE_OF = 7             # pairs per spare entry: a dense table, so that near caches cover more of it
    TURNS = 1 << 8
    MOST_OF_A_TURN = 40
    EMPTY = -1


cdef class Abreast:
    """Table of pairs for :func:`merge_once`.

    Args:
        derivations: Derivations of the tokens, complete.

    Attributes:
        complete: True if all pairs have an entry. This fails only with more than two million tokens, or with negligible
            probability. If False, the table is empty.
    """

    def __init__(self, Derivations derivations not None):
        cdef AbreastView* view = &self.view
        cdef int64_t count = derivations.count, k, entries
        cdef uint64_t[::1] table, pairs
        cdef uint8_t[::1] turns
        cdef int64_t[::1] starts, which
        cdef int32_t[::1] ids
        cdef int32_t[:, ::1] of_bytes
        self.complete = False
        if count >= NOTHING:
            return
        view.turn_shift = shift_for(count) + FEWER_BITS
        view.size = entries = count + count // FREE_OF
        table = np.full(entries, EMPTY, np.int64).view(np.uint64)
        turns = np.zeros(<int64_t>1 << (64 - view.turn_shift), np.uint8)
        pairs = np.empty(count - BYTES, np.uint64)
        which = np.empty(count - BYTES, np.int64)
        ids = np.empty(count, np.int32)
        for k in range(count):
            ids[k] = derivations.view.tokens[k].id
        view.further = ids[count - 1] - <int32_t>(count - 1)
        view.listed = <int32_t>count
        while view.listed > 1 and ids[view.listed - 1] == view.listed - 1 + view.further:
            view.listed -= 1
        for k in range(BYTES, count):
            pairs[k - BYTES] = (
                (<uint64_t>derivations.view.tokens[k].left << NUMBER_BITS | <uint64_t>derivations.view.tokens[k].right)
                << NUMBER_BITS | <uint64_t>k
            )
            which[k - BYTES] = turn_of(view, hash_of_pair(pairs[k - BYTES] >> NUMBER_BITS))
        pairs = np.asarray(pairs)[np.argsort(which, kind="stable")]
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(which, minlength=turns.shape[0]))])
        if not self.put(pairs, starts, table, turns):
            return
        view.entries, view.turns = &table[0], &turns[0]
        of_bytes = np.full((BYTES * BYTES, 4), NOTHING, np.int32)
        self.put_bytes(derivations, of_bytes)
        view.of_bytes, view.ids = <const BytePair*>&of_bytes[0, 0], &ids[0]
        self.arrays = (table, turns, of_bytes, ids)
        self.complete = True

    cdef int put_bytes(self, Derivations derivations, int32_t[:, ::1] of_bytes) except -1:
        """Fill in the table of adjacent byte pairs, initially NOTHING."""
        cdef const Derived* tokens = derivations.view.tokens
        cdef uint8_t[::1] first = np.arange(derivations.count).astype(np.uint8)
        cdef uint8_t[::1] last = first.copy()
        cdef int32_t k, left, right
        cdef BytePair* pair
        # Tokens ascend, so the first of a kind is the lowest.
        for k in range(BYTES, derivations.count):
            left, right = tokens[k].left, tokens[k].right
            first[k], last[k] = first[left], last[right]
            pair = <BytePair*>&of_bytes[<int32_t>last[left] << 8 | first[right], 0]
            if right < BYTES:
                pair.from_left = min(pair.from_left, k)
            if left < BYTES:
                pair.from_right = min(pair.from_right, k)
            if max(left, right) < BYTES:
                pair.number = k
        return 0

    cdef bint put(
        self, uint64_t[::1] pairs, const int64_t[::1] starts, uint64_t[::1] entries, uint8_t[::1] turns
    ) noexcept nogil:
        """Find an entry for every pair; ``pairs`` of the same turn are adjacent. Return whether all have one."""
        cdef const AbreastView* view = &self.view
        cdef int64_t size, which, k, turn
        cdef uint64_t[MOST_OF_A_TURN] taken
        for which in range(turns.shape[0]):
            if starts[which + 1] - starts[which] > MOST_OF_A_TURN:
                return False
        for size in range(MOST_OF_A_TURN, 0, -1):
            for which in range(turns.shape[0]):
                if starts[which + 1] - starts[which] != size:
                    continue
                for turn in range(TURNS + 1):
                    if turn == TURNS:
                        return False
                    k = 0
                    while k < size:
                        taken[k] = entry_of(view, hash_of_pair(pairs[starts[which] + k] >> NUMBER_BITS), turn)
                        if entries[taken[k]] != <uint64_t>EMPTY:
                            break
                        entries[taken[k]] = pairs[starts[which] + k]
                        k += 1
                    if k == size:
                        turns[which] = <uint8_t>turn
                        break
                    while k:
                        k -= 1
                        entries[taken[k]] = <uint64_t>EMPTY
        return True
