# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""The shares of tokens that the relaxation of the fewest tokens takes, and the tokens of the text that they allow.

Prices prove a bound and say little of what attains it. Here the other side is approached: a share of each token, K in
all, and in every word a flow from its first node to its last that takes no edge by more than its token's share. Flow
and price of every edge are moved against each other, as in Chambolle and Pock, "On the ergodic convergence rates of a
first-order primal-dual algorithm" (2016). A word's flow is a distribution over its paths, kept as the chances of the
edges into each node; its distance is relative entropy, by which a step is one walk forwards and one backwards however
long the word. Shares move by squares, and are cut to K by one threshold.

Whatever the state, shares in whole units and flows that are cut to them are a solution of the relaxation, whose tokens
are counted in integers.

Threads share the words, and after these the tokens: every sum is added up in one order, whoever does it.

Reference: ``shares`` in :mod:`tokbench.reference.bounds`.
"""

import numpy as np

from libc.math cimport floor, ldexp
from libc.stdint cimport int32_t, int64_t

from tokbench.kernels.addends cimport Slots, put
from tokbench.kernels.crew cimport Crew

cdef double PRICE_STEP = 1.0        # of a price, in tokens, for an edge that flows in full without a share
cdef double FLOW_STEP = 0.5         # in relative entropy; with the other it is half of what is sure to converge
cdef double SHARP = 8.0             # how much a path's length counts for where flows begin
cdef double LEAST = 1e-9            # chance of an edge that is not forgotten
cdef double BINARY = 1.4426950408889634
cdef double NATURAL = 0.6931471805599453
cdef double TINY = 5.421010862427522e-20    # 2**-64
cdef enum:
    SHIFT = 64
    HALVINGS = 60
    FLOW = 0            # kinds of tasks: to move prices and flow of words
    SHARE = 1           # to move shares


cdef inline double decayed(double by) noexcept nogil:
    """e**-by to six digits for by from 0 on, of operations that round alike everywhere."""
    cdef double whole, rest
    if by > 700:
        return 0
    by *= BINARY
    whole = floor(by)
    rest = (whole - by) * NATURAL
    rest = 1 + rest * (1 + rest * (0.5 + rest * (1 / 6.0 + rest * (1 / 24.0 + rest * (1 / 120.0 + rest / 720.0)))))
    return ldexp(rest, -<int>whole)


cdef class Shares(Crew):
    """The state of the method; its arrays are those of :func:`tokbench.kernels.edges.token_edges`.

    Args:
        bounds: int64 [words + 1], each word's first node.
        counts: int64 [words], occurrences of the words.
        first: int64 [nodes + 1], where each node's edges start.
        starts: int32 [edges], where each begins.
        tokens: int32 [edges], the token of each.
        shares: float64 [tokens], from 0 to 1, to begin with.
        potentials: float64 [nodes], the price of the bytes before each node of its word, in tokens: prices begin where
            these leave them, and flows on the paths that are short under them.
        limit: what shares may come to.
        threads: threads to use; they do not show.
    """

    cdef int64_t limit
    cdef double threshold
    cdef double[::1] share, weight, through
    cdef double[:, ::1] ahead, level, lengths       # of each thread
    cdef float[::1] prices, chances, bytes
    cdef int64_t to_take            # steps

    def __init__(
        self, const int64_t[::1] bounds, const int64_t[::1] counts, const int64_t[::1] first,
        const int32_t[::1] starts, const int32_t[::1] tokens, const double[::1] shares,
        const double[::1] potentials, int64_t limit, int32_t threads=1,
    ):
        cdef Py_ssize_t nodes = first.shape[0] - 1, w
        cdef int64_t i
        super().__init__(bounds, counts, first, starts, tokens, len(shares), threads)
        self.limit, self.threshold = limit, 0
        self.share = np.array(shares)
        self.weight = np.zeros(len(shares))
        longest = int(np.diff(bounds).max(initial=0))
        self.through = np.zeros(nodes)
        self.ahead, self.level = np.zeros((threads, longest)), np.zeros((threads, longest))
        self.lengths = np.zeros((threads, int(np.diff(first).max(initial=0))))
        self.prices, self.chances = np.zeros(len(starts), np.float32), np.zeros(len(starts), np.float32)
        self.bytes = np.zeros(nodes, np.float32)
        with nogil:
            for w in range(counts.shape[0]):
                for i in range(first[bounds[w]], first[bounds[w + 1]]):
                    self.weight[tokens[i]] += <double>counts[w]
                self.begin(w, potentials)
                self.flow(w)

    def advance(self, int64_t steps) -> None:
        """Take some steps."""
        self.to_take = steps
        self.work()

    cdef void lead(self) noexcept nogil:
        while self.to_take > 0:
            self.share_words(FLOW)
            self.settle()
            self.to_take -= 1

    cdef void perform(self, int32_t kind, int32_t task, int32_t turn) noexcept nogil:
        cdef int64_t w
        cdef Slots slots
        if kind == FLOW:
            if self.threads > 1:
                slots = self.addends.begin(task)
            for w in range(self.firsts[task], self.firsts[task + 1]):
                self.move(w, turn, &slots)
                self.flow(w)
            if self.threads > 1:
                self.addends.end(task, slots)
        else:
            self.move_shares(self.ranges[task], self.ranges[task + 1])

    def shares(self) -> NDArray[np.float64]:
        """Float64 [tokens], from 0 to 1: those of the last step."""
        return np.asarray(self.share).copy()

    def tokens_of(self, int64_t scale) -> int:
        """What the text takes with shares in units of 1 / ``scale`` and flows that keep to them.

        Args:
            scale: a power of two; all bytes of the text times it stay below 2**62.

        Returns:
            The tokens, in these units. No vocabulary of K tokens is said to attain them.
        """
        cdef Py_ssize_t w
        cdef int64_t total = 0
        units_ = np.floor(np.asarray(self.share) * scale).astype(np.int64)
        room_ = np.zeros(self.ahead.shape[1], np.int64)
        cdef int64_t[::1] units = units_, room = room_
        cdef int64_t over = int(units_.sum()) - self.limit * scale, t = 0, less
        while over > 0:
            less = min(over, units[t])
            units[t] -= less
            over -= less
            t += 1
        with nogil:
            for w in range(self.counts.shape[0]):
                total += self.counts[w] * self.fitted(w, units, room, scale)
        return total

    cdef void begin(self, Py_ssize_t w, const double[::1] potentials) noexcept nogil:
        cdef int64_t node, i
        cdef double count = <double>self.counts[w], between, total
        for node in range(self.bounds[w] + 1, self.bounds[w + 1]):
            total = decayed(SHARP * max(0.0, 1 - (potentials[node] - potentials[node - 1]) / count))
            self.bytes[node] = <float>total
            for i in range(self.first[node], self.first[node + 1]):
                between = (potentials[node] - potentials[self.starts[i]]) / count - 1
                self.prices[i] = <float>max(0.0, between)
                self.chances[i] = <float>decayed(SHARP * max(0.0, -between))
                total += self.chances[i]
            self.bytes[node] = <float>max(LEAST, self.bytes[node] / total)
            for i in range(self.first[node], self.first[node + 1]):
                self.chances[i] = <float>max(LEAST, self.chances[i] / total)

    cdef void flow(self, Py_ssize_t w) noexcept nogil:
        """What flows through each node."""
        cdef int64_t begin = self.bounds[w], end = self.bounds[w + 1] - 1, node, i
        cdef double here
        for node in range(begin, end):
            self.through[node] = 0
        self.through[end] = 1
        for node in range(end, begin, -1):
            here = self.through[node]
            self.through[node - 1] += here * self.bytes[node]
            for i in range(self.first[node], self.first[node + 1]):
                self.through[self.starts[i]] += here * self.chances[i]

    cdef void move(self, Py_ssize_t w, int32_t turn, Slots* slots) noexcept nogil:
        """Move prices to where flow exceeds shares, and flow to where prices were and are going to be low."""
        cdef int64_t begin = self.bounds[w], end = self.bounds[w + 1] - 1, node, i, at
        cdef double count = <double>self.counts[w], price, total, highest, weight
        cdef bint alone = self.threads == 1
        cdef double* ahead = &self.ahead[turn, 0]
        cdef double* level = &self.level[turn, 0]
        cdef double* lengths = &self.lengths[turn, 0]
        ahead[0], level[0] = 1, 0
        for node in range(begin + 1, end + 1):
            at = self.first[node]
            highest = level[node - 1 - begin] - FLOW_STEP
            for i in range(at, self.first[node + 1]):
                price = self.prices[i] + PRICE_STEP * (
                    self.through[node] * self.chances[i] - self.share[self.tokens[i]]
                )
                price = price if price > 0 else 0
                weight = 2 * price - self.prices[i]
                self.prices[i] = <float>price
                if alone:
                    self.sums[self.tokens[i]] += count * weight
                else:
                    put(slots, self.tokens[i], count * weight)
                weight = level[self.starts[i] - begin] - FLOW_STEP * (1 + weight)
                lengths[i - at] = weight
                if weight > highest:
                    highest = weight
            total = decayed(highest - (level[node - 1 - begin] - FLOW_STEP))
            total = self.bytes[node] * total * ahead[node - 1 - begin]
            self.bytes[node] = <float>total
            for i in range(at, self.first[node + 1]):
                weight = self.chances[i] * decayed(highest - lengths[i - at]) * ahead[self.starts[i] - begin]
                lengths[i - at] = weight
                total += weight
            self.bytes[node] = <float>max(LEAST, self.bytes[node] / total)
            for i in range(at, self.first[node + 1]):
                self.chances[i] = <float>max(LEAST, lengths[i - at] / total)
            if total < TINY:
                total, highest = ldexp(total, SHIFT), highest - SHIFT * NATURAL
            ahead[node - begin], level[node - begin] = total, highest

    cdef void move_shares(self, int64_t first, int64_t last) noexcept nogil:
        cdef int64_t t
        cdef double share
        for t in range(first, last):
            share = (self.sums[t] - self.threshold) * FLOW_STEP / self.weight[t]
            self.share[t] = 0 if share < 0 else 1 if share > 1 else share

    cdef void settle(self) noexcept nogil:
        """Move shares to where prices are high, K in all."""
        cdef Py_ssize_t t
        cdef int64_t i, j, listed
        cdef double low = 0, high = 0, middle = self.threshold, total, slope, share
        for t in range(self.share.shape[0]):
            self.sums[t] += self.share[t] * self.weight[t] / FLOW_STEP
            if self.sums[t] > high:
                high = self.sums[t]
        if middle > high:
            middle = high
        listed = self.list_above(0.8 * middle)      # those whose sums are lower have no share
        for i in range(HALVINGS):
            if middle < self.above:
                listed = self.list_above(0)
            total = slope = 0
            for j in range(listed):
                t = self.listed[j]
                share = (self.sums[t] - middle) * FLOW_STEP / self.weight[t]
                if share >= 1:
                    total += 1
                elif share > 0:
                    total += share
                    slope += FLOW_STEP / self.weight[t]
            if total > self.limit:
                low = middle
            else:
                high = middle
                if middle == 0:
                    break
            if -1e-9 * self.limit <= total - self.limit <= 1e-9 * self.limit:
                break
            if slope > 0 and low < middle + (total - self.limit) / slope < high:
                middle += (total - self.limit) / slope
            else:
                middle = 0.5 * (low + high) if high > 1e-9 else 0
        self.threshold = middle
        self.share_out(SHARE)

    cdef int64_t fitted(self, Py_ssize_t w, const int64_t[::1] units, int64_t[::1] room, int64_t scale) noexcept nogil:
        """What a word takes where no edge flows by more than its token's units; what does not fit goes by a byte."""
        cdef int64_t begin = self.bounds[w], end = self.bounds[w + 1] - 1, node, i, left, flow, spent = 0
        for node in range(end - begin):
            room[node] = 0
        room[end - begin] = scale
        for node in range(end, begin, -1):
            left = room[node - begin]
            spent += left
            for i in range(self.first[node], self.first[node + 1]):
                flow = min(min(<int64_t>(room[node - begin] * self.chances[i]), units[self.tokens[i]]), left)
                left -= flow
                room[self.starts[i] - begin] += flow
            room[node - 1 - begin] += left
        return spent
