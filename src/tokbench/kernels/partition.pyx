# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Greedy choice of substrings that join the most adjacent bytes of counted words: what GreedTok and GreedWMC share.

Lim, Choo and Lauw, "A partition cover approach to tokenization" (2025), sections 3 and 4. The state is one bit for each
cut between adjacent bytes; joining clears it. What a substring joins at one place only shrinks, so that what it could
join at most bounds its gain from above, and only substrings with the greatest bounds are looked at again. Substrings
with the same places are kept as one group, whose bound is that of the best of its lengths. Places in long words where
nothing can be joined any more are passed over by links.

A look at a group takes steps for its places with something left to join and for the cuts there that a token may end at,
and one for 64 other cuts; in one word of n bytes no more than n for each look.

Reference: :mod:`tokbench.reference.greedtok`.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from tokbench.kernels.cuts cimport cuts_from, trailing_zeros
from tokbench.kernels.gains cimport Entry, Evaluation, pop, precedes, push, sift_down

cdef enum:
    UNKNOWN = 0
    APART = 1       # the places of a group's longest substring do not overlap
    OVERLAPPING = 2
    LINKED = 4      # beside one of these: some of a group's places lie in long words
    LONG = 64       # bytes of the longest word that is not long


cdef class Partition:
    """The cuts between bytes, and a bound for each group of substrings; an objective says what a substring joins."""

    cdef int start(self) except -1 nogil:
        """Set all cuts, and bound every group."""
        cdef int64_t word, place, i
        self.cuts.resize((self.data.shape[0] >> 6) + 3, ~<uint64_t>0)
        self.in_long.resize(self.cuts.size())
        self.kinds.resize(self.groups.shape[0], UNKNOWN)
        for word in range(self.counts.shape[0]):
            if self.is_long(word):
                self.tails[word] = <int32_t>self.offsets[word + 1] - 1
                for place in range(self.offsets[word], self.offsets[word + 1]):
                    self.in_long[place >> 6] |= <uint64_t>1 << (place & 63)
        for i in range(self.suffixes.shape[0]):
            self.links[i] = <int32_t>i
            if self.has_links(self.suffixes[i]):
                self.ranks[self.suffixes[i]] = <int32_t>i
        self.links[self.suffixes.shape[0]] = <int32_t>self.suffixes.shape[0]
        self.fill()
        return 0

    cdef bint is_long(self, int64_t word) noexcept nogil:
        return self.offsets[word + 1] - self.offsets[word] > LONG

    cdef bint has_links(self, int64_t place) noexcept nogil:
        """Whether a place lies in a long word."""
        return self.in_long[place >> 6] >> (place & 63) & 1

    cdef int32_t alive_from(self, int32_t i) noexcept nogil:
        """The first suffix at or after the i-th whose place is alive, or how many suffixes there are."""
        while self.links[i] != i:
            self.links[i] = self.links[self.links[i]]
            i = self.links[i]
        return i

    cdef int32_t after(self, int32_t i, bint linked) noexcept nogil:
        """The next suffix of a group after the i-th."""
        return self.alive_from(i + 1) if linked else i + 1

    cdef void kill(self, int64_t place) noexcept nogil:
        """Nothing that starts at a place of a long word can join anything any more."""
        cdef int32_t i = self.ranks[place]
        if self.links[i] == i:
            self.links[i] = i + 1

    cdef void join(self, int32_t start, int32_t end) noexcept nogil:
        """Clear the cuts strictly between two places."""
        cdef int64_t place = start + 1, stop
        cdef uint64_t cleared
        cdef bint linked = self.has_links(start)
        while place < end:
            stop = min(<int64_t>end, (place | 63) + 1)
            cleared = self.cuts[place >> 6] & ((~<uint64_t>0 >> (64 - (stop - place))) << (place & 63))
            self.cuts[place >> 6] ^= cleared
            if linked and self.cut_first:
                while cleared:
                    self.kill((place & ~<int64_t>63) + trailing_zeros(cleared))
                    cleared &= cleared - 1
            place = stop
        if linked:
            self.shorten(self.words[start])

    cdef void shorten(self, int32_t word) noexcept nogil:
        """Nothing is left to join from the last cut in a long word on."""
        cdef int32_t place = self.tails[word]
        while place > self.offsets[word] and not self.cuts[place >> 6] >> (place & 63) & 1:
            place -= 1
            self.kill(place)
        self.tails[word] = place

    cdef int list_places(self, int32_t group, bint in_order) except -1 nogil:
        """Leave the places of a group that are alive in ``places``."""
        cdef bint linked = self.kinds[group] & LINKED, ascending = True
        cdef int32_t i = self.after(self.groups[group, 0] - 1, linked), high = self.groups[group, 1], place
        self.places.clear()
        while i < high:
            place = self.suffixes[i]
            if not self.cut_first or cuts_from(self.cuts.data(), place) & 1:
                ascending &= self.places.size() == 0 or self.places.back() < place
                self.places.push_back(place)
            i = self.after(i, linked)
        if in_order and not ascending:
            sort(self.places.begin(), self.places.end())
        return 0

    cdef int find_overlaps(self, int32_t group) except -1 nogil:
        """Whether places of a group overlap; if so, those that are alive are left in order in ``places``."""
        cdef int32_t length = self.groups[group, 3]
        cdef size_t place
        if self.kinds[group] & ~LINKED == UNKNOWN:
            self.kinds[group] |= APART
            if self.may_overlap(&self.data[self.suffixes[self.groups[group, 0]]], length):
                self.list_places(group, True)
                for place in range(1, self.places.size()):
                    if self.places[place] - self.places[place - 1] < length:
                        self.kinds[group] ^= APART | OVERLAPPING
                        return True
        if self.kinds[group] & OVERLAPPING:
            self.list_places(group, True)
            return True
        return False

    cdef bint may_overlap(self, const uint8_t* spelling, int32_t length) noexcept nogil:
        """Whether a substring might start within itself; taken to be so where that takes long to find out."""
        cdef int64_t steps = 0
        cdef int32_t i, same
        for i in range(1, length):
            if spelling[i] == spelling[0]:
                same = 1
                while i + same < length and spelling[i + same] == spelling[same]:
                    same += 1
                steps += same
                if i + same == length or steps > 8 * <int64_t>length:
                    return True
        return False

    cdef Entry best_of(self, const vector[int64_t]& sums, int32_t group) noexcept nogil:
        """The best length of a group; ``sums`` may be empty where all are 0."""
        cdef Entry best
        cdef size_t i
        best.gain, best.length, best.group = 0, self.groups[group, 2], group
        for i in range(sums.size()):
            if sums[i] > best.gain:
                best.gain, best.length = sums[i], self.groups[group, 2] + <int32_t>i
        return best

    cdef int evaluate(self, int32_t group, Evaluation* found) except -1 nogil:
        """The best of a group's substrings as things stand."""
        cdef bint linked = self.kinds[group] & LINKED
        cdef int32_t i = self.after(self.groups[group, 0] - 1, linked), high = self.groups[group, 1]
        found.bound.gain, found.bound.length, found.bound.group = 0, self.groups[group, 2], group
        if i < high:
            if self.after(i, linked) >= high:
                self.evaluate_single(self.suffixes[i], &found.bound)
            elif self.find_overlaps(group):
                return self.evaluate_overlapping(group, found)
            else:
                self.evaluate_apart(i, linked, &found.bound)
        found.exact = found.bound
        return 0

    cdef int bound_in_words(self, vector[int64_t]& reach, vector[int64_t]& often) except -1 nogil:
        """What each group's long words, once each, add to :meth:`most`, and how often it occurs in them."""
        cdef vector[int32_t] last       # the last suffix of each word seen so far
        cdef vector[int32_t] path       # the groups that the present suffix is in
        cdef int32_t word, inner, left, right, middle
        cdef int64_t i, next_group = 0, most
        last.resize(self.counts.shape[0], -1)
        reach.resize(self.groups.shape[0])
        often.resize(self.groups.shape[0])
        for i in range(self.suffixes.shape[0] + 1):
            if i < self.suffixes.shape[0] and not self.has_links(self.suffixes[i]):
                continue
            while path.size() > 0 and self.groups[path.back(), 1] <= i:
                inner = path.back()
                path.pop_back()
                if path.size() > 0:
                    reach[path.back()] += reach[inner]
                    often[path.back()] += often[inner]
            if i == self.suffixes.shape[0]:
                break
            while next_group < self.groups.shape[0] and self.groups[next_group, 0] <= i:
                if self.groups[next_group, 1] > i:
                    path.push_back(<int32_t>next_group)
                    self.kinds[next_group] |= LINKED
                next_group += 1
            if path.size() == 0:
                continue
            word = self.words[self.suffixes[i]]
            most = self.most_in_word(self.offsets[word + 1] - self.offsets[word]) * self.counts[word]
            often[path.back()] += self.counts[word]
            reach[path.back()] += most
            left, right = 0, <int32_t>path.size()       # the innermost that holds the word's last suffix has it twice
            while left < right:
                middle = (left + right) // 2
                if self.groups[path[middle], 0] <= last[word]:
                    left = middle + 1
                else:
                    right = middle
            if left > 0:
                reach[path[left - 1]] -= most
            last[word] = <int32_t>i
        return 0

    cdef int fill(self) except -1 nogil:
        """Bound every group by its occurrences times the cuts inside its longest substring, and by its long words."""
        cdef vector[int64_t] before     # occurrences of the suffixes before each
        cdef vector[int64_t] reach, often
        cdef int32_t group
        cdef int64_t i, inside, total = 0, sum = 0
        cdef bint some_long = False
        cdef size_t hole
        cdef Entry entry
        for i in range(self.counts.shape[0]):
            total += self.counts[i] * (self.offsets[i + 1] - self.offsets[i])
            some_long |= self.is_long(i)
        if some_long:
            self.bound_in_words(reach, often)
        before.resize(self.suffixes.shape[0] + 1)
        for i in range(self.suffixes.shape[0]):
            sum += self.counts[self.words[self.suffixes[i]]]
            before[i + 1] = sum
        self.heap.resize(self.groups.shape[0])
        for group in range(<int32_t>self.groups.shape[0]):
            entry.length, entry.group = self.groups[group, 3], group
            inside = entry.length - 1
            sum = before[self.groups[group, 1]] - before[self.groups[group, 0]]
            entry.gain = 0
            if self.kinds[group] & LINKED:
                entry.gain = self.most(reach[group], inside + 1)
                if often[group] <= entry.gain // inside:
                    entry.gain = often[group] * inside
                else:
                    entry.length = self.groups[group, 2]    # a shorter one may join as much
                sum -= often[group]
            if sum <= (total - entry.gain) // inside:
                entry.gain += sum * inside
            else:
                entry.gain, entry.length = total, self.groups[group, 2]
            self.heap[group] = entry
        for hole in range(self.heap.size() // 2, 0, -1):
            sift_down(self.heap, hole - 1, self.heap[hole - 1])
        return 0

    cdef int choose(self, Entry* best) except -1 nogil:
        """Find the best substring and apply it; its gain is 0 where no substring has any."""
        cdef Evaluation found
        cdef size_t i
        best.gain, best.length, best.group = 0, 0, -1
        self.aside.clear()
        while self.heap.size() > 0 and precedes(self.heap[0], best[0]):
            self.evaluate(pop(self.heap).group, &found)
            if found.bound.gain > 0:
                self.aside.push_back(found.bound)
            if found.exact.gain > 0 and precedes(found.exact, best[0]):
                best[0] = found.exact
        for i in range(self.aside.size()):
            push(self.heap, self.aside[i])
        if best.gain > 0:
            self.apply(best[0])
        return 0

    cdef int evaluate_single(self, int32_t place, Entry* found) except -1 nogil:
        """Find what a group joins at its only place."""
        raise NotImplementedError("an objective must say what a substring joins")

    cdef int evaluate_apart(self, int32_t i, bint linked, Entry* found) except -1 nogil:
        """Find the best of a group whose places do not overlap, the first one alive being that of the i-th suffix."""
        raise NotImplementedError("an objective must say what a substring joins")

    cdef int evaluate_overlapping(self, int32_t group, Evaluation* found) except -1 nogil:
        """Find the best of a group, and its bound, where its places, in order in ``places``, overlap."""
        raise NotImplementedError("an objective must say what a substring joins")

    cdef int apply(self, Entry choice) except -1 nogil:
        """Join the bytes of a substring at its places."""
        raise NotImplementedError("an objective must say what a substring joins")

    cdef int64_t most_in_word(self, int64_t length) noexcept nogil:
        """Of what :meth:`most` looks at the sum over words, what one word adds: its bytes."""
        return length

    cdef int64_t most(self, int64_t sum, int64_t longest) noexcept nogil:
        """Cuts that substrings of up to ``longest`` bytes can join in words, of the sum of what each word adds."""
        return sum


def chosen(
    Partition state, const uint8_t[::1] data, const int64_t[::1] offsets, const int64_t[::1] counts,
    const int32_t[::1] suffixes, const int32_t[:, ::1] groups, int64_t limit,
):
    """Take the substring that joins the most bytes, applied to all words, again and again.

    Ties fall to the shorter substring, then to the lesser bytes.

    Args:
        state: a new partition with the objective.
        data: uint8 [n], the words laid end to end; n is less than 2**31.
        offsets: int64 [words + 1], where each word starts; the last entry is n.
        counts: int64 [words], occurrences of each word; times its bytes, they sum to less than 2**62.
        suffixes: int32 [n], the positions of ``data`` in order.
        groups: int32 [m, 4], the substrings to choose from, as by :func:`tokbench.kernels.substrings`: groups whose
            substrings have the same length are in byte order; m is less than 2**31.
        limit: substrings wanted.

    Returns:
        int64 [chosen, 3]: start and end of one occurrence in ``data``, and the cuts cleared, each as often as its word
        occurs. Fewer than ``limit`` where nothing more can be joined.

    Raises:
        ValueError: there are too many bytes or groups.
    """
    if max(data.shape[0], groups.shape[0]) >= 2**31:
        raise ValueError(
            f"{groups.shape[0]} groups of substrings in {data.shape[0]} bytes cannot be addressed, the limit is {2**31 - 1}"
        )
    cdef vector[int64_t] taken
    cdef Entry best
    cdef int32_t start
    cdef size_t i
    state.data, state.offsets, state.counts = data, offsets, counts
    state.suffixes, state.groups = suffixes, groups
    state.words = np.repeat(np.arange(len(counts), dtype=np.int32), np.diff(offsets))
    state.ranks = np.empty(data.shape[0], np.int32)
    state.links = np.empty(data.shape[0] + 1, np.int32)
    state.tails = np.empty(counts.shape[0], np.int32)
    with nogil:
        state.start()
        while <int64_t>(taken.size() // 3) < limit:
            state.choose(&best)
            if best.gain == 0:
                break
            start = state.suffixes[state.groups[best.group, 0]]
            taken.push_back(start)
            taken.push_back(start + best.length)
            taken.push_back(best.gain)
    rows = np.empty((taken.size() // 3, 3), np.int64)
    cdef int64_t[::1] flat = rows.reshape(-1)
    for i in range(taken.size()):
        flat[i] = taken[i]
    return rows
