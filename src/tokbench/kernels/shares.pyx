# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Shares of tokens in a solution of the linear relaxation, and the token count of that solution.

Prices prove a lower bound, but do not show how close it is. Here the primal problem is solved. Its variables are a
share of each token, K in total, and a flow through every word, from its first to its last node. No edge carries more
than its token's share. Flows and prices of edges are updated in turn, as in Chambolle and Pock, "On the ergodic
convergence rates of a first-order primal-dual algorithm" (2016). The flow of a word is a distribution over its paths,
stored as the probabilities of the edges into each node. Its distance is relative entropy, so a step is one forward and
one backward pass for words of any length. Shares use squared distance, and are reduced to K in total by a threshold.

At any step, shares in integer units with flows limited to them are a feasible solution of the relaxation. Its tokens
are counted in integers.

Threads share the words, then the tokens. Sums are added in one order, independent of the threads.

Reference: ``solved`` in :mod:`tokbench.reference.bounds`.
"""

import numpy as np

from libc.math cimport floor, ldexp
from libc.stdint cimport int32_t, int64_t

from tokbench.kernels.addends cimport Slots, put
from tokbench.kernels.crew cimport Crew

cdef double PRICE_STEP = 1.0        # of a price, in tokens, for an edge with full flow and without a share
# in relative entropy; the product of the steps is half of the limit of guaranteed convergence
cdef double FLOW_STEP = 0.5
cdef double SHARP = 8.0             # weight of path lengths in the initial flows
cdef double LEAST = 1e-9            # minimum probability of an edge
cdef double BINARY = 1.4426950408889634
cdef double NATURAL = 0.6931471805599453
cdef double TINY = 5.421010862427522e-20    # 2**-64
cdef enum:
    SHIFT = 64
    HALVINGS = 60
    FLOW = 0            # task kinds: move prices and flows of words
    SHARE = 1           # move shares


cdef inline double decayed(double by) noexcept nogil:
    """Return e**-by to six digits, for by >= 0, with operations that round identically on every machine."""
    cdef double whole, rest
    if by > 700:
        return 0
    by *= BINARY
    whole = floor(by)
    rest = (whole - by) * NATURAL
    rest = 1 + rest * (1 + rest * (0.5 + rest * (1 / 6.0 + rest * (1 / 24.0 + rest * (1 / 120.0 + rest / 720.0)))))
    return ldexp(rest, -<int>whole)


cdef class Shares(Crew):
    """State of the method. The arrays are those of :func:`tokbench.kernels.edges.token_edges`.

    Args:
        bounds: int64 [words + 1], first node of each word.
        counts: int64 [words], count of each word.
        first: int64 [nodes + 1], index of each node's first edge.
        starts: int32 [edges], start node of each edge.
        tokens: int32 [edges], token of each edge.
        shares: float64 [tokens], initial shares, from 0 to 1.
        potentials: float64 [nodes], price of the bytes before each node of its word, in tokens. They give the initial
            prices, and initial flows on paths that are short under these prices.
        limit: Maximum sum of the shares.
        threads: Number of threads (default: 1). The result does not depend on it.
    """

    cdef int64_t limit
    cdef double threshold
    cdef double[::1] share, weight, through
    cdef double[:, ::1] ahead, level, lengths       # per thread
    cdef float[::1] prices, chances, bytes
    cdef int64_t to_take            # steps left

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
        """Run some steps."""
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
        """Return float64 [tokens], the shares after the last step, from 0 to 1."""
        return np.asarray(self.share).copy()

    def tokens_of(self, int64_t scale) -> int:
        """Return the token count of the text for shares in units of 1 / ``scale`` and flows limited to them.

        Args:
            scale: A power of two. The bytes of the text times ``scale`` must be below 2**62.

        Returns:
            The token count in these units. There need not be a vocabulary of K tokens that attains it.
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
        """Compute the flow through each node."""
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
        """Raise prices where flow exceeds shares, and move flow to low prices, extrapolated from the last step."""
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
        """Move shares to tokens with high prices, K in total."""
        cdef Py_ssize_t t
        cdef int64_t i, j, listed
        cdef double low = 0, high = 0, middle = self.threshold, total, slope, share
        for t in range(self.share.shape[0]):
            self.sums[t] += self.share[t] * self.weight[t] / FLOW_STEP
            if self.sums[t] > high:
                high = self.sums[t]
        if middle > high:
            middle = high
        listed = self.list_above(0.8 * middle)      # tokens with lower sums have no share
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
        """Return the tokens of a word if no edge carries more than its token's units; the excess uses single bytes."""
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
