# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
# distutils: extra_compile_args = -O3
"""Greedy choice of substrings that join the most adjacent bytes of counted words: GreedTok, and GreedWMC's relaxation.

Lim, Choo and Lauw, "A partition cover approach to tokenization" (2025), sections 3 and 4. The state is one bit for each
cut between adjacent bytes; joining clears it. What a substring joins at one place only shrinks, so that an old sum over
all its places bounds its gain from above, and only substrings with the greatest bounds are looked at again. Substrings
with the same places are kept as one group, whose bound is that of the best of its lengths.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

cdef extern from *:
    int popcount "__builtin_popcountll"(unsigned long long) nogil
    int trailing_zeros "__builtin_ctzll"(unsigned long long) nogil


cdef enum:
    UNKNOWN = 0
    APART = 1       # the places of a group's longest substring do not overlap
    OVERLAPPING = 2


cdef struct Entry:
    int64_t gain
    int32_t length
    int32_t group


cdef struct Evaluation:
    Entry bound     # the gain if overlapping places did not get into each other's way
    Entry exact


cdef inline bint precedes(Entry one, Entry other) noexcept nogil:
    """Order of choice: the greater gain, the shorter substring, the lesser bytes."""
    if one.gain != other.gain:
        return one.gain > other.gain
    return one.group < other.group if one.length == other.length else one.length < other.length


cdef void sift_down(vector[Entry]& heap, size_t hole, Entry entry) noexcept nogil:
    """Put ``entry`` where it belongs at or below ``hole``."""
    cdef size_t child
    while True:
        child = 2 * hole + 1
        if child >= heap.size():
            break
        if child + 1 < heap.size() and precedes(heap[child + 1], heap[child]):
            child += 1
        if precedes(entry, heap[child]):
            break
        heap[hole] = heap[child]
        hole = child
    heap[hole] = entry


cdef void push(vector[Entry]& heap, Entry entry) noexcept nogil:
    cdef size_t hole = heap.size(), above
    heap.push_back(entry)
    while hole > 0:
        above = (hole - 1) // 2
        if precedes(heap[above], entry):
            break
        heap[hole] = heap[above]
        hole = above
    heap[hole] = entry


cdef Entry pop(vector[Entry]& heap) noexcept nogil:
    cdef Entry top = heap[0], last = heap.back()
    heap.pop_back()
    if heap.size() > 0:
        sift_down(heap, 0, last)
    return top


cdef class Partition:
    """GreedTok: a substring joins bytes where cuts stand at both its ends, from left to right without overlaps."""

    cdef const uint8_t[::1] data
    cdef const int64_t[::1] counts
    cdef const int32_t[::1] words           # word of each byte
    cdef const int32_t[::1] suffixes
    cdef const int32_t[:, ::1] groups
    cdef vector[uint64_t] cuts              # bit p stands before byte p; ends of words are always cut
    cdef vector[uint8_t] overlaps           # of each group: UNKNOWN, APART or OVERLAPPING
    cdef vector[Entry] heap
    cdef vector[Entry] aside
    cdef vector[int32_t] places
    cdef vector[int64_t] sums               # by length, from the group's shortest
    cdef vector[int64_t] exact_sums
    cdef vector[int32_t] free_from          # by length, the end of the last place taken

    cdef inline uint64_t cuts_from(self, int64_t place) noexcept nogil:
        """The 64 cuts from ``place`` on."""
        cdef int64_t at = place >> 6, shift = place & 63
        return (self.cuts[at] >> shift) | ((self.cuts[at + 1] << 1) << (63 - shift))

    cdef inline int32_t next_cut(self, int32_t place, int32_t end) noexcept nogil:
        """The first cut at or after ``place`` and before ``end``; ``end`` where there is none."""
        cdef uint64_t some
        while place < end:
            some = self.cuts_from(place)
            if some:
                return min(end, place + trailing_zeros(some))
            place += 64
        return end

    cdef void join(self, int32_t start, int32_t end) noexcept nogil:
        """Clear the cuts strictly between two places."""
        cdef int64_t place = start + 1, stop
        while place < end:
            stop = min(<int64_t>end, (place | 63) + 1)
            self.cuts[place >> 6] &= ~((~<uint64_t>0 >> (64 - (stop - place))) << (place & 63))
            place = stop

    cdef bint find_overlaps(self, int32_t group) noexcept nogil:
        """Whether places of a group overlap; if so, they are left in order in ``places``."""
        cdef int32_t low = self.groups[group, 0], high = self.groups[group, 1], length = self.groups[group, 3], i
        cdef const uint8_t* spelling = &self.data[self.suffixes[low]]
        if self.overlaps[group] == UNKNOWN:
            self.overlaps[group] = APART
            if high - low > 1:
                for i in range(1, length):
                    if spelling[i] == spelling[0] and memcmp(spelling, spelling + i, length - i) == 0:
                        self.overlaps[group] = OVERLAPPING      # by its bytes it might; do its places?
                        break
            if self.overlaps[group] == OVERLAPPING:
                self.order_places(low, high)
                self.overlaps[group] = APART
                for i in range(1, high - low):
                    if self.places[i] - self.places[i - 1] < length:
                        self.overlaps[group] = OVERLAPPING
                        return True
        if self.overlaps[group] == OVERLAPPING:
            self.order_places(low, high)
            return True
        return False

    cdef void order_places(self, int32_t low, int32_t high) noexcept nogil:
        self.places.assign(&self.suffixes[low], &self.suffixes[low] + (high - low))
        sort(self.places.begin(), self.places.end())

    cdef Entry best_of(self, const vector[int64_t]& sums, int32_t group) noexcept nogil:
        """The best length of a group; ``sums`` may be empty where all are 0."""
        cdef Entry best
        cdef size_t i
        best.gain, best.length, best.group = 0, self.groups[group, 2], group
        for i in range(sums.size()):
            if sums[i] > best.gain:
                best.gain, best.length = sums[i], self.groups[group, 2] + <int32_t>i
        return best

    cdef Evaluation evaluate(self, int32_t group) noexcept nogil:
        """The best of a group's substrings as things stand."""
        cdef int32_t low = self.groups[group, 0], high = self.groups[group, 1]
        cdef int32_t shortest = self.groups[group, 2], longest = self.groups[group, 3]
        cdef int32_t i, place, cut, joined
        cdef int64_t sum = 0
        cdef uint64_t some, ends, inner
        cdef Evaluation found
        if self.find_overlaps(group):
            return self.evaluate_overlapping(group)
        if shortest == longest < 64:
            ends = (<uint64_t>1 << longest) | 1
            inner = (<uint64_t>1 << longest) - 2
            for i in range(low, high):
                some = self.cuts_from(self.suffixes[i])
                if some & ends == ends and some & inner:
                    sum += popcount(some & inner) * self.counts[self.words[self.suffixes[i]]]
            found.bound.gain, found.bound.length, found.bound.group = sum, longest, group
        else:
            self.sums.clear()
            for i in range(low, high):
                place = self.suffixes[i]
                if self.cuts_from(place) & 1:
                    self.sums.resize(longest - shortest + 1)    # not before a place is found: most groups have none
                    joined = 0
                    cut = self.next_cut(place + 1, place + longest + 1)
                    while cut <= place + longest:
                        if cut - place >= shortest:
                            self.sums[cut - place - shortest] += joined * self.counts[self.words[place]]
                        joined += 1
                        cut = self.next_cut(cut + 1, place + longest + 1)
            found.bound = self.best_of(self.sums, group)
        found.exact = found.bound
        return found

    cdef Evaluation evaluate_overlapping(self, int32_t group) noexcept nogil:
        """As ``evaluate``; the group's places are in order in ``places``."""
        cdef int32_t shortest = self.groups[group, 2], longest = self.groups[group, 3]
        cdef int32_t place, cut, joined, length
        cdef size_t i
        cdef Evaluation found
        self.sums.assign(longest - shortest + 1, 0)
        self.exact_sums.assign(longest - shortest + 1, 0)
        self.free_from.assign(longest - shortest + 1, 0)
        for i in range(self.places.size()):
            place = self.places[i]
            if self.cuts_from(place) & 1:
                joined = 0
                cut = self.next_cut(place + 1, place + longest + 1)
                while cut <= place + longest:
                    length = cut - place
                    if length >= shortest:
                        self.sums[length - shortest] += joined * self.counts[self.words[place]]
                        if place >= self.free_from[length - shortest]:
                            self.exact_sums[length - shortest] += joined * self.counts[self.words[place]]
                            self.free_from[length - shortest] = cut
                    joined += 1
                    cut = self.next_cut(cut + 1, place + longest + 1)
        found.bound = self.best_of(self.sums, group)
        found.exact = self.best_of(self.exact_sums, group)
        return found

    cdef void apply(self, Entry choice) noexcept nogil:
        """Join the bytes of a substring at its places."""
        cdef int32_t i, low = self.groups[choice.group, 0], high = self.groups[choice.group, 1]
        if not self.find_overlaps(choice.group):
            self.places.assign(&self.suffixes[low], &self.suffixes[low] + (high - low))
        for i in range(high - low):
            if self.cuts_from(self.places[i]) & 1 and self.cuts_from(self.places[i] + choice.length) & 1:
                self.join(self.places[i], self.places[i] + choice.length)

    cdef void fill(self) noexcept nogil:
        """Bound every group by its occurrences times the cuts inside its longest substring."""
        cdef int32_t group, i
        cdef size_t hole
        cdef Entry entry
        self.heap.resize(self.groups.shape[0])
        for group in range(self.groups.shape[0]):
            entry.gain, entry.length, entry.group = 0, self.groups[group, 3], group
            for i in range(self.groups[group, 0], self.groups[group, 1]):
                entry.gain += self.counts[self.words[self.suffixes[i]]]
            entry.gain *= entry.length - 1
            self.heap[group] = entry
        for hole in range(self.heap.size() // 2, 0, -1):
            sift_down(self.heap, hole - 1, self.heap[hole - 1])

    cdef Entry choose(self) noexcept nogil:
        """Find the best substring and apply it; its gain is 0 where no substring has any."""
        cdef Entry best
        cdef Evaluation found
        cdef size_t i
        best.gain, best.length, best.group = 0, 0, -1
        self.aside.clear()
        while self.heap.size() > 0 and precedes(self.heap[0], best):
            found = self.evaluate(pop(self.heap).group)
            if found.bound.gain > 0:
                self.aside.push_back(found.bound)
            if found.exact.gain > 0 and precedes(found.exact, best):
                best = found.exact
        for i in range(self.aside.size()):
            push(self.heap, self.aside[i])
        if best.gain > 0:
            self.apply(best)
        return best


cdef class Coverage(Partition):
    """GreedWMC: a substring joins the bytes of all its places, wherever cuts stand."""

    cdef Evaluation evaluate(self, int32_t group) noexcept nogil:
        cdef int32_t low = self.groups[group, 0], shortest = self.groups[group, 2], longest = self.groups[group, 3]
        cdef int32_t i, place, cut, before
        cdef int64_t count
        cdef bint overlapping = self.find_overlaps(group)
        cdef Evaluation found
        # First what one byte more adds: a cut counts from the length that reaches past it, and no longer from the
        # length at which the place before takes it in.
        self.sums.clear()
        for i in range(self.groups[group, 1] - low):
            place = self.places[i] if overlapping else self.suffixes[low + i]
            before = self.places[i - 1] if overlapping and i > 0 else -1
            count = self.counts[self.words[place]]
            cut = self.next_cut(place + 1, place + longest)
            if cut < place + longest:
                self.sums.resize(longest + 1)
            while cut < place + longest:
                self.sums[cut - place + 1] += count
                if before >= 0 and cut - before < longest:
                    self.sums[cut - before + 1] -= count
                cut = self.next_cut(cut + 1, place + longest)
        if self.sums.size() > 0:
            for i in range(1, longest + 1):
                self.sums[i] += self.sums[i - 1]
            self.sums.erase(self.sums.begin(), self.sums.begin() + shortest)
        found.bound = found.exact = self.best_of(self.sums, group)
        return found

    cdef void apply(self, Entry choice) noexcept nogil:
        cdef int32_t i
        for i in range(self.groups[choice.group, 0], self.groups[choice.group, 1]):
            self.join(self.suffixes[i], self.suffixes[i] + choice.length)


def choose(
    const uint8_t[::1] data, const int64_t[::1] offsets, const int64_t[::1] counts, const int32_t[::1] suffixes,
    const int32_t[:, ::1] groups, int64_t limit, bint constrained,
):
    """Take the substring that joins the most bytes, applied to all words, again and again.

    Ties fall to the shorter substring, then to the lesser bytes.

    Args:
        data: uint8 [n], the words laid end to end; n is less than 2**31.
        offsets: int64 [words + 1], where each word starts; the last entry is n.
        counts: int64 [words], occurrences of each word.
        suffixes: int32 [n], positions of ``data``.
        groups: int32 [m, 4], the substrings to choose from, as by :func:`tokbench.kernels.substrings`: groups whose
            substrings have the same length are in byte order.
        limit: substrings wanted.
        constrained: whether a substring joins bytes only where cuts stand at both its ends, from left to right without
            overlaps (GreedTok); else it does wherever it occurs (GreedWMC).

    Returns:
        int64 [chosen, 3]: start and end of one occurrence in ``data``, and the cuts cleared, each as often as its word
        occurs. Fewer than ``limit`` where nothing more can be joined.
    """
    cdef Partition state = Partition() if constrained else Coverage()
    cdef vector[int64_t] chosen
    cdef Entry best
    cdef int32_t start
    cdef size_t i
    state.data, state.counts, state.suffixes, state.groups = data, counts, suffixes, groups
    state.words = np.repeat(np.arange(len(counts), dtype=np.int32), np.diff(offsets))
    state.cuts.assign((data.shape[0] >> 6) + 3, ~<uint64_t>0)
    state.overlaps.assign(groups.shape[0], UNKNOWN)
    with nogil:
        state.fill()
        while <int64_t>(chosen.size() // 3) < limit:
            best = state.choose()
            if best.gain == 0:
                break
            start = state.suffixes[state.groups[best.group, 0]]
            chosen.push_back(start)
            chosen.push_back(start + best.length)
            chosen.push_back(best.gain)
    rows = np.empty((chosen.size() // 3, 3), np.int64)
    cdef int64_t[::1] flat = rows.reshape(-1)
    for i in range(chosen.size()):
        flat[i] = chosen[i]
    return rows
