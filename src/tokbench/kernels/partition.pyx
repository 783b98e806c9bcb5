# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Greedy choice of substrings that join the most adjacent bytes of counted words: common part of GreedTok and GreedWMC.

Lim, Choo and Lauw, "A partition cover approach to tokenization" (2025), sections 3 and 4. The state is one bit per cut
between adjacent bytes; joining clears it. What a substring joins at a place only decreases. So earlier gains are upper
bounds, and only substrings with the greatest bounds are evaluated again. Substrings with the same places form one
group, whose bound is that of its best length. In long words, places where nothing can be joined any more are skipped by
links.

Evaluating a group needs one step per live place, per cut at which a token may end, and per 64 other cuts. In a word of
n bytes these are at most n steps.

Reference: :mod:`tokbench.reference.greedtok`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from tokbench.kernels.cuts cimport cuts_from, trailing_zeros
from tokbench.kernels.gains cimport Entry, Evaluation

cdef extern from *:
    """
    /* Every thread that follows links also shortens them; concurrent writes all lead to the same end. */
    static inline int32_t loaded(const int32_t *from) { return __atomic_load_n(from, __ATOMIC_RELAXED); }
    static inline void stored(int32_t *to, int32_t link) { __atomic_store_n(to, link, __ATOMIC_RELAXED); }
    """
    int32_t loaded(const int32_t* link) noexcept nogil
    void stored(int32_t* link, int32_t to) noexcept nogil


