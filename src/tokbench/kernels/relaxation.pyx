# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Linear relaxation of the fewest tokens: Lagrangian dual by subgradients, with prices on edges.

The use of a token at a place has a price. The vocabulary consists of the tokens with the greatest sums of prices; a
word uses the shortest path under its prices. The price of an edge rises if the path uses it and its token is not in the
vocabulary, and falls in the opposite case. In some early steps, prices are lowered to what the distances between nodes
require. This does not lower the bound and yields most of the progress at first.

Threads share the words, then the tokens. Sums are added in one order, independent of the threads.

Reference: ``ascend`` in :mod:`tokbench.reference.bounds`.
"""

import numpy as np

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t

from tokbench.kernels.addends cimport Slots, put
from tokbench.kernels.ascent cimport AIM, USE, Ascent


cdef enum:
    WALK = 0            # task kinds: move the prices of words and find shortest paths
    LOWER = 1           # likewise, then lower prices
    REPRICE = 2         # recompute the prices of words from distances


cdef class Relaxation(Ascent):
    """State of the ascent. The arrays are those of :func:`tokbench.kernels.edges.token_edges`.

    Args:
        bounds: int64 [words + 1], first node of each word.
        counts: int64 [words], count of each word.
        first: int64 [nodes + 1], index of each node's first edge.
        starts: int32 [edges], start node of each edge.
        tokens: int32 [edges], token of each edge.
        kinds: Number of tokens.
        limit: Maximum number of tokens in the vocabulary.
        threads: Number of threads (default: 1). The result does not depend on it.
        lowered: Number of initial steps of which every tenth lowers prices (default: 0).
    """

    cdef int64_t edges
    cdef double[::1] prices, after, root
    cdef float[::1] moves
    cdef int64_t[::1] last
    cdef uint8_t[::1] taken
    cdef int64_t lowered            # number of initial steps of which every tenth lowers prices

    def __init__(
        self, const int64_t[::1] bounds, const int64_t[::1] counts, const int64_t[::1] first,
        const int32_t[::1] starts, const int32_t[::1] tokens, int64_t kinds, int64_t limit, int32_t threads=1,
        int64_t lowered=0,
    ):
        cdef Py_ssize_t nodes = first.shape[0] - 1
        super().__init__(bounds, counts, first, starts, tokens, kinds, limit, threads)
        self.edges, self.lowered = starts.shape[0], lowered
        self.prices, self.moves = np.zeros(self.edges), np.zeros(self.edges, np.float32)
        self.after, self.last = np.zeros(nodes), np.zeros(nodes, np.int64)
        self.taken = np.zeros(self.edges, np.uint8)
        self.root = np.sqrt(counts)
        self.start()

    cdef void perform(self, int32_t kind, int32_t task, int32_t turn) noexcept nogil:
        cdef int64_t first = self.firsts[task], last = self.firsts[task + 1], w, i
        cdef Slots slots
        if kind == WALK or kind == LOWER:
            if self.threads > 1:
                slots = self.addends.begin(task)
            for w in range(first, last):
                if self.aimed:
                    self.move_word(w)
                self.of_words[w] = self.walk(w, kind == LOWER)
                for i in range(self.first[self.bounds[w]], self.first[self.bounds[w + 1]] if self.threads > 1 else 0):
                    put(&slots, self.tokens[i], self.prices[i])
            if self.threads > 1:
                self.addends.end(task, slots)
        elif kind == REPRICE:
            for w in range(first, last):
                self.reprice_word(w)
        elif kind == AIM:
            for w in range(first, last):
                self.of_words[w] = self.aim(w)
        else:
            Ascent.perform(self, kind, task, turn)

    cdef void start(self) noexcept:
        """Set initial prices: the first byte of a word costs one token, each further byte a fifth of a token."""
        cdef Py_ssize_t w
        cdef int64_t node
        for w in range(self.counts.shape[0]):
            self.before[self.bounds[w]] = 0
            for node in range(self.bounds[w] + 1, self.bounds[w + 1]):
                self.before[node] = self.counts[w] * (1 + 0.2 * <double>(node - self.bounds[w] - 1))
        self.reprice()

    cdef void reprice(self) noexcept nogil:
        """Set prices to the excess of the distances between nodes over the cost of one token."""
        self.share_out(REPRICE)

    cdef void reprice_word(self, Py_ssize_t w) noexcept nogil:
        cdef int64_t node, i
        cdef double count = <double>self.counts[w], price
        for node in range(self.bounds[w] + 1, self.bounds[w + 1]):
            for i in range(self.first[node], self.first[node + 1]):
                price = self.before[node] - self.before[self.starts[i]] - count
                self.prices[i] = price if price > 0 else 0

    cdef void step(self) noexcept nogil:
        cdef int64_t i
        self.evaluate(self.steps < self.lowered and self.steps % 10 == 0)
        if self.fell():
            self.before[:] = self.kept
            self.reprice()
            self.evaluate(False)
            self.size *= 0.8
            for i in range(self.edges):
                self.moves[i] = 0
        self.share_out(USE)
        self.move()

    cdef void evaluate(self, bint lower) noexcept nogil:
        """Compute shortest paths, the vocabulary and the bound."""
        self.share_words(LOWER if lower else WALK)
        self.aimed = False
        self.weigh()

    cdef double walk(self, Py_ssize_t w, bint lower) noexcept nogil:
        """Mark a word's shortest path and return its length. A single thread also adds prices to tokens' sums."""
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
        if self.threads == 1:
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

    cdef double aim(self, Py_ssize_t w) noexcept nogil:
        """Compute the moves of a word's prices, larger for frequent words; return the sum of their scaled squares."""
        cdef int64_t i
        cdef double squares = 0, move, low
        cdef double[3] held
        cdef double[2] lows             # lower limits of moves, without an unpredictable branch
        held[0], held[1], held[2] = 0, 1, self.share
        lows[0], lows[1] = -1e300, 0
        for i in range(self.first[self.bounds[w]], self.first[self.bounds[w + 1]]):
            move = 0.8 * self.moves[i] + 0.2 * (<double>self.taken[i] - held[self.chosen[self.tokens[i]]])
            low = lows[self.prices[i] <= 0]
            move = low if move < low else move
            self.moves[i] = <float>move
            squares += move * move
        return squares * self.root[w]

    cdef void move_word(self, Py_ssize_t w) noexcept nogil:
        cdef int64_t i
        cdef double size = self.stride * self.root[w], move
        for i in range(self.first[self.bounds[w]], self.first[self.bounds[w + 1]]):
            move = self.prices[i] + size * self.moves[i]
            self.prices[i] = move if move > 0 else 0
