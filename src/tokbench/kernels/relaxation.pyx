# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""The relaxation of the fewest tokens: prices on edges, raised step by step (Lagrange's dual by subgradients).

A token's use at a place is paid for by a price; a vocabulary takes the tokens whose prices sum highest, a word the
shortest path under its prices. Where a path takes an edge whose token is not in the vocabulary its price goes up,
where a token is in the vocabulary and the path does not take it the price goes down. Every so often prices are lowered
to what the distances between nodes need, which costs nothing and is most of the way at first.

Reference: :mod:`tokbench.reference.relaxation`.
"""

import numpy as np

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.algorithm cimport nth_element
from libcpp.functional cimport greater
from libcpp.vector cimport vector


cdef enum:
    GAINS = 4           # steps in a row that gained, after which steps grow
    PATIENCE = 20       # steps without a gain, after which they shrink


cdef class Relaxation:
    """The state of the ascent; its arrays are those of :func:`tokbench.kernels.edges.token_edges`.

    Args:
        bounds: int64 [words + 1], each word's first node.
        counts: int64 [words], occurrences of the words.
        first: int64 [nodes + 1], where each node's edges start.
        starts: int32 [edges], where each begins.
        tokens: int32 [edges], the token of each.
        kinds: how many tokens there are.
        limit: how many may be in the vocabulary.
    """

    cdef const int64_t[::1] bounds, counts, first
    cdef const int32_t[::1] starts, tokens
    cdef int64_t limit, kinds, edges, steps, gained, stalled
    cdef double size, bound, best, mu, share
    cdef double[::1] prices, sums, kept, before, after, root, usage
    cdef float[::1] moves
    cdef int64_t[::1] last
    cdef uint8_t[::1] taken, chosen
    cdef vector[double] order

    def __init__(
        self, const int64_t[::1] bounds, const int64_t[::1] counts, const int64_t[::1] first,
        const int32_t[::1] starts, const int32_t[::1] tokens, int64_t kinds, int64_t limit,
    ):
        cdef Py_ssize_t nodes = first.shape[0] - 1
        self.bounds, self.counts, self.first, self.starts, self.tokens = bounds, counts, first, starts, tokens
        self.kinds, self.limit, self.edges = kinds, limit, starts.shape[0]
        self.prices, self.moves = np.zeros(self.edges), np.zeros(self.edges, np.float32)
        self.sums, self.usage = np.zeros(kinds), np.zeros(kinds)
        self.before, self.after, self.kept = np.zeros(nodes), np.zeros(nodes), np.zeros(nodes)
        self.last = np.zeros(nodes, np.int64)
        self.taken, self.chosen = np.zeros(self.edges, np.uint8), np.zeros(kinds, np.uint8)
        self.root = np.sqrt(counts)
        self.order.reserve(kinds)
        self.size, self.best, self.bound = 0.5, -np.inf, -np.inf
        self.start()

    @property
    def lower(self):
        """The best bound so far, in floating point and over the given tokens only: no proof, see ``potentials``."""
        return self.best

    @property
    def price(self):
        """What a place in the vocabulary is worth: the last price of those that are let in."""
        return self.mu

    @property
    def taken_steps(self):
        """Steps taken so far."""
        return self.steps

    def potentials(self):
        """Float64 [nodes], for every node the cost of the bytes before it under the best prices so far."""
        return np.asarray(self.kept).copy()

    def token_prices(self):
        """Float64 [tokens], the sum of each token's prices in the last step."""
        return np.asarray(self.sums).copy()

    def token_usage(self):
        """Float64 [tokens], how often each was in the vocabulary of late, from 0 to 1."""
        return np.asarray(self.usage).copy()

    def advance(self, int64_t steps, double upper, int64_t lowered):
        """Take some steps.

        Args:
            steps: how many.
            upper: tokens of the best vocabulary known; steps are in proportion to what is still between.
            lowered: prices are lowered to what is needed in every tenth of this many first steps.
        """
        cdef int64_t i
        with nogil:
            for i in range(steps):
                self.step(upper, self.steps < lowered and self.steps % 10 == 0)
                self.steps += 1

    cdef void start(self) noexcept:
        """Bytes after the first cost a fifth of a token, which nearly all tokens stay below."""
        cdef Py_ssize_t w
        cdef int64_t node
        for w in range(self.counts.shape[0]):
            self.before[self.bounds[w]] = 0
            for node in range(self.bounds[w] + 1, self.bounds[w + 1]):
                self.before[node] = self.counts[w] * (1 + 0.2 * <double>(node - self.bounds[w] - 1))
        self.reprice()

    cdef void reprice(self) noexcept nogil:
        """Take for prices what the distances between nodes exceed a token by."""
        cdef Py_ssize_t w
        for w in range(self.counts.shape[0]):
            self.reprice_word(w)

    cdef void reprice_word(self, Py_ssize_t w) noexcept nogil:
        cdef int64_t node, i
        cdef double count = <double>self.counts[w], price
        for node in range(self.bounds[w] + 1, self.bounds[w + 1]):
            for i in range(self.first[node], self.first[node + 1]):
                price = self.before[node] - self.before[self.starts[i]] - count
                self.prices[i] = price if price > 0 else 0

    cdef int step(self, double upper, bint lower) except -1 nogil:
        cdef int64_t i
        cdef Py_ssize_t t
        self.evaluate(lower)
        if self.bound > self.best:
            self.best = self.bound
            self.kept[:] = self.before
            self.stalled = 0
            self.gained += 1
            if self.gained == GAINS:
                self.size, self.gained = min(1.5, self.size * 1.05), 0
        else:
            self.gained = 0
            self.stalled += 1
            if self.stalled == PATIENCE:
                self.size, self.stalled = self.size * 0.8, 0
            if self.bound < self.best - 0.3 * (upper - self.best):
                self.before[:] = self.kept
                self.reprice()
                self.evaluate(False)
                self.size *= 0.8
                for i in range(self.edges):
                    self.moves[i] = 0
        for t in range(self.kinds):
            self.usage[t] = 0.98 * self.usage[t] + (0.02 if self.chosen[t] == 1 else 0.0)
        self.move(upper)
        return 0

    cdef int evaluate(self, bint lower) except -1 nogil:
        """Shortest paths, the vocabulary, and the bound that they give."""
        cdef Py_ssize_t w, t
        cdef int64_t i, above = 0, equal = 0
        cdef double paths = 0, top = 0
        for t in range(self.kinds):
            self.sums[t] = 0
        for w in range(self.counts.shape[0]):
            paths += self.walk(w, lower)
        self.mu = 0
        self.order.clear()
        for t in range(self.kinds):
            if self.sums[t] > 0:
                self.order.push_back(self.sums[t])
        if <int64_t>self.order.size() > self.limit > 0:
            nth_element(
                self.order.begin(), self.order.begin() + (self.limit - 1), self.order.end(), greater[double]()
            )
            self.mu = self.order[self.limit - 1]
        for t in range(self.kinds):
            self.chosen[t] = 1 if self.sums[t] > self.mu else 2 if self.sums[t] == self.mu > 0 else 0
            if self.chosen[t] == 1:
                above += 1
                top += self.sums[t]
            elif self.chosen[t] == 2:
                equal += 1
        if self.limit == 0:
            above = equal = 0
            top = 0
            for t in range(self.kinds):
                self.chosen[t] = 0
        self.share = <double>(self.limit - above) / <double>equal if equal else 0
        self.bound = paths - top - (self.mu * <double>(self.limit - above) if equal else 0)
        return 0

    cdef double walk(self, Py_ssize_t w, bint lower) noexcept nogil:
        """The length of a word's shortest path, whose edges are marked; its prices are added to their tokens'."""
        cdef int64_t begin = self.bounds[w], end = self.bounds[w + 1] - 1, node, i, who
        cdef double count = <double>self.counts[w], least, length, ahead
        self.before[begin] = 0
        for node in range(begin + 1, end + 1):
            least, who = self.before[node - 1] + count, -1
            for i in range(self.first[node], self.first[node + 1]):
                self.taken[i] = 0
                length = self.before[self.starts[i]] + count + self.prices[i]
                if length < least:
                    least, who = length, i
            self.before[node], self.last[node] = least, who
        length = self.before[end]
        if lower:
            for node in range(begin, end):
                self.after[node] = 1e300
            self.after[end] = 0
            for node in range(end, begin, -1):
                ahead = self.after[node] + count
                self.after[node - 1] = min(self.after[node - 1], ahead)
                for i in range(self.first[node], self.first[node + 1]):
                    self.after[self.starts[i]] = min(self.after[self.starts[i]], ahead + self.prices[i])
            for node in range(begin, end + 1):
                self.before[node] = 0.5 * (self.before[node] + (length - self.after[node]))
            self.reprice_word(w)
        for i in range(self.first[begin], self.first[end + 1]):
            self.sums[self.tokens[i]] += self.prices[i]
        node = end
        while node > begin:
            i = self.last[node]
            if i < 0:
                node -= 1
            else:
                self.taken[i] = 1
                node = self.starts[i]
        return length

    cdef void move(self, double upper) noexcept nogil:
        """Move all prices, those of frequent words further."""
        cdef Py_ssize_t w
        cdef int64_t i
        cdef double norm = 0, squares, size, move
        cdef double[3] held
        held[0], held[1], held[2] = 0, 1, self.share
        for w in range(self.counts.shape[0]):
            squares = 0
            for i in range(self.first[self.bounds[w]], self.first[self.bounds[w + 1]]):
                move = 0.8 * self.moves[i] + 0.2 * (<double>self.taken[i] - held[self.chosen[self.tokens[i]]])
                if self.prices[i] <= 0 and move < 0:
                    move = 0
                self.moves[i] = <float>move
                squares += move * move
            norm += squares * self.root[w]
        if norm == 0:
            return
        for w in range(self.counts.shape[0]):
            size = self.size * (upper - self.bound) / norm * self.root[w]
            for i in range(self.first[self.bounds[w]], self.first[self.bounds[w + 1]]):
                move = self.prices[i] + size * self.moves[i]
                self.prices[i] = move if move > 0 else 0
