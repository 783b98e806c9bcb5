# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Length-MAX: the substring with the greatest product of length and frequency becomes a token (Dong and Su 2025).

A place of a substring counts if its two ends are cuts and at least one cut is inside, also where places overlap.
Joining only clears cuts, so that counts only decrease.

Reference: :mod:`tokbench.reference.length_max`.
"""

from cython cimport final
from libc.stdint cimport int32_t, int64_t, uint64_t

from tokbench.kernels.cuts cimport cuts_from, last_cut, next_cut
from tokbench.kernels.gains cimport Entry, Evaluation
from tokbench.kernels.partition cimport Partition, Work

from tokbench.kernels.choice import chosen


@final
cdef class Weighing(Partition):
    """Objective of Length-MAX: bytes of a substring times its count among the current tokens."""

    def __cinit__(self, int64_t least):
        self.cut_first = True
        self.by_length = True
        self.least = least

    cdef int evaluate_single(self, int32_t i, Entry* found) except -1 nogil:
        """Evaluate a group at its only place: its longest substring that ends at a cut."""
        cdef int32_t place = self.suffixes[i], end
        cdef int32_t shortest = self.groups[found.group, 2], longest = self.groups[found.group, 3]
        if self.weights[i] < self.least or not cuts_from(self.cuts.data(), place) & 1:
            return 0
        end = last_cut(self.cuts.data(), place + shortest, place + longest + 1)
        if end >= place + shortest and next_cut(self.cuts.data(), place + 1, end) < end:
            found.gain, found.length = (end - place) * self.weights[i], end - place
        return 0

    cdef int evaluate_apart(self, int32_t i, bint linked, Entry* found, Work* work) except -1 nogil:
        cdef int32_t group = found.group, high = self.groups[group, 1]
        cdef int32_t shortest = self.groups[group, 2], longest = self.groups[group, 3]
        if shortest == longest < 64 and not linked:
            found.gain, found.length = self.joined_apart(i, high, longest), longest
            if found.gain < self.least * longest:
                found.gain = 0
            return 0
        work.sums.clear()
        while i < high:
            self.count(group, self.suffixes[i], self.weights[i], work)
            i = self.after(i, linked)
        found[0] = self.heaviest_of(group, work)
        return 0

    cdef int64_t joined_apart(self, int32_t low, int32_t high, int32_t length) except -1 nogil:
        cdef const uint64_t* cuts = self.cuts.data()
        cdef const int32_t* suffixes = &self.suffixes[0]
        cdef const int64_t* weights = &self.weights[0]
        cdef uint64_t some, ends = (<uint64_t>1 << length) | 1, inner = (<uint64_t>1 << length) - 2
        cdef int64_t sum = 0
        cdef int32_t i
        for i in range(low, high):      # branchless: most places are not in any cache
            some = cuts_from(cuts, suffixes[i])
            sum += weights[i] & -<int64_t>((some & ends == ends) & (some & inner != 0))
        return sum * length

    cdef int evaluate_overlapping(self, int32_t group, Evaluation* found, Work* work) except -1 nogil:
        """Evaluate a group with overlapping places, all of which count."""
        cdef size_t i
        work.sums.clear()
        for i in range(work.places.size()):
            self.count(group, work.places[i], self.counts[self.words[work.places[i]]], work)
        found.bound = found.exact = self.heaviest_of(group, work)
        return 0

    cdef inline int count(self, int32_t group, int32_t place, int64_t weight, Work* work) except -1 nogil:
        """Add ``weight`` to ``sums`` for each length at which a place has a cut at both ends and another inside."""
        cdef int32_t shortest = self.groups[group, 2], longest = self.groups[group, 3], end
        cdef const uint64_t* cuts = self.cuts.data()
        if not cuts_from(cuts, place) & 1:
            return 0
        end = next_cut(cuts, next_cut(cuts, place + 1, place + longest + 1) + 1, place + longest + 1)
        end = next_cut(cuts, max(end, place + shortest), place + longest + 1)
        if end <= place + longest:
            work.sums.resize(longest - shortest + 1)
        while end <= place + longest:
            work.sums[end - place - shortest] += weight
            end = next_cut(cuts, end + 1, place + longest + 1)
        return 0

    cdef inline Entry heaviest_of(self, int32_t group, Work* work) noexcept nogil:
        """Return the best length of a group, by the counts in ``sums``."""
        cdef size_t i
        for i in range(work.sums.size()):
            if work.sums[i] < self.least:
                work.sums[i] = 0
            work.sums[i] *= self.groups[group, 2] + <int64_t>i
        return self.best_of(work.sums, group)

    cdef int64_t most(self, int64_t sum, int64_t longest) noexcept nogil:
        """Return the greatest gain in words with ``sum`` bytes: a place starts at each byte."""
        return sum * longest


def choose(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
    suffixes: NDArray[np.int32],
    groups: NDArray[np.int32],
    limit: int,
    threads: int = 1,
    enough: int = 1024,
    least: int = 1,
) -> NDArray[np.int64]:
    """Return the substrings chosen by Length-MAX, with a count of ``least`` or more.

    Other arguments and the rows are those of :func:`tokbench.kernels.choice.chosen`. The third column is the product of length and frequency. The sum of counts times lengths, times the longest
    substring, is less than 2**62.
    """
    return chosen(Weighing(least), data, offsets, counts, suffixes, groups, limit, threads, enough)
