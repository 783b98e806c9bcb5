# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""PathPiece segmentation: the fewest tokens ("Tokenization Is More Than Compression", algorithm 1, appendix A).

The tokens that end at a place are found from the shortest to the longest, by walking the text leftwards through a trie
of reversed tokens. Random choices use SplitMix64 (Steele, Lea and Flood 2014). Its seed is the 64-bit FNV-1a hash of
the pre-token's bytes, mixed with the seed and, if draws depend on the place in a document, with the place.

Reference: ``longest`` in :mod:`tokbench.reference.segmentation`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from tokbench.kernels.matches cimport LONG, SuffixLinks, follow, forward_links
from tokbench.kernels.segmenter cimport PretokenSegmenter, Scratch, reserve
from tokbench.kernels.splitmix cimport advanced, hashed, mixed
from tokbench.kernels.trie cimport Trie, TrieView, step, token_at


cdef struct Arrival:
    # Chosen last token of the shortest segmentations of a prefix of a pre-token.
    int32_t tokens      # number of tokens of these segmentations
    int32_t width       # length of the last token in bytes
    int32_t token       # id of the last token


cdef struct Draws:
    bint random
    uint64_t state
    uint64_t equal      # number of equally good last tokens so far


cdef inline void meet(Arrival* best, int32_t tokens, int32_t width, int32_t token, Draws* draws) noexcept nogil:
    """Consider a last token, wider than earlier ones: use it if it gives fewer tokens, or by the rule for ties."""
    if tokens > best.tokens:
        return
    if tokens < best.tokens:
        draws.equal = 1
    elif draws.random:
        # The k-th of equally good tokens replaces the current one with probability 1 / k.
        draws.equal += 1
        draws.state = advanced(draws.state)
        if (mixed(draws.state) >> 32) * draws.equal >> 32:
            return
    best.tokens = tokens
    best.width = width
    best.token = token


cdef void arrive(
    const TrieView* trie, const uint8_t* text, int64_t size, Arrival* arrivals, Draws* draws
) noexcept nogil:
    """Choose the last token of each prefix of a pre-token."""
    cdef Arrival best
    cdef int64_t end, start
    cdef int32_t node
    for end in range(1, size + 1):
        best.tokens = 0x7FFFFFFF
        best.width = best.token = 0
        node = 0
        for start in range(end - 1, -1, -1):
            node = step(trie, node, text[start])
            if node < 0:
                break
            if token_at(trie, node) >= 0:
                meet(&best, arrivals[start].tokens + 1, <int32_t>(end - start), token_at(trie, node), draws)
        arrivals[end] = best


cdef void arrive_by_links(
    SuffixLinks links, const uint8_t* text, int64_t size, Arrival* arrivals, int32_t* matches, Draws* draws
) noexcept nogil:
    """Do the same by suffix links; ``matches`` is scratch memory for the tokens that end at a place."""
    cdef const TrieView* trie = &links.trie.view
    cdef const int32_t* suffix = &links.suffix[0]
    cdef const int32_t* last = &links.last[0]
    cdef Arrival best
    cdef int64_t end, found, i
    cdef int32_t node = 0, match, width
    for end in range(1, size + 1):
        node = follow(trie, suffix, node, text[end - 1])
        found = 0
        match = last[node]
        while match:
            matches[found] = match
            found += 1
            match = last[suffix[match]]
        best.tokens = 0x7FFFFFFF
        best.width = best.token = 0
        for i in range(found - 1, -1, -1):
            width = links.depth[matches[i]]
            meet(&best, arrivals[end - width].tokens + 1, width, token_at(trie, matches[i]), draws)
        arrivals[end] = best


cdef class ShortestPathSegmenter(PretokenSegmenter):
    """Segmenter into the fewest tokens possible.

    Args:
        suffixes: Trie of the reversed tokens (``Trie(..., backwards=True)``), including the 256 bytes.
        random: Whether ties between last tokens are broken at random, with equal probabilities to within 2^-32
            (default: False, the longest).
        seed: Seed of the random choices, 0 to 2^64 - 1 (default: 0).
        placed: Whether choices depend on the place in a document, so that equal pre-tokens may differ (default: False).

    Raises:
        ValueError: the trie lacks a byte.
    """

    def __init__(self, Trie suffixes not None, bint random=False, uint64_t seed=0, bint placed=False):
        if any(suffixes.find(bytes([value])) < 0 for value in range(256)):
            raise ValueError("the trie lacks one of the 256 bytes")
        self.suffixes = suffixes
        self.links = forward_links(suffixes)
        self.random = random
        self.seed = seed
        self.placed = random and placed

    cdef int64_t cut(self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch) except -1 nogil:
        return self.cut_at(text, size, ids, scratch, 0)

    cdef int64_t cut_at(
        self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch, uint64_t place
    ) except -1 nogil:
        cdef Arrival* arrivals = <Arrival*>reserve(scratch, (size + 1) * sizeof(Arrival) + size * sizeof(int32_t))
        cdef int64_t end, start, written
        cdef Draws draws
        draws.random = self.random
        draws.equal = 0
        draws.state = mixed(hashed(text, size) ^ place ^ mixed(advanced(self.seed))) if self.random else 0
        arrivals[0].tokens = 0
        if size > LONG and self.links is not None:
            arrive_by_links(self.links, text, size, arrivals, <int32_t*>(arrivals + size + 1), &draws)
        else:
            arrive(&self.suffixes.view, text, size, arrivals, &draws)
        written = arrivals[size].tokens
        end = size
        for start in range(written - 1, -1, -1):
            ids[start] = arrivals[end].token
            end -= arrivals[end].width
        return written
