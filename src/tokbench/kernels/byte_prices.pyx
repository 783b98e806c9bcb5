# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""The bound on the fewest tokens by prices of bytes alone, raised step by step.

:mod:`tokbench.kernels.relaxation` has a price for every edge and walks the shortest path of each word. Where words are
long, most edges are of substrings that no vocabulary would hold, and every path finds another of them that has no price
yet. Here an edge costs what the prices of its bytes exceed a token by, so that none has to be found: a token's price is
the sum of that over its edges, and the K greatest are let in. The price of a byte goes down where more tokens of the
vocabulary lie over it than one, and up where none does; at most to a token, which the byte alone would cost.

Steps are taken in proportion to what a byte's price was moved by of late, as there are bytes that one token covers and
bytes that twenty do (the running mean of squares of Tieleman and Hinton's RMSProp, Coursera, 2012, lecture 6.5).

Threads share the words, and after these the tokens: every sum is added up in one order, whoever does it.

Reference: ``byte_prices`` in :mod:`tokbench.reference.bounds`.
"""

import numpy as np

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t

from tokbench.kernels.addends cimport Slots, put
from tokbench.kernels.ascent cimport AIM, USE, Ascent


cdef enum:
    LAY = 0             # kinds of tasks: prices of words moved, and what they sum to
    GO_BACK = 1         # prices of words as they were when the bound was best

cdef double LEAST = 0.01        # of a mean of squares


cdef class BytePrices(Ascent):
    """The state of the ascent; its arrays are those of :func:`tokbench.kernels.edges.token_edges`.

    Args:
        bounds: int64 [words + 1], each word's first node.
        counts: int64 [words], occurrences of the words.
        first: int64 [nodes + 1], where each node's edges start.
        starts: int32 [edges], where each begins.
        tokens: int32 [edges], the token of each.
        kinds: how many tokens there are.
        limit: how many may be in the vocabulary.
        potentials: float64 [nodes], for every node the cost of the bytes before it in its word, to begin with.
        threads: threads to use; they do not show.
    """

    cdef double[::1] prices, moves, squares     # of the byte before each node
    cdef double[:, ::1] covers                  # of each thread: by how much more each byte is covered than the last one

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
        """What words and tokens cost, the vocabulary, and the bound that they give."""
        self.share_words(LAY)
        self.aimed = False
        self.weigh()

    cdef double lay(self, Py_ssize_t w, Slots* slots) noexcept nogil:
        """What a word's bytes cost; what its edges do is added to their tokens' sums."""
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
        """Where the prices of a word's bytes are to move; the sum of the squares, each as far as its price goes."""
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
