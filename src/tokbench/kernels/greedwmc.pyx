# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""GreedWMC: a substring joins the bytes of all its matches (Lim, Choo and Lauw 2025, section 4.2).

Reference: :mod:`tokbench.reference.greedtok`.
"""

from cython cimport final
from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp.vector cimport vector

from tokbench.kernels.cuts cimport count_cuts, cuts_from, last_cut, next_cut, popcount
from tokbench.kernels.gains cimport Entry, Evaluation
from tokbench.kernels.partition cimport LINKED, Partition, Work

from tokbench.kernels.choice import chosen


cdef void accumulate(vector[int64_t]& sums) noexcept nogil:
    cdef size_t i
    for i in range(1, sums.size()):
        sums[i] += sums[i - 1]


@final
cdef class Coverage(Partition):
    """Objective of GreedWMC: a substring joins the bytes of all its matches, whether their ends are cuts or not."""

    cdef int evaluate_single(self, int32_t i, Entry* found) except -1 nogil:
        """Evaluate a group at its only place, by the shortest substring that contains the last cut of the longest."""
        cdef int32_t place = self.suffixes[i]
        cdef int32_t shortest = self.groups[found.group, 2], longest = self.groups[found.group, 3]
        cdef int32_t last = last_cut(self.cuts.data(), place + 1, place + longest)
        if last > place:
            found.gain = count_cuts(self.cuts.data(), place + 1, last + 1) * self.weights[i]
            found.length = max(shortest, last + 1 - place)
        return 0

    cdef int evaluate_apart(self, int32_t i, bint linked, Entry* found, Work* work) except -1 nogil:
        cdef int32_t group = found.group, high = self.groups[group, 1], longest = self.groups[group, 3]
        cdef int64_t sum = 0
        cdef uint64_t some, inner
        if self.groups[group, 2] == longest < 64:
            inner = (<uint64_t>1 << longest) - 2
            if not linked:
                sum = self.joined_apart(i, high, longest)
                i = high
            while i < high:
                some = cuts_from(self.cuts.data(), self.suffixes[i]) & inner
                if some:
                    sum += popcount(some) * self.weights[i]
                i = self.after(i, linked)
            found.gain, found.length = sum, longest
            return 0
        work.sums.clear()
        while i < high:
            self.add(group, self.suffixes[i], self.suffixes[i] + longest, self.weights[i], work)
            i = self.after(i, linked)
        accumulate(work.sums)
        found[0] = self.best_of(work.sums, group)
        return 0

    cdef int64_t joined_apart(self, int32_t low, int32_t high, int32_t length) except -1 nogil:
        cdef const uint64_t* cuts = self.cuts.data()
        cdef const int32_t* suffixes = &self.suffixes[0]
        cdef const int64_t* weights = &self.weights[0]
        cdef uint64_t inner = (<uint64_t>1 << length) - 2
        cdef int64_t sum = 0
        cdef int32_t i
        for i in range(low, high):
            sum += popcount(cuts_from(cuts, suffixes[i]) & inner) * weights[i]
        return sum

    cdef int evaluate_overlapping(self, int32_t group, Evaluation* found, Work* work) except -1 nogil:
        """Evaluate overlapping places: a cut is joined from the length at which the nearest place reaches it."""
        cdef int32_t place, stop
        cdef size_t i
        work.sums.clear()
        for i in range(work.places.size()):
            place = work.places[i]
            stop = place + self.groups[group, 3]
            if i + 1 < work.places.size():
                stop = min(stop, work.places[i + 1] + 1)
            self.add(group, place, stop, self.counts[self.words[place]], work)
        accumulate(work.sums)
        found.bound = found.exact = self.best_of(work.sums, group)
        return 0

    cdef inline int add(self, int32_t group, int32_t place, int32_t stop, int64_t count, Work* work) except -1 nogil:
        """Add to each of ``sums`` the cuts after ``place`` and before ``stop`` that its last byte joins."""
        cdef int32_t shortest = self.groups[group, 2], longest = self.groups[group, 3]
        cdef const uint64_t* cuts = self.cuts.data()
        cdef int32_t cut = next_cut(cuts, place + 1, stop)
        if cut == stop:
            return 0
        work.sums.resize(longest - shortest + 1)
        if cut < place + shortest:
            work.sums[0] += count * count_cuts(cuts, cut, min(stop, place + shortest))
            cut = next_cut(cuts, place + shortest, stop)
        while cut < stop:
            work.sums[cut + 1 - place - shortest] += count
            cut = next_cut(cuts, cut + 1, stop)
        return 0

    cdef int apply(self, Entry choice) except -1 nogil:
        cdef bint linked = self.kinds[choice.group] & LINKED
        cdef size_t i
        self.list_places(choice.group, False, self.work.places)
        for i in range(self.work.places.size()):
            self.join(self.work.places[i], self.work.places[i] + choice.length, linked)
        return 0

    cdef int64_t most_in_word(self, int64_t length) noexcept nogil:
        return length - 1

    cdef int64_t most(self, int64_t sum, int64_t longest) noexcept nogil:
        return sum


def choose(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
    suffixes: NDArray[np.int32],
    groups: NDArray[np.int32],
    limit: int,
    threads: int = 1,
    enough: int = 1024,
) -> NDArray[np.int64]:
    """Return the substrings chosen by GreedWMC; see :func:`tokbench.kernels.choice.chosen`."""
    return chosen(Coverage(), data, offsets, counts, suffixes, groups, limit, threads, enough)
