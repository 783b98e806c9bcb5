# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Segmentation by likelihood: the sequence of tokens with the greatest sum of scores (Viterbi; Kudo 2018, section 3.2).

Sums are accumulated from the left in double precision. Ties between last tokens: the longest, as in the optimised
encoders of Hugging Face and SentencePiece.

Reference: ``likelihood`` in :mod:`tokbench.reference.segmentation`.
"""

from libc.math cimport INFINITY, isfinite
from libc.stdint cimport int32_t, int64_t, uint8_t

from tokbench.kernels.matches cimport LONG, SuffixLinks, follow, forward_links
from tokbench.kernels.segmenter cimport PretokenSegmenter, Scratch, reserve
from tokbench.kernels.trie cimport Trie, TrieView, step, token_at

cdef struct Arrival:
    # Last token of the best segmentation of a prefix of a pre-token.
    double score        # sum of the scores of the segmentation
    int32_t width       # length of the last token in bytes
    int32_t token       # id of the last token


cdef void arrive(
    const TrieView* trie, const double* scores, const uint8_t* text, int64_t size, Arrival* arrivals
) noexcept nogil:
    """Find the last token of the best segmentation of each prefix of a pre-token."""
    cdef Arrival best
    cdef double score
    cdef int64_t end, start
    cdef int32_t node, token
    for end in range(1, size + 1):
        best.score = -INFINITY
        best.width = best.token = 0
        node = 0
        for start in range(end - 1, -1, -1):
            node = step(trie, node, text[start])
            if node < 0:
                break
            token = token_at(trie, node)
            if token < 0:
                continue
            score = scores[token] + arrivals[start].score
            if score >= best.score:
                best.score = score
                best.width = <int32_t>(end - start)
                best.token = token
        arrivals[end] = best


cdef void arrive_by_links(
    SuffixLinks links, const double* scores, const uint8_t* text, int64_t size, Arrival* arrivals
) noexcept nogil:
    """Do the same, from the longest to the shortest token that ends at a place, by suffix links."""
    cdef const TrieView* trie = &links.trie.view
    cdef const int32_t* suffix = &links.suffix[0]
    cdef const int32_t* last = &links.last[0]
    cdef Arrival best
    cdef double score
    cdef int64_t end
    cdef int32_t node = 0, match, width
    for end in range(1, size + 1):
        node = follow(trie, suffix, node, text[end - 1])
        best.score = -INFINITY
        best.width = best.token = 0
        match = last[node]
        while match:
            width = links.depth[match]
            score = scores[token_at(trie, match)] + arrivals[end - width].score
            if not best.width or score > best.score:
                best.score = score
                best.width = width
                best.token = token_at(trie, match)
            match = last[suffix[match]]
        arrivals[end] = best


cdef class LikelihoodSegmenter(PretokenSegmenter):
    """Segmenter that maximises the sum of the scores of the tokens.

    Args:
        suffixes: Trie of the reversed tokens (``Trie(..., backwards=True)``), including the 256 bytes.
        scores: float64 [tokens]; finite for every token of the trie.

    Raises:
        ValueError: the trie lacks a byte, or a token has no finite score.
    """

    def __init__(self, Trie suffixes not None, const double[::1] scores):
        if any(suffixes.find(bytes([value])) < 0 for value in range(256)):
            raise ValueError("the trie lacks one of the 256 bytes")
        cdef int32_t slot, token
        for slot in range(suffixes.view.slots):
            token = token_at(&suffixes.view, slot)
            if token >= 0 and (token >= scores.shape[0] or not isfinite(scores[token])):
                raise ValueError(f"token {token} has no finite score")
        self.suffixes = suffixes
        self.links = forward_links(suffixes)
        self.scores = scores

    cdef int64_t cut(self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch) except -1 nogil:
        cdef const double* scores = &self.scores[0]
        cdef Arrival* arrivals = <Arrival*>reserve(scratch, (size + 1) * sizeof(Arrival))
        cdef int64_t end, start, written = 0
        cdef int32_t swap
        arrivals[0].score = 0
        if size > LONG and self.links is not None:
            arrive_by_links(self.links, scores, text, size, arrivals)
        else:
            arrive(&self.suffixes.view, scores, text, size, arrivals)
        end = size
        while end:
            ids[written] = arrivals[end].token
            written += 1
            end -= arrivals[end].width
        for start in range(written // 2):
            swap = ids[start]
            ids[start] = ids[written - 1 - start]
            ids[written - 1 - start] = swap
        return written
