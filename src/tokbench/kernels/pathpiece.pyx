# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""PathPiece vocabulary construction: the cost of omitting each token, and the choice of tokens to remove.

"Tokenization Is More Than Compression", section 3.2 and appendix A.2. Places are between bytes, 0 to n. ``reach[i]`` is
the least number of tokens for the first i bytes, ``rest[i]`` for the others. The widths of the tokens that start at a
place are the bits of a word, so the lattice of a pre-token needs four bytes per place.

Reference: :mod:`tokbench.reference.pathpiece`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

import numpy as np

from tokbench.kernels.splitmix cimport advanced, hashed, mixed
from tokbench.kernels.trie cimport Trie, TrieView, step, token_at

MAX_WIDTH = 32
MAX_BYTES = 2 ** 30 - 1
"""Longest pre-token in bytes, so that the token counts of two paths fit into 32 bits."""


cdef extern from *:
    """
    static inline int lowest_bit(uint32_t bits) { return __builtin_ctz(bits); }
    """
    int lowest_bit(uint32_t bits) noexcept nogil


cdef inline uint64_t draw(uint64_t* state) noexcept nogil:
    """Advance the state and return the next number."""
    state[0] = advanced(state[0])
    return mixed(state[0])


cdef void find_paths(
    const TrieView* trie, const uint8_t* text, int64_t n, uint32_t* widths, int32_t* reach, int32_t* rest
) noexcept nogil:
    """Fill ``widths`` [n], ``reach`` [n + 1] and ``rest`` [n + 1]."""
    cdef int64_t start, place
    cdef int32_t node, least
    cdef uint32_t bits
    reach[0] = 0
    for place in range(1, n + 1):
        reach[place] = <int32_t>n
    for start in range(n):
        bits = 0
        node = 0
        for place in range(start, n):
            node = step(trie, node, text[place])
            if node < 0:
                break
            if token_at(trie, node) >= 0:
                bits |= <uint32_t>1 << (place - start)
                reach[place + 1] = min(reach[place + 1], reach[start] + 1)
        widths[start] = bits
    rest[n] = 0
    for start in range(n - 1, -1, -1):
        bits = widths[start]
        least = <int32_t>n
        while bits:
            least = min(least, rest[start + lowest_bit(bits) + 1])
            bits &= bits - 1
        rest[start] = least + 1


cdef inline int64_t last_width(
    const uint32_t* widths, const int32_t* reach, int64_t end, int64_t widest, uint64_t* stream
) noexcept nogil:
    """Return the width of the last token of a shortest path to ``end``: the widest, or a random one with ``stream``."""
    cdef int64_t width
    cdef int64_t choices[32]      # MAX_WIDTH
    cdef uint64_t found = 0
    for width in range(min(end, widest), 0, -1):
        if (widths[end - width] >> (width - 1)) & 1 and reach[end - width] + 1 == reach[end]:
            if stream == NULL:
                return width
            choices[found] = width
            found += 1
    return choices[0] if found == 1 else choices[draw(stream) % found]


cdef inline int64_t increase_without(
    const uint32_t* widths, const int32_t* reach, const int32_t* rest, int64_t start, int64_t end, int64_t widest,
    int32_t total,
) noexcept nogil:
    """Return the additional tokens if [start, end) is not a token but is split or part of a longer token."""
    cdef int32_t least = 0x7FFFFFFF
    cdef int64_t place
    cdef uint32_t bits
    for place in range(start + 1, end):
        least = min(least, reach[place] + rest[place])
    if least == total:
        return 0
    for place in range(max(<int64_t>0, end - widest), start + 1):
        bits = widths[place] >> (end - place - 1)
        if place == start:
            bits &= ~<uint32_t>1
        while bits:
            least = min(least, reach[place] + 1 + rest[end + lowest_bit(bits)])
            bits &= bits - 1
    return least - total


