# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Subgradient ascent of a lower bound: selection of the vocabulary by prices, the bound, and step sizes.

Steps follow Polyak's rule, with a factor that grows with progress and shrinks without it.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.algorithm cimport nth_element
from libcpp.functional cimport greater

from tokbench.kernels.crew cimport TASKS, Crew


cdef enum:
    GAINS = 4           # successful steps in a row after which steps grow
    PATIENCE = 20       # steps without progress after which steps shrink


cdef class Ascent(Crew):
    """State of an ascent. The arrays are those of :func:`tokbench.kernels.edges.token_edges`.

    Args:
        bounds: int64 [words + 1], first node of each word.
        counts: int64 [words], count of each word.
        first: int64 [nodes + 1], index of each node's first edge.
        starts: int32 [edges], start node of each edge.
        tokens: int32 [edges], token of each edge.
        kinds: Number of tokens.
        limit: Maximum number of tokens in the vocabulary.
        threads: Number of threads (default: 1). The result does not depend on it.
    """

    def __init__(
        self, const int64_t[::1] bounds, const int64_t[::1] counts, const int64_t[::1] first,
        const int32_t[::1] starts, const int32_t[::1] tokens, int64_t kinds, int64_t limit, int32_t threads=1,
    ):
        cdef Py_ssize_t nodes = first.shape[0] - 1
        super().__init__(bounds, counts, first, starts, tokens, kinds, threads)
        self.limit = limit
        self.usage, self.order = np.zeros(kinds), np.empty(kinds)
        self.before, self.kept = np.zeros(nodes), np.zeros(nodes)
        self.chosen, self.at_mu = np.zeros(kinds, np.uint8), np.zeros(TASKS, np.int64)
        self.size, self.best, self.bound = 0.5, -np.inf, -np.inf
        self.of_words = np.zeros(len(counts))

    @property
    def lower(self) -> float:
        """Best bound so far, in floating point and over the given tokens only. For a proof see ``potentials``."""
        return self.best

    @property
    def price(self) -> float:
        """Value of one place in the vocabulary: the lowest price among selected tokens."""
        return self.mu

    @property
    def taken_steps(self) -> int:
        """Number of steps so far."""
        return self.steps

    def potentials(self) -> NDArray[np.float64]:
        """Return float64 [nodes], the cost of the bytes before each node under the best prices so far."""
        return np.asarray(self.kept).copy()

    def token_prices(self) -> NDArray[np.float64]:
        """Return float64 [tokens], the sum of each token's prices in the last step."""
        return np.asarray(self.sums).copy()

    def token_usage(self) -> NDArray[np.float64]:
        """Return float64 [tokens], the share of recent steps in which each token was selected, from 0 to 1."""
        return np.asarray(self.usage).copy()

    def advance(self, int64_t steps, double upper) -> None:
        """Run some steps.

        Args:
            steps: Number of steps.
            upper: Token count of the best known vocabulary. Step lengths are proportional to the remaining gap.
        """
        self.to_take, self.upper = steps, upper
        self.work()

    cdef void lead(self) noexcept nogil:
        while self.to_take > 0:
            self.step()
            self.steps += 1
            self.to_take -= 1

    cdef void step(self) noexcept nogil:
        """Evaluate prices and move them."""

    cdef void perform(self, int32_t kind, int32_t task, int32_t turn) noexcept nogil:
        cdef int64_t first = self.ranges[task], last = self.ranges[task + 1], t
        if kind == KEEP:
            for t in range(self.bounds[self.firsts[task]], self.bounds[self.firsts[task + 1]]):
                self.kept[t] = self.before[t]
        elif kind == CHOOSE:
            self.choose(task, first, last)
        else:
            for t in range(first, last):
                self.usage[t] = 0.98 * self.usage[t] + (0.02 if self.chosen[t] == 1 else 0.0)

    cdef void weigh(self) noexcept nogil:
        """Select the vocabulary by the sums of tokens, and compute the bound."""
        cdef Py_ssize_t w, t
        cdef int64_t above = 0, equal = 0
        cdef double paths = 0, top = 0
        for w in range(self.counts.shape[0]):
            paths += self.of_words[w]
        self.let_in()
        self.share_out(CHOOSE)
        for t in range(TASKS):
            equal += self.at_mu[t]
        if self.limit > 0:
            above = self.list_above(self.mu)
        for t in range(above):
            top += self.sums[self.listed[t]]
        self.share = <double>(self.limit - above) / <double>equal if equal else 0
        self.bound = paths - top - (self.mu * <double>(self.limit - above) if equal else 0)

    cdef bint fell(self) noexcept nogil:
        """Store an improved bound and adapt the step size. Return whether the bound fell too far to continue."""
        if self.bound > self.best:
            self.best = self.bound
            self.share_out(KEEP)
            self.stalled = 0
            self.gained += 1
            if self.gained == GAINS:
                self.size, self.gained = min(1.5, self.size * 1.05), 0
            return False
        self.gained = 0
        self.stalled += 1
        if self.stalled == PATIENCE:
            self.size, self.stalled = self.size * 0.8, 0
        return self.bound < self.best - 0.3 * (self.upper - self.best)

    cdef void move(self) noexcept nogil:
        """Compute the step length of all prices."""
        cdef Py_ssize_t w
        cdef double norm = 0
        self.share_out(AIM)
        for w in range(self.counts.shape[0]):
            norm += self.of_words[w]
        if norm == 0:
            return
        self.stride, self.aimed = self.size * (self.upper - self.bound) / norm, True

    cdef void let_in(self) noexcept nogil:
        """Compute the lowest sum among the selected tokens; 0 if there is room for all."""
        cdef int64_t listed = self.list_above(0.8 * self.mu), t    # few are above the previous threshold
        if listed <= self.limit:
            listed = self.list_above(0)
        for t in range(listed):
            self.order[t] = self.sums[self.listed[t]]
        self.mu = 0
        if listed > self.limit > 0:
            nth_element(
                &self.order[0], &self.order[0] + (self.limit - 1), &self.order[0] + listed, greater[double]()
            )
            self.mu = self.order[self.limit - 1]

    cdef void choose(self, int32_t task, int64_t first, int64_t last) noexcept nogil:
        cdef int64_t t, equal = 0
        cdef bint is_above, is_equal
        for t in range(first, last):
            is_above = (self.sums[t] > self.mu) & (self.limit > 0)
            is_equal = (self.sums[t] == self.mu) & (self.mu > 0)
            self.chosen[t] = is_above + 2 * is_equal
            equal += is_equal
        self.at_mu[task] = equal
