# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Lower bound on the token count by dual ascent on prices of bytes only.

:mod:`tokbench.kernels.relaxation` has a price for every edge and follows the shortest path of each word. In long words,
most edges are of substrings that no vocabulary would contain, and each path finds further such edges without a price.
Here the price of an edge is derived: the prices of its bytes minus the cost of one token, if positive. The price of a
token is the sum over its edges, and the K tokens with the greatest prices are selected. The price of a byte falls if it
is covered by more than one selected token, and rises if it is covered by none. It is at most one token, the cost of the
byte as a token.

Step lengths are scaled by the recent moves of each byte's price, because some bytes are covered by one token and others
by twenty. The scale is the running mean of squares of Tieleman and Hinton's RMSProp (Coursera, 2012, lecture 6.5).

Threads share the words, then the tokens. Sums are added in one order, independent of the threads.

Reference: ``ascend_byte_prices`` in :mod:`tokbench.reference.bounds`.
"""

import numpy as np

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t

from tokbench.kernels.addends cimport Slots, put
from tokbench.kernels.ascent cimport AIM, USE, Ascent


cdef enum:
    LAY = 0             # task kinds: move the prices of words and add up their costs
    GO_BACK = 1         # restore the prices of the best bound

cdef double LEAST = 0.01        # added to a mean of squares


cdef class BytePrices(Ascent):
    """State of the ascent. The arrays are those of :func:`tokbench.kernels.edges.token_edges`.

    Args:
        bounds: int64 [words + 1], first node of each word.
        counts: int64 [words], count of each word.
        first: int64 [nodes + 1], index of each node's first edge.
        starts: int32 [edges], start node of each edge.
        tokens: int32 [edges], token of each edge.
        kinds: Number of tokens.
        limit: Maximum number of tokens in the vocabulary.
        potentials: float64 [nodes], initial cost of the bytes before each node in its word.
        threads: Number of threads (default: 1). The result does not depend on it.
    """

    cdef double[::1] prices, moves, squares     # of the byte before each node
    # per thread: difference in coverage between each byte and the byte before
    cdef double[:, ::1] covers

    def __init__(
        self, const int64_t[::1] bounds, const int64_t[::1] counts, const int64_t[::1] first,
        const int32_t[::1] starts, const int32_t[::1] tokens, int64_t kinds, int64_t limit,
        const double[::1] potentials, int32_t threads=1,
    ):
        cdef Py_ssize_t nodes = first.shape[0] - 1
        super().__init__(bounds, counts, first, starts, tokens, kinds, limit, threads)
        self.prices, self.moves, self.squares = np.zeros(nodes), np.zeros(nodes), np.ones(nodes)
        self.covers = np.zeros((threads, int(np.diff(bounds).max(initial=0)) + 1))
        self.kept[:] = potentials
        self.share_out(GO_BACK)

    cdef void perform(self, int32_t kind, int32_t task, int32_t turn) noexcept nogil:
        cdef int64_t first = self.firsts[task], last = self.firsts[task + 1], w
        cdef Slots slots
        if kind == LAY:
            if self.threads > 1:
                slots = self.addends.begin(task)
            for w in range(first, last):
                if self.aimed:
                    self.move_word(w)
                self.of_words[w] = self.lay(w, &slots)
            if self.threads > 1:
                self.addends.end(task, slots)
        elif kind == AIM:
            for w in range(first, last):
                self.of_words[w] = self.aim(w, &self.covers[turn, 0])
        elif kind == GO_BACK:
            for w in range(first, last):
                self.go_back(w)
        else:
            Ascent.perform(self, kind, task, turn)

    cdef void step(self) noexcept nogil:
        self.evaluate()
        if self.fell():
            self.share_out(GO_BACK)
            self.evaluate()
            self.size *= 0.8
        self.share_out(USE)
        self.move()

    cdef void evaluate(self) noexcept nogil:
        """Compute the costs of words and tokens, the vocabulary and the bound."""
        self.share_words(LAY)
        self.aimed = False
        self.weigh()

    cdef double lay(self, Py_ssize_t w, Slots* slots) noexcept nogil:
        """Return the cost of a word's bytes, and add the prices of its edges to the sums of their tokens."""
        cdef int64_t begin = self.bounds[w], end = self.bounds[w + 1], node, i
        cdef double count = <double>self.counts[w], price
        self.before[begin] = 0
        for node in range(begin + 1, end):
            self.before[node] = self.before[node - 1] + self.prices[node]
            for i in range(self.first[node], self.first[node + 1]):
                price = self.before[node] - self.before[self.starts[i]] - count
                if self.threads > 1:
                    put(slots, self.tokens[i], price if price > 0 else 0)
                elif price > 0:
                    self.sums[self.tokens[i]] += price
        return self.before[end - 1]

    cdef void go_back(self, Py_ssize_t w) noexcept nogil:
        cdef int64_t node
        cdef double count = <double>self.counts[w], price
        for node in range(self.bounds[w] + 1, self.bounds[w + 1]):
            price = self.kept[node] - self.kept[node - 1]
            self.prices[node] = price if price < count else count
            self.moves[node] = 0

    cdef double aim(self, Py_ssize_t w, double* covers) noexcept nogil:
        """Compute the moves of the prices of a word's bytes; return the sum of their scaled squares."""
        cdef int64_t begin = self.bounds[w], end = self.bounds[w + 1], node, i
        cdef double count = <double>self.counts[w], squares = 0, cover = 0, held, wanted, move
        cdef double[3] holds
        holds[0], holds[1], holds[2] = 0, 1, self.share
        for node in range(end - begin + 1):
            covers[node] = 0
        for node in range(begin + 1, end):
            for i in range(self.first[node], self.first[node + 1]):
                if self.before[node] - self.before[self.starts[i]] - count > 0:
                    held = holds[self.chosen[self.tokens[i]]]
                    covers[self.starts[i] + 1 - begin] += held
                    covers[node + 1 - begin] -= held
        for node in range(begin + 1, end):
            cover += covers[node - begin]
            wanted = 1 - cover
            self.squares[node] = 0.9 * self.squares[node] + 0.1 * (wanted * wanted)
            move = 0.8 * self.moves[node] + 0.2 * wanted
            if self.prices[node] >= count and move > 0:
                move = 0
            self.moves[node] = move
            squares += move * move * (count / sqrt(self.squares[node] + LEAST))
        return squares

    cdef void move_word(self, Py_ssize_t w) noexcept nogil:
        cdef int64_t node
        cdef double count = <double>self.counts[w], price
        for node in range(self.bounds[w] + 1, self.bounds[w + 1]):
            price = self.prices[node] + self.stride * (count / sqrt(self.squares[node] + LEAST)) * self.moves[node]
            self.prices[node] = price if price < count else count