def omission_costs(
    Trie trie not None,
    const uint8_t[::1] data,
    const int64_t[::1] offsets,
    const int64_t[::1] counts,
    int64_t first,
    int64_t last,
    int64_t[::1] increases,
    int64_t[::1] occurrences,
    key: int | None = None,
) -> int:
    """Segment pre-tokens by shortest paths, and add up the cost of omitting each token.

    Args:
        trie: Trie of the vocabulary; every single byte, and no token longer than 32 bytes.
        data: uint8 [bytes], concatenated pre-tokens.
        offsets: int64 [n + 1], start of each pre-token.
        counts: int64 [n], count of each pre-token.
        first, last: Range of pre-tokens, ``first <= i < last``.
        increases: int64 [tokens], increases in the number of tokens; added to.
        occurrences: int64 [tokens], occurrences; added to. Both are weighted by ``counts`` and only for tokens of two
            bytes or more.
        key: None for ties in favour of the wider token (default). Otherwise an integer below 2^64: a tie is drawn
            uniformly among the widths that end a shortest path there. The draws depend on the key and the pre-token's
            bytes.

    Returns:
        The number of tokens of the segmentation, including single bytes, weighted by ``counts``.

    Raises:
        ValueError: a token is longer than 32 bytes, or a pre-token is longer than :data:`MAX_BYTES`.
    """
    if trie.view.max_length > MAX_WIDTH:
        raise ValueError(f"a token of {trie.view.max_length} bytes is longer than {MAX_WIDTH}")
    cdef vector[uint32_t] widths
    cdef vector[int32_t] reach
    cdef vector[int32_t] rest
    cdef const TrieView* view = &trie.view
    cdef int64_t widest = view.max_length, longest = MAX_BYTES, item, n, start, end, place, total = 0
    cdef int32_t node, token
    cdef const uint8_t* text
    cdef bint random = key is not None
    cdef uint64_t salt = key if random else 0
    cdef uint64_t stream = 0
    with nogil:
        for item in range(first, last):
            n = offsets[item + 1] - offsets[item]
            if n == 0:
                continue
            if n > longest:
                with gil:
                    raise ValueError(f"a pre-token of {n} bytes is longer than {MAX_BYTES}")
            text = &data[offsets[item]]
            if <int64_t>widths.size() < n:
                widths.resize(n)
                reach.resize(n + 1)
                rest.resize(n + 1)
            find_paths(view, text, n, widths.data(), reach.data(), rest.data())
            total += reach[n] * counts[item]
            if random:
                stream = hashed(text, n) ^ salt
            end = n
            while end > 0:
                start = end - last_width(widths.data(), reach.data(), end, widest, &stream if random else NULL)
                if end - start > 1:
                    node = 0
                    for place in range(start, end):
                        node = step(view, node, text[place])
                    token = token_at(view, node)
                    occurrences[token] += counts[item]
                    increases[token] += counts[item] * increase_without(
                        widths.data(), reach.data(), rest.data(), start, end, widest, reach[n]
                    )
                end = start
    return total


def inner_tokens(
    Trie trie not None,
    const uint8_t[::1] data,
    const int64_t[::1] offsets,
    const uint8_t[::1] held,
    const int64_t[::1] order,
    int64_t first,
    int64_t last,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the tokens that are proper substrings of the tokens in a range of an order, except those already held
    back.

    Args:
        trie: Trie of the vocabulary.
        data: uint8 [bytes], concatenated tokens.
        offsets: int64 [tokens + 1], start of each token.
        held: uint8 [tokens], not 0 for tokens held back; their substrings are not searched either.
        order: int64 [m], ids.
        first, last: Range in the order, ``first <= i < last``.

    Returns:
        int32 [n], ids; int64 [last - first + 1], start of those of each token.
    """
    cdef vector[int32_t] found
    cdef const TrieView* view = &trie.view
    cdef int64_t rank, token, start, place
    cdef int32_t node, inside
    bounds = np.zeros(last - first + 1, np.int64)
    cdef int64_t[::1] bounds_view = bounds
    with nogil:
        for rank in range(first, last):
            token = order[rank]
            if not held[token]:
                for start in range(offsets[token], offsets[token + 1]):
                    node = 0
                    for place in range(start, offsets[token + 1]):
                        node = step(view, node, data[place])
                        if node < 0:
                            break
                        inside = token_at(view, node)
                        if inside >= 0 and inside != token and not held[inside]:
                            found.push_back(inside)
            bounds_view[rank - first + 1] = found.size()
    inner = np.empty(found.size(), np.int32)
    cdef int32_t[::1] inner_view = inner
    if found.size() > 0:
        memcpy(&inner_view[0], found.data(), found.size() * sizeof(int32_t))
    return inner, bounds


def choose_drops(
    const int64_t[::1] order,
    int64_t first,
    const int32_t[::1] inner,
    const int64_t[::1] bounds,
    uint8_t[::1] held,
    int64_t limit,
) -> NDArray[np.int64]:
    """Choose tokens in order. Each chosen token holds back its substrings.

    Args:
        order: int64 [m], ids, the first to be removed first.
        first: Index in the order at which to begin.
        inner: int32 [n], substrings of the tokens, from :func:`inner_tokens`.
        bounds: int64 [places + 1], start of those of each token.
        held: uint8 [tokens], not 0 for tokens to skip; updated.
        limit: Maximum number of tokens to choose.

    Returns:
        int64 [at most limit], ids of the chosen tokens, in order.
    """
    chosen = np.empty(max(min(limit, bounds.shape[0] - 1), 0), np.int64)
    cdef int64_t[::1] chosen_view = chosen
    cdef int64_t found = 0, rank, token, i
    with nogil:
        for rank in range(bounds.shape[0] - 1):
            if found >= limit:
                break
            token = order[first + rank]
            if held[token]:
                continue
            chosen_view[found] = token
            found += 1
            for i in range(bounds[rank], bounds[rank + 1]):
                held[inner[i]] = 1
    return chosen[:found]
