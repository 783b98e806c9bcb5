# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The shares of tokens that the relaxation of the fewest tokens takes, and the tokens of the text that they allow.

Prices prove a bound and say little of what attains it. Here the other side is approached: a share of each token, K in
all, and in every word a flow from its first node to its last that takes no edge by more than its token's share. Flow
and price of every edge are moved against each other, as in Chambolle and Pock, "On the ergodic convergence rates of a
first-order primal-dual algorithm" (2016). A word's flow is a distribution over its paths, kept as the chances of the
edges into each node; its distance is relative entropy, by which a step is one walk forwards and one backwards however
long the word. Shares move by squares, and are cut to K by one threshold.

Whatever the state, shares in whole units and flows that are cut to them are a solution of the relaxation, whose tokens
are counted in integers.

Reference: :mod:`tokbench.reference.shares`.
"""

import numpy as np

from libc.math cimport floor, ldexp
from libc.stdint cimport int32_t, int64_t

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


cdef class Shares:
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
    """

    cdef const int64_t[::1] bounds, counts, first
    cdef const int32_t[::1] starts, tokens
    cdef int64_t limit
    cdef double threshold
    cdef double[::1] share, weight, sums, through, ahead, level, lengths
    cdef float[::1] prices, chances, bytes

    def __init__(
        self, const int64_t[::1] bounds, const int64_t[::1] counts, const int64_t[::1] first,
        const int32_t[::1] starts, const int32_t[::1] tokens, const double[::1] shares,
        const double[::1] potentials, int64_t limit,
    ):
        cdef Py_ssize_t nodes = first.shape[0] - 1, w
        cdef int64_t i
        self.bounds, self.counts, self.first, self.starts, self.tokens = bounds, counts, first, starts, tokens
        self.limit, self.threshold = limit, 0
        self.share = np.array(shares)
        self.weight, self.sums = np.zeros(len(shares)), np.zeros(len(shares))
        longest = int(np.diff(bounds).max(initial=0))
        self.through, self.ahead, self.level = np.zeros(nodes), np.zeros(longest), np.zeros(longest)
        self.lengths = np.zeros(int(np.diff(first).max(initial=0)))
        self.prices, self.chances = np.zeros(len(starts), np.float32), np.zeros(len(starts), np.float32)
        self.bytes = np.zeros(nodes, np.float32)
        with nogil:
            for w in range(counts.shape[0]):
                for i in range(first[bounds[w]], first[bounds[w + 1]]):
                    self.weight[tokens[i]] += <double>counts[w]
                self.begin(w, potentials)
                self.flow(w)

    def advance(self, int64_t steps):
        """Take some steps."""
        cdef int64_t step
        cdef Py_ssize_t w, t
        with nogil:
            for step in range(steps):
                for t in range(self.share.shape[0]):
                    self.sums[t] = 0
                for w in range(self.counts.shape[0]):
                    self.move(w)
                    self.flow(w)
                self.share_out()

    def shares(self):
        """Float64 [tokens], from 0 to 1: those of the last step."""
        return np.asarray(self.share).copy()

    def tokens_of(self, int64_t scale):
        """What the text takes with shares in units of 1 / ``scale`` and flows that keep to them.

        Args:
            scale: a power of two; all bytes of the text times it stay below 2**62.

        Returns:
            The tokens, in these units. No vocabulary of K tokens is said to attain them.
        """
        cdef Py_ssize_t w
        cdef int64_t total = 0
        units_ = np.floor(np.asarray(self.share) * scale).astype(np.int64)
        room_ = np.zeros(self.ahead.shape[0], np.int64)
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

    cdef void move(self, Py_ssize_t w) noexcept nogil:
        """Move prices to where flow exceeds shares, and flow to where prices were and are going to be low."""
        cdef int64_t begin = self.bounds[w], end = self.bounds[w + 1] - 1, node, i, at
        cdef double count = <double>self.counts[w], price, total, highest, weight
        self.ahead[0], self.level[0] = 1, 0
        for node in range(begin + 1, end + 1):
            at = self.first[node]
            highest = self.level[node - 1 - begin] - FLOW_STEP
            for i in range(at, self.first[node + 1]):
                price = self.prices[i] + PRICE_STEP * (
                    self.through[node] * self.chances[i] - self.share[self.tokens[i]]
                )
                price = price if price > 0 else 0
                weight = 2 * price - self.prices[i]
                self.prices[i] = <float>price
                self.sums[self.tokens[i]] += count * weight
                weight = self.level[self.starts[i] - begin] - FLOW_STEP * (1 + weight)
                self.lengths[i - at] = weight
                if weight > highest:
                    highest = weight
            total = decayed(highest - (self.level[node - 1 - begin] - FLOW_STEP))
            total = self.bytes[node] * total * self.ahead[node - 1 - begin]
            self.bytes[node] = <float>total
            for i in range(at, self.first[node + 1]):
                weight = self.chances[i] * decayed(highest - self.lengths[i - at]) * self.ahead[self.starts[i] - begin]
                self.lengths[i - at] = weight
                total += weight
            self.bytes[node] = <float>max(LEAST, self.bytes[node] / total)
            for i in range(at, self.first[node + 1]):
                self.chances[i] = <float>max(LEAST, self.lengths[i - at] / total)
            if total < TINY:
                total, highest = ldexp(total, SHIFT), highest - SHIFT * NATURAL
            self.ahead[node - begin], self.level[node - begin] = total, highest

    cdef void share_out(self) noexcept nogil:
        """Move shares to where prices are high, K in all."""
        cdef Py_ssize_t t
        cdef int64_t i
        cdef double low = 0, high = 0, middle = self.threshold, total, slope, share
        for t in range(self.share.shape[0]):
            self.sums[t] += self.share[t] * self.weight[t] / FLOW_STEP
            if self.sums[t] > high:
                high = self.sums[t]
        if middle > high:
            middle = high
        for i in range(HALVINGS):
            total = slope = 0
            for t in range(self.share.shape[0]):
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
        for t in range(self.share.shape[0]):
            share = (self.sums[t] - middle) * FLOW_STEP / self.weight[t]
            self.share[t] = 0 if share < 0 else 1 if share > 1 else share

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