cdef class Partition:
    """Cuts between bytes. A subclass defines which bytes a substring joins; see :mod:`tokbench.kernels.choice`."""

    cdef int start(self) except -1 nogil:
        """Set all cuts, and find the long words."""
        cdef int64_t word, place
        self.cuts.resize((self.data.shape[0] >> 6) + 3, ~<uint64_t>0)
        self.in_long.resize(self.cuts.size())
        self.kinds.resize(self.groups.shape[0], UNKNOWN)
        for word in range(self.counts.shape[0]):
            if self.is_long(word):
                self.tails[word] = <int32_t>self.offsets[word + 1] - 1
                for place in range(self.offsets[word], self.offsets[word + 1]):
                    self.in_long[place >> 6] |= <uint64_t>1 << (place & 63)
        self.links[self.suffixes.shape[0]] = <int32_t>self.suffixes.shape[0]
        return 0

    cdef object lay_down(self, int64_t part, int64_t first, int64_t last):
        """Initialise the arrays for a part of the suffixes; return the sum of their counts."""
        cdef int64_t i, sum = 0
        with nogil:
            for i in range(first, last):
                self.links[i] = <int32_t>i
                self.weights[i] = self.counts[self.words[self.suffixes[i]]]
                sum += self.weights[i]
                if self.has_links(self.suffixes[i]):
                    self.ranks[self.suffixes[i]] = <int32_t>i
                    self.in_words[part].push_back(<int32_t>i)
        return sum

    cdef bint is_long(self, int64_t word) noexcept nogil:
        return self.offsets[word + 1] - self.offsets[word] > LONG

    cdef bint has_links(self, int64_t place) noexcept nogil:
        """Return whether a place is in a long word."""
        return self.in_long[place >> 6] >> (place & 63) & 1

    cdef int32_t alive_from(self, int32_t i) noexcept nogil:
        """Return the first live suffix at or after the i-th; the number of suffixes if there is none."""
        cdef int32_t further = loaded(&self.links[i])
        while further != i:
            further = loaded(&self.links[further])
            stored(&self.links[i], further)
            i, further = further, loaded(&self.links[further])
        return i

    cdef int32_t after(self, int32_t i, bint linked) noexcept nogil:
        """Return the next suffix of a group after the i-th."""
        return self.alive_from(i + 1) if linked else i + 1

    cdef void kill(self, int64_t place) noexcept nogil:
        """Mark a place of a long word as dead: nothing that starts there can join anything any more."""
        cdef int32_t i = self.ranks[place]
        if self.links[i] == i:
            self.links[i] = i + 1

    cdef void join(self, int32_t start, int32_t end, bint linked) noexcept nogil:
        """Clear the cuts strictly between two places. ``linked``: whether the word may be long."""
        cdef int64_t place = start + 1, stop
        cdef uint64_t cleared
        linked = linked and self.has_links(start)
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
        """Mark the places from the last cut of a long word on as dead."""
        cdef int32_t place = self.tails[word]
        while place > self.offsets[word] and not self.cuts[place >> 6] >> (place & 63) & 1:
            place -= 1
            self.kill(place)
        self.tails[word] = place

    cdef int list_places(self, int32_t group, bint in_order, vector[int32_t]& places) except -1 nogil:
        """Store the live places of a group in ``places``."""
        cdef bint linked = self.kinds[group] & LINKED, ascending = True
        cdef int32_t i = self.after(self.groups[group, 0] - 1, linked), high = self.groups[group, 1], place
        places.clear()
        while i < high:
            place = self.suffixes[i]
            if not self.cut_first or cuts_from(self.cuts.data(), place) & 1:
                ascending &= places.size() == 0 or places.back() < place
                places.push_back(place)
            i = self.after(i, linked)
        if in_order and not ascending:
            sort(places.begin(), places.end())
        return 0

    cdef int find_overlaps(self, int32_t group, vector[int32_t]& places) except -1 nogil:
        """Return whether places of a group overlap; if so, store the live ones in order in ``places``."""
        cdef int32_t length = self.groups[group, 3]
        cdef size_t place
        if self.kinds[group] & ~LINKED == UNKNOWN:
            self.kinds[group] |= APART
            if self.may_overlap(&self.data[self.suffixes[self.groups[group, 0]]], length):
                self.list_places(group, True, places)
                for place in range(1, places.size()):
                    if places[place] - places[place - 1] < length:
                        self.kinds[group] ^= APART | OVERLAPPING
                        return True
        if self.kinds[group] & OVERLAPPING:
            self.list_places(group, True, places)
            return True
        return False

    cdef bint may_overlap(self, const uint8_t* spelling, int32_t length) noexcept nogil:
        """Return whether a substring may overlap itself; True if this takes too many steps to find out."""
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
        """Return the best length of a group; ``sums`` may be empty if all are 0."""
        cdef Entry best
        cdef size_t i
        best.gain, best.length, best.group = 0, self.groups[group, 2], group
        for i in range(sums.size()):
            if sums[i] > best.gain:
                best.gain, best.length = sums[i], self.groups[group, 2] + <int32_t>i
        return best

    cdef int evaluate(self, int32_t group, Evaluation* found, Work* work) except -1 nogil:
        """Evaluate a group: find its best substring at present."""
        cdef bint linked = self.kinds[group] & LINKED
        cdef int32_t i = self.after(self.groups[group, 0] - 1, linked), high = self.groups[group, 1]
        found.bound.gain, found.bound.length, found.bound.group = 0, self.groups[group, 2], group
        if i < high:
            if self.after(i, linked) >= high:
                self.evaluate_single(i, &found.bound)
            elif self.find_overlaps(group, work.places):
                return self.evaluate_overlapping(group, found, work)
            else:
                self.evaluate_apart(i, linked, &found.bound, work)
        found.exact = found.bound
        return 0

    cdef int bound_in_words(self, int64_t[::1] reach, int64_t[::1] often) except -1 nogil:
        """Add up, for each group, what its long words, each once, contribute to :meth:`most`, and its count in them.

        Both arrays are initially 0.
        """
        cdef vector[int32_t] last       # last suffix of each word so far
        cdef vector[int32_t] path       # groups that contain the current suffix
        cdef int32_t word, inner, left, right, middle
        cdef int64_t i, next_group = 0, most
        cdef size_t part = 0, place = 0
        last.resize(self.counts.shape[0], -1)
        while True:
            while part < self.in_words.size() and place == self.in_words[part].size():
                part, place = part + 1, 0
            i = self.suffixes.shape[0]
            if part < self.in_words.size():
                i = self.in_words[part][place]
                place += 1
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
            # the innermost group with the word's last suffix counts it twice
            left, right = 0, <int32_t>path.size()
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

    cdef int evaluate_single(self, int32_t i, Entry* found) except -1 nogil:
        """Find what a group joins at its only place, that of the i-th suffix."""
        raise NotImplementedError("an objective must say what a substring joins")

    cdef int evaluate_apart(self, int32_t i, bint linked, Entry* found, Work* work) except -1 nogil:
        """Find the best of a group without overlapping places; the first live place is that of the i-th suffix."""
        raise NotImplementedError("an objective must say what a substring joins")

    cdef int64_t joined_apart(self, int32_t low, int32_t high, int32_t length) except -1 nogil:
        """Return what a substring of less than 64 bytes joins at non-overlapping places of short words."""
        raise NotImplementedError("an objective must say what a substring joins")

    cdef int evaluate_overlapping(self, int32_t group, Evaluation* found, Work* work) except -1 nogil:
        """Find the best of a group with overlapping places, sorted in ``places``, and its bound."""
        raise NotImplementedError("an objective must say what a substring joins")

    cdef int apply(self, Entry choice) except -1 nogil:
        """Join the bytes of a substring at its places whose ends are cuts, from the left where they overlap."""
        cdef bint linked = self.kinds[choice.group] & LINKED
        cdef int32_t place
        cdef size_t i
        if not self.find_overlaps(choice.group, self.work.places):
            self.list_places(choice.group, False, self.work.places)
        for i in range(self.work.places.size()):
            place = self.work.places[i]
            if cuts_from(self.cuts.data(), place) & 1 and cuts_from(self.cuts.data(), place + choice.length) & 1:
                self.join(place, place + choice.length, linked)
        return 0

    cdef int64_t most_in_word(self, int64_t length) noexcept nogil:
        """Return what one word adds to the sum passed to :meth:`most`: its bytes."""
        return length

    cdef int64_t most(self, int64_t sum, int64_t longest) noexcept nogil:
        """Return the most cuts joined in words by substrings of up to ``longest`` bytes, for a sum over words."""
        return sum
