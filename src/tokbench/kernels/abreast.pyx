# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Segmentation by merging of short pre-tokens, several at a time.

The merges that text needs are known (:mod:`tokbench.kernels.derivations`): every token is made of one pair, and tokens
are numbered by rank. So what two tokens make is also the rank at which they are merged, and beside the place it orders
all merges of a pre-token.

About half of the merges are certain from the start: those of two bytes for which every token that could take one of
them away, from the left with the byte before or from the right with the byte behind, is of a higher rank. They may come
first, as no merge before them could tell. Of the rest, a round makes one merge of each pre-token.

Pairs are hashed without collisions: a first hash says for each by what turn of the second hash it is found, and turns
are chosen for the fullest first, so that all that share a turn find entries that are free. What is not in the table
meets another pair's entry, which tells.

Source of the table: Belazzougui, Botelho and Dietzfelbinger, "Hash, displace, and compress" (2009), sections 2 and 3.

Reference: ``merge`` in :mod:`tokbench.reference.segmentation`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from tokbench.kernels.derivations cimport Derivations, Derived
from tokbench.kernels.pair_table cimport shift_for

import numpy as np


cdef enum:
    BYTES = 256
    FEWER_BITS = 2          # by which there are fewer turns than places for twice as many pairs
    FREE_OF = 7             # pairs for which an entry is free: few, so that near caches hold more of the table
    TURNS = 1 << 8
    MOST_OF_A_TURN = 40
    EMPTY = -1


cdef class Abreast:
    """What two tokens make, for :func:`merge_once`.

    Args:
        derivations: how tokens are made, complete.

    Attributes:
        complete: whether all pairs have found entries, which fails only of more than two million tokens or by a chance
            of next to nothing. If not, nothing else is there.
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
        """What is known of two bytes side by side, which is ``nothing`` so far."""
        cdef const Derived* tokens = derivations.view.tokens
        cdef uint8_t[::1] first = np.arange(derivations.count).astype(np.uint8)
        cdef uint8_t[::1] last = first.copy()
        cdef int32_t k, left, right
        cdef BytePair* pair
        # Tokens ascend, so that the first of a kind is the least.
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
        """Give every pair an entry; ``pairs`` that share a turn stand together. Whether all have one."""
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
