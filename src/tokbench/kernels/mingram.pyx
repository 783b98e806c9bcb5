# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""MinGram: the fewest tokens, ties by likelihood; occurrences of tokens, and the cost of omitting each.

Land, "MinGram: A Minimalist Unigram Tokenizer" (2026). The likelihood of a token is a cost in integers, so that sums of equal tokens are equal. Places
are between bytes, 0 to n.

Reference: :mod:`tokbench.reference.mingram`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

from tokbench.kernels.matches cimport LONG, SuffixLinks, follow, forward_links
from tokbench.kernels.segmenter cimport PretokenSegmenter, Scratch, release, reserve
from tokbench.kernels.trie cimport Trie, TrieView, step, token_at

MAX_COST = 2 ** 31 - 1
"""Largest cost of a token in magnitude, so that the sum over a pre-token fits into 63 bits."""


cdef struct Arrival:
    # Last token of the best segmentation of a prefix of a pre-token.
    int64_t cost        # sum of the costs of the segmentation
    int32_t tokens      # number of tokens of the segmentation
    int32_t width       # length of the last token in bytes
    int32_t token       # id of the last token


cdef struct Edge:
    int32_t start
    int32_t end


cdef inline void meet(
    Arrival* best, const Arrival* before, int64_t cost, int32_t width, int32_t token, bint equal
) noexcept nogil:
    """Consider a last token: use it if it is better, or equally good and ``equal`` is true."""
    cdef int32_t tokens = before.tokens + 1
    cost += before.cost
    if tokens > best.tokens or tokens == best.tokens and (cost > best.cost or cost == best.cost and not equal):
        return
    best.cost = cost
    best.tokens = tokens
    best.width = width
    best.token = token


cdef inline void clear(Arrival* best) noexcept nogil:
    best.cost = 0
    best.tokens = 0x7FFFFFFF
    best.width = best.token = 0


cdef void arrive(
    const TrieView* trie, const int64_t* costs, const uint8_t* text, int64_t size, bint leading, Arrival* arrivals
) noexcept nogil:
    """Find the last token of the best segmentation of each prefix, from the shortest token to the longest."""
    cdef Arrival best
    cdef int64_t end, start
    cdef int32_t node, token
    for end in range(1, size + 1):
        clear(&best)
        node = 0
        for start in range(end - 1, -1, -1):
            node = step(trie, node, text[start])
            if node < 0:
                break
            token = token_at(trie, node)
            if token >= 0:
                meet(&best, &arrivals[start], costs[token], <int32_t>(end - start), token, not leading)
        arrivals[end] = best


cdef void arrive_by_links(
    SuffixLinks links, const int64_t* costs, const uint8_t* text, int64_t size, bint leading, Arrival* arrivals
) noexcept nogil:
    """Do the same by suffix links, from the longest token to the shortest."""
    cdef const TrieView* trie = &links.trie.view
    cdef const int32_t* suffix = &links.suffix[0]
    cdef const int32_t* last = &links.last[0]
    cdef Arrival best
    cdef int64_t end
    cdef int32_t node = 0, match, width, token
    for end in range(1, size + 1):
        node = follow(trie, suffix, node, text[end - 1])
        clear(&best)
        match = last[node]
        while match:
            width = links.depth[match]
            token = token_at(trie, match)
            meet(&best, &arrivals[end - width], costs[token], width, token, leading)
            match = last[suffix[match]]
        arrivals[end] = best


cdef class MinGramSegmenter(PretokenSegmenter):
    """Segmenter into the fewest tokens; ties: the least sum of costs.

    Args:
        suffixes: Trie of the reversed tokens (``Trie(..., backwards=True)``), including the 256 bytes.
        costs: int64 [tokens], cost of each token, at most :data:`MAX_COST` in magnitude.
        leading: Whether of equal segmentations the one whose last token starts latest is used, recursively (default:
            True). Otherwise it is the one whose last token starts earliest.

    Raises:
        ValueError: the trie lacks a byte, or a token has no cost or too large a one.
    """

    cdef Trie suffixes
    cdef SuffixLinks links      # None if no token is long
    cdef const int64_t[::1] costs
    cdef bint leading

    def __init__(self, Trie suffixes not None, const int64_t[::1] costs, bint leading=True):
        if any(suffixes.find(bytes([value])) < 0 for value in range(256)):
            raise ValueError("the trie lacks one of the 256 bytes")
        cdef int64_t most = MAX_COST
        cdef int32_t slot, token
        for slot in range(suffixes.view.slots):
            token = token_at(&suffixes.view, slot)
            if token >= 0 and (token >= costs.shape[0] or not -most <= costs[token] <= most):
                raise ValueError(f"token {token} has no cost of at most {MAX_COST}")
        self.suffixes = suffixes
        self.links = forward_links(suffixes)
        self.costs = costs
        self.leading = leading

    cdef void fill(self, const uint8_t* text, int64_t size, Arrival* arrivals) noexcept nogil:
        """Write the last token of each prefix of a pre-token; there are ``size + 1``."""
        clear(&arrivals[0])
        arrivals[0].tokens = 0
        if size > LONG and self.links is not None:
            arrive_by_links(self.links, &self.costs[0], text, size, self.leading, arrivals)
        else:
            arrive(&self.suffixes.view, &self.costs[0], text, size, self.leading, arrivals)

    cdef int64_t cut(self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch) except -1 nogil:
        cdef Arrival* arrivals = <Arrival*>reserve(scratch, (size + 1) * sizeof(Arrival))
        cdef int64_t end, place, written
        self.fill(text, size, arrivals)
        written = arrivals[size].tokens
        end = size
        for place in range(written - 1, -1, -1):
            ids[place] = arrivals[end].token
            end -= arrivals[end].width
        return written


