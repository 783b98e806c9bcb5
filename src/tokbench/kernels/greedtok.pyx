# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""GreedTok: a substring joins the bytes of its matches whose two ends are cuts (Lim, Choo and Lauw 2025, section 4.3).

Reference: :mod:`tokbench.reference.greedtok`.
"""

from cython cimport final
from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp.vector cimport vector

from tokbench.kernels.cuts cimport count_cuts, cuts_from, last_cut, next_cut, popcount
from tokbench.kernels.gains cimport Entry, Evaluation
from tokbench.kernels.partition cimport Partition, Work

from tokbench.kernels.choice import chosen


@final
cdef class Joining(Partition):
    """Objective of GreedTok: a substring joins non-overlapping matches, from the left, whose ends are cuts."""

    def __cinit__(self):
        self.cut_first = True

    cdef int evaluate_single(self, int32_t i, Entry* found) except -1 nogil:
        """Evaluate a group at its only place: its longest substring that ends at a cut joins most."""
        cdef int32_t place = self.suffixes[i]
        cdef int32_t shortest = self.groups[found.group, 2], longest = self.groups[found.group, 3], end
        if cuts_from(self.cuts.data(), place) & 1:
            end = last_cut(self.cuts.data(), place + shortest, place + longest + 1)
            if end >= place + shortest:
                found.gain = count_cuts(self.cuts.data(), place + 1, end) * self.weights[i]
                found.length = end - place
        return 0

    cdef int evaluate_apart(self, int32_t i, bint linked, Entry* found, Work* work) except -1 nogil:
        """Find the best of a group without overlapping places; the first live place is that of the i-th suffix."""
        cdef int32_t group = found.group, high = self.groups[group, 1]
        cdef int32_t shortest = self.groups[group, 2], longest = self.groups[group, 3]
        cdef int32_t place, cut
        cdef int64_t sum = 0, joined
        cdef uint64_t some, ends, inner
        cdef const uint64_t* cuts = self.cuts.data()
        if shortest == longest < 64:
            ends = (<uint64_t>1 << longest) | 1
            inner = (<uint64_t>1 << longest) - 2
            if linked:
                while i < high:
                    some = cuts_from(cuts, self.suffixes[i])
                    if some & ends == ends:
                        sum += popcount(some & inner) * self.weights[i]
                    i = self.after(i, linked)
            else:
                sum = self.joined_apart(i, high, longest)
            found.gain, found.length = sum, longest
            return 0
        work.sums.clear()
        while i < high:
            place = self.suffixes[i]
            if cuts_from(cuts, place) & 1:
                cut = next_cut(cuts, place + shortest, place + longest + 1)
                if cut <= place + longest:
                    work.sums.resize(longest - shortest + 1)    # only now: most groups have no such place
                    joined = count_cuts(cuts, place + 1, cut)
                    while cut <= place + longest:
                        work.sums[cut - place - shortest] += joined * self.weights[i]
                        joined += 1
                        cut = next_cut(cuts, cut + 1, place + longest + 1)
            i = self.after(i, linked)
        found[0] = self.best_of(work.sums, group)
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
            sum += popcount(some & inner) * weights[i] & -<int64_t>(some & ends == ends)
        return sum

    cdef int evaluate_overlapping(self, int32_t group, Evaluation* found, Work* work) except -1 nogil:
        """Evaluate a group with overlapping places, sorted in ``places``.

        The places that start inside a used place exclude each other. So the heaviest of them bounds what any choice of
        places joins, now and later.
        """
        cdef int32_t shortest = self.groups[group, 2], longest = self.groups[group, 3]
        cdef int32_t place, before = -1, cut, length
        cdef int64_t inside = 0, joined, gain
        cdef const uint64_t* cuts = self.cuts.data()
        cdef size_t i
        work.sums.clear()
        work.bounds.clear()
        work.free_from.clear()
        work.heaviest.resize(max(<size_t>(longest - shortest + 1), work.heaviest.size()))
        work.sums.resize(longest - shortest + 1)
        work.bounds.resize(longest - shortest + 1)
        work.free_from.resize(longest - shortest + 1)
        for i in range(work.places.size()):
            place = work.places[i]
            if before >= 0 and place - before < shortest:   # update the cuts inside the previous place
                inside += (
                    count_cuts(cuts, before + shortest, place + shortest) - count_cuts(cuts, before + 1, place + 1)
                )
            else:
                inside = count_cuts(cuts, place + 1, place + shortest)
            before = place
            joined = inside
            cut = next_cut(cuts, place + shortest, place + longest + 1)
            while cut <= place + longest:
                length = cut - place - shortest
                gain = joined * self.counts[self.words[place]]
                if place >= work.free_from[length]:
                    work.sums[length] += gain
                    work.bounds[length] += gain
                    work.heaviest[length] = gain
                    work.free_from[length] = cut
                elif gain > work.heaviest[length]:
                    work.bounds[length] += gain - work.heaviest[length]
                    work.heaviest[length] = gain
                joined += 1
                cut = next_cut(cuts, cut + 1, place + longest + 1)
        found.bound = self.best_of(work.bounds, group)
        found.exact = self.best_of(work.sums, group)
        return 0

    cdef int64_t most_in_word(self, int64_t length) noexcept nogil:
        """Return what one word adds to the sum passed to :meth:`most`: its bytes."""
        return length

    cdef int64_t most(self, int64_t sum, int64_t longest) noexcept nogil:
        """Return the most cuts joined in words by substrings of up to ``longest`` bytes: one is left at each end."""
        return sum - (sum + longest - 1) // longest


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
    """Return the substrings chosen by GreedTok; see :func:`tokbench.kernels.choice.chosen`."""
    return chosen(Joining(), data, offsets, counts, suffixes, groups, limit, threads, enough)
