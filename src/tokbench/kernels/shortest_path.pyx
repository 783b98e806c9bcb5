# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""PathPiece segmentation: the fewest tokens ("Tokenization Is More Than Compression", algorithm 1, appendix A).

For every end the tokens that end there are met from the narrowest to the widest, by walking the text leftwards through
a trie of tokens spelt backwards. Random choices come from SplitMix64 (Steele, Lea and Flood 2014), started at the
64-bit FNV-1a hash of the pre-token's bytes, mixed with the seed and, where choices are drawn anew for each place of a
document, with the place.

Reference: ``shortest_path`` in :mod:`tokbench.reference.segmentation`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from tokbench.kernels.segmenter cimport PretokenSegmenter, Scratch, reserve
from tokbench.kernels.splitmix cimport advanced, hashed, mixed
from tokbench.kernels.trie cimport Trie, TrieView, step, token_at


cdef struct Arrival:
    # The chosen last token of the shortest segmentations of the first bytes of a pre-token.
    int32_t tokens      # how many tokens those segmentations have
    int32_t width       # bytes of the last one
    int32_t token       # its id


cdef class ShortestPathSegmenter(PretokenSegmenter):
    """Cuts into the fewest tokens possible.

    Args:
        suffixes: the tokens spelt backwards (``Trie(..., backwards=True)``), the 256 bytes among them.
        random: of the last tokens that give equally few, take one at random, each with the same probability (to
            within 2^-32); otherwise the longest.
        seed: of the random choices, 0 to 2^64 - 1.
        placed: draw anew for every place of a document, so that equal pre-tokens may be cut differently.

    Raises:
        ValueError: the trie lacks a byte.
    """

    def __init__(self, Trie suffixes not None, bint random=False, uint64_t seed=0, bint placed=False):
        if any(suffixes.find(bytes([value])) < 0 for value in range(256)):
            raise ValueError("the trie lacks one of the 256 bytes")
        self.suffixes = suffixes
        self.random = random
        self.seed = seed
        self.placed = random and placed

    cdef int64_t cut(self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch) except -1 nogil:
        return self.cut_at(text, size, ids, scratch, 0)

    cdef int64_t cut_at(
        self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch, uint64_t place
    ) except -1 nogil:
        cdef const TrieView* trie = &self.suffixes.view
        cdef Arrival* arrivals = <Arrival*>reserve(scratch, (size + 1) * sizeof(Arrival))
        cdef Arrival best
        cdef int64_t end, start, written
        cdef int32_t node, token, tokens
        cdef uint64_t state = 0, equal
        if self.random:
            state = mixed(hashed(text, size) ^ place ^ mixed(advanced(self.seed)))
        arrivals[0].tokens = 0
        for end in range(1, size + 1):
            best.tokens = 0x7FFFFFFF
            best.width = best.token = 0
            equal = 0
            node = 0
            for start in range(end - 1, -1, -1):
                node = step(trie, node, text[start])
                if node < 0:
                    break
                token = token_at(trie, node)
                if token < 0:
                    continue
                tokens = arrivals[start].tokens + 1
                if tokens > best.tokens:
                    continue
                if tokens < best.tokens:
                    equal = 1
                elif self.random:
                    # The k-th of equals replaces the one held with probability 1 / k.
                    equal += 1
                    state = advanced(state)
                    if (mixed(state) >> 32) * equal >> 32:
                        continue
                best.tokens = tokens
                best.width = <int32_t>(end - start)
                best.token = token
            arrivals[end] = best
        written = arrivals[size].tokens
        end = size
        for start in range(written - 1, -1, -1):
            ids[start] = arrivals[end].token
            end -= arrivals[end].width
        return written