def add_occurrences(
    PretokenSegmenter segmenter not None,
    const uint8_t[::1] data,
    const int64_t[::1] offsets,
    const int64_t[::1] counts,
    int64_t first,
    int64_t last,
    int64_t[::1] occurrences,
) -> None:
    """Segment pre-tokens, and count each token.

    Args:
        segmenter: Any segmenter.
        data: uint8 [bytes], concatenated pre-tokens.
        offsets: int64 [n + 1], start of each pre-token.
        counts: int64 [n], count of each pre-token.
        first, last: Range of pre-tokens, ``first <= i < last``.
        occurrences: int64 [tokens], weighted by ``counts``; added to.

    Raises:
        MemoryError: there is not enough working memory for the longest pre-token.
    """
    cdef vector[int32_t] ids
    cdef Scratch scratch
    cdef int64_t item, n, k, written
    scratch.memory = NULL
    scratch.bytes = 0
    with nogil:
        try:
            for item in range(first, last):
                n = offsets[item + 1] - offsets[item]
                if n == 0:
                    continue
                if <int64_t>ids.size() < n:
                    ids.resize(n)
                written = segmenter.cut(&data[offsets[item]], n, ids.data(), &scratch)
                for k in range(written):
                    occurrences[ids[k]] += counts[item]
        finally:
            release(&scratch)


cdef int find_edges(
    const TrieView* trie, const uint8_t* text, int64_t n, vector[Edge]* edges, int64_t* begins
) except -1 nogil:
    """Collect the matches of all tokens by their ends, shorter tokens first; ``begins`` [n + 2] by end."""
    cdef int64_t end, start
    cdef int32_t node
    cdef Edge edge
    edges.clear()
    begins[0] = begins[1] = 0
    for end in range(1, n + 1):
        node = 0
        for start in range(end - 1, -1, -1):
            node = step(trie, node, text[start])
            if node < 0:
                break
            if token_at(trie, node) >= 0:
                edge.start = <int32_t>start
                edge.end = <int32_t>end
                edges.push_back(edge)
        begins[end + 1] = <int64_t>edges.size()
    return 0


cdef int64_t increase_without(
    const Edge* edges, const int64_t* begins, const Arrival* reach, const int32_t* rest, int64_t n,
    int64_t start, int64_t end, int64_t widest,
) noexcept nogil:
    """Return the additional tokens if [start, end) is not a token but is split or part of a longer token."""
    cdef int64_t least = 0x7FFFFFFF, total = reach[n].tokens, place, i
    for place in range(start + 1, end):
        least = min(least, reach[place].tokens + rest[place])
    for place in range(end, min(n, start + widest) + 1):
        for i in range(begins[place + 1] - 1, begins[place] - 1, -1):
            if edges[i].start > start:
                break
            if edges[i].start < start or place > end:
                least = min(least, reach[edges[i].start].tokens + 1 + rest[place])
    return least - total


def omission_costs(
    MinGramSegmenter segmenter not None,
    const uint8_t[::1] data,
    const int64_t[::1] offsets,
    const int64_t[::1] counts,
    int64_t first,
    int64_t last,
    int64_t[::1] increases,
) -> None:
    """Segment pre-tokens, and add up the cost of omitting each token: the additional tokens of the shortest other path.

    Args:
        segmenter: Segmenter by the vocabulary.
        data: uint8 [bytes], concatenated pre-tokens.
        offsets: int64 [n + 1], start of each pre-token.
        counts: int64 [n], count of each pre-token.
        first, last: Range of pre-tokens, ``first <= i < last``.
        increases: int64 [tokens], increases in the number of tokens, weighted by ``counts`` and only for tokens of two
            bytes or more; added to.

    Raises:
        MemoryError: there is not enough working memory for the longest pre-token.
    """
    cdef vector[Arrival] reach
    cdef vector[int32_t] rest
    cdef vector[int64_t] begins
    cdef vector[Edge] edges
    cdef const TrieView* trie = &segmenter.suffixes.view
    cdef int64_t widest = trie.max_length, item, n, end, start, i
    cdef const uint8_t* text
    with nogil:
        for item in range(first, last):
            n = offsets[item + 1] - offsets[item]
            if n == 0:
                continue
            text = &data[offsets[item]]
            if <int64_t>reach.size() < n + 1:
                reach.resize(n + 1)
                rest.resize(n + 1)
                begins.resize(n + 2)
            segmenter.fill(text, n, reach.data())
            find_edges(trie, text, n, &edges, begins.data())
            for end in range(n):
                rest[end] = <int32_t>n
            rest[n] = 0
            for end in range(n, 0, -1):
                for i in range(begins[end], begins[end + 1]):
                    rest[edges[i].start] = min(rest[edges[i].start], rest[end] + 1)
            end = n
            while end > 0:
                start = end - reach[end].width
                if end - start > 1:
                    increases[reach[end].token] += counts[item] * increase_without(
                        edges.data(), begins.data(), reach.data(), rest.data(), n, start, end, widest
                    )
                end = start
